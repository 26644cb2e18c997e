//! Where a power cut leaves a page's content in two places, one of them may be unreadable although
//! its tag is not. No scheme may give the other one up.

use std::collections::BTreeMap;

use check::canary;
use flash::{Cell, Chip, Fault, FaultPlan, Faulty, Flash, Full, Lpn, PageData, Role, Tear};
use ftl::{AnyDevice, Drive, FlashPort, FtlError, Layout, Request, Stack, Untimed, registry};
use testkit::TestFlash;

const PAGES: u32 = 40;
const REQUESTS: u64 = 150;

/// Channels, and blocks of each.
type Size = (u32, u32);

fn device((channels, blocks): Size, plan: FaultPlan) -> AnyDevice {
    let chip = TestFlash::new(blocks, 4).channels(channels).chip();
    AnyDevice::new(Faulty::<PageData>::new(chip, plan), Untimed)
}

/// Writes, a flush after each, until the power is cut; what pages hold then for sure, and which one
/// is in doubt.
fn run(
    ftl: &mut Drive<AnyDevice>,
    flash: &mut FlashPort<AnyDevice>,
) -> Result<(BTreeMap<u32, u64>, Option<u32>), FtlError> {
    let (mut held, mut next) = (BTreeMap::new(), 7_u64);
    for stamp in 1..=REQUESTS {
        next = next * 48_271 % 2_147_483_647;
        let lpn = if stamp % 3 == 0 { next % 6 } else { next % u64::from(PAGES) } as u32;
        let done = ftl.write(flash, &Request::new(Lpn::new(lpn), 1), &[stamp.into()]).and_then(|()| ftl.flush(flash));
        match done {
            Ok(()) => held.insert(lpn, stamp),
            Err(error) if error.is_power_cut() => return Ok((held, Some(lpn))),
            Err(error) => return Err(error),
        };
    }
    Ok((held, None))
}

/// How many pages hold the newest content of a logical page that lies in more than one place.
fn twins(chip: &Chip<Full<PageData>>) -> u64 {
    let mut places: BTreeMap<u32, Vec<u64>> = BTreeMap::new();
    for page in 0..chip.geometry().pages() as usize {
        if let Cell::Programmed(tag, _) = chip.store().cell(page)
            && !matches!(tag.role, Role::Translation | Role::Summary)
        {
            places.entry(tag.logical).or_default().push(tag.version);
        }
    }
    let newest = places.values().map(|versions| {
        let newest = versions.iter().max();
        versions.iter().filter(|version| Some(*version) == newest).count() as u64
    });
    newest.filter(|&count| count > 1).sum()
}

/// Recovers from a cut, with one of the reads failing that come after the scan; whether it was of a
/// twin, and what was lost.
fn recover(stack: &Stack, size: Size, cut: u64, read: u64) -> Option<(bool, Vec<u32>)> {
    let mut flash = FlashPort::new(device(size, FaultPlan::cut(cut, Tear::Before)));
    let layout = Layout::of(flash.chip(), PAGES, 1);
    let mut ftl = check::create(stack, &layout).expect("fits");
    let (held, in_doubt) = run(&mut ftl, &mut flash).expect("no other error");
    in_doubt?;
    let mut device = flash.into_device();
    // All tags are scanned; then twins are read, and nothing else before them.
    let flash = device.chip.as_chip_mut::<Faulty<PageData>>();
    let is_twin = read < twins(flash.chip());
    let fails = u64::from(flash.geometry().pages()) + read;
    flash.restore_power(FaultPlan { at: BTreeMap::from([(fails, Fault::ReadFails)]) });
    let mut flash = FlashPort::new(device);
    let mut ftl = check::recover(stack, &layout.in_use(), &mut flash).expect("recovered");
    let mut lost = Vec::new();
    for (&lpn, &stamp) in held.iter().filter(|(lpn, _)| Some(**lpn) != in_doubt) {
        let mut out = [PageData::default()];
        let read = ftl.read(&mut flash, &Request::new(Lpn::new(lpn), 1), &mut out);
        if read.is_err() || out[0] != PageData::Number(stamp) {
            lost.push(lpn);
        }
    }
    ftl.check(&flash).expect("invariants");
    Some((is_twin, lost))
}

/// The smallest device that a scheme takes, so that it collects and merges all the time. Some want
/// several channels.
fn size_for(stack: &Stack) -> Size {
    let fits = |size: &Size| {
        let layout = Layout::of(&*device(*size, FaultPlan::default()).chip, PAGES, 1);
        check::create(stack, &layout).is_ok()
    };
    let sizes =
        [1, 2, 4].into_iter().flat_map(|channels| (PAGES / 4 / channels..40).map(move |blocks| (channels, blocks)));
    sizes.into_iter().find(fits).unwrap_or_else(|| panic!("{stack} fits no device of the test"))
}

/// What unreadable twins come to: how many were tried, and what was lost, in words.
fn unreadable_twins(stack: &Stack) -> (u64, Vec<String>) {
    let (mut tried, mut wrong, size) = (0, Vec::new(), size_for(stack));
    for cut in (40..).step_by(7).take(60) {
        for read in 0..12 {
            // What is read after the twins may well be the only copy.
            let Some((true, lost)) = recover(stack, size, cut, read) else { break };
            tried += 1;
            if !lost.is_empty() {
                wrong.push(format!("{stack}: cut at {cut}, read {read} fails: lost {lost:?}"));
            }
        }
    }
    println!("{stack}, {size:?} channels and blocks: {tried} unreadable twins, {} cost something", wrong.len());
    assert!(tried > 0, "{stack}: nothing was tried");
    (tried, wrong)
}

#[test]
fn a_copy_that_cannot_be_read_does_not_cost_its_twin() {
    let registered = registry::mappings().into_iter().map(|entry| Stack::of(entry.name));
    for stack in registered.chain([Stack::of(canary::NAME)]) {
        let (_, wrong) = unreadable_twins(&stack);
        assert!(wrong.is_empty(), "{wrong:#?}");
    }
}

#[test]
fn a_recovery_that_does_not_read_twins_is_caught() {
    let (tried, wrong) = unreadable_twins(&Stack::with(canary::NAME, [("bug", "unread-twin")]));
    assert!(!wrong.is_empty(), "{tried} twins were given up unread, and nobody noticed");
}
