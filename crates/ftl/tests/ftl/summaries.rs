//! Summaries tell what the tags tell, wherever the power is cut, and what they save is what was
//! promised.

use std::collections::BTreeMap;

use flash::{Chip, Fault, FaultPlan, Faulty, Flash, Lpn, Pbn, Ppn, Role, Scan, Tag, Tear};
use ftl::engines::demand::machine::DemandPaged;
use ftl::engines::page_map::machine::PageMap;
use ftl::recovery::scan::DeviceScan;
use ftl::recovery::summary::{PARAMETER, Summaries};
use ftl::schemes::{dftl::Dftl, page::Page};
use ftl::{Drive, FlashOp, FlashPort, FtlError, Layout, Mapping, Request, Scheme, Timed, Untimed, Values};
use testkit::{TestFlash, drive_of, values_of};

type Device = Timed<Faulty<u64>, Untimed>;
type PageScheme = PageMap<Page>;

const SETTINGS: [(&str, &str); 1] = [("checkpoint", "summaries")];

/// Two dies; blocks of 4 pages end with one page of summary, those of 30 with two, as 512 bytes
/// hold 24 tags.
fn chip(blocks_per_die: u32, pages_per_block: u32) -> Chip<flash::Full<u64>> {
    TestFlash::new(blocks_per_die, pages_per_block).channels(2).chip()
}

fn port(flash: Faulty<u64>) -> FlashPort<Device> {
    FlashPort::new(Timed { chip: flash, timing: Untimed })
}

fn summaries(layout: &Layout) -> Summaries {
    let settings = SETTINGS.map(|(key, value)| (key.to_owned(), value.to_owned())).into();
    let values = Values::check("page", &[PARAMETER], &settings).expect("a valid setting");
    Summaries::from_values(&values, layout, "page").expect("blocks of more than a page")
}

fn drive<S: Scheme + Mapping<Device> + 'static>(layout: &Layout) -> Drive<Device> {
    drive_of::<S, _>(&SETTINGS, layout).expect("the scheme takes the device")
}

/// [`used`] of a scheme.
type Used = fn(&Layout, Faulty<u64>, u32) -> Faulty<u64>;

/// Writes, trims and flushes until it is done or the power is cut; the device with the power on
/// again.
fn used<S: Scheme + Mapping<Device> + 'static>(layout: &Layout, flash: Faulty<u64>, requests: u32) -> Faulty<u64> {
    let mut flash = port(flash);
    let mut ftl = drive::<S>(layout);
    let pages = layout.logical_pages;
    let result = (0..requests).try_for_each(|i| {
        let request = Request::new(Lpn::new(i.wrapping_mul(2_654_435_761) % pages), 1);
        ftl.write(&mut flash, &request, &[u64::from(i) + 1])?;
        match i % 9 {
            4 => ftl.trim(&mut flash, &Request::new(Lpn::new(i % pages), 1)),
            8 => ftl.flush(&mut flash),
            _ => Ok(()),
        }
    });
    assert!(result.is_ok() || result.as_ref().is_err_and(FtlError::is_power_cut), "{result:?}");
    let mut flash = flash.into_device().chip;
    flash.restore_power(FaultPlan::default());
    flash
}

/// What a scan of a device finds, with the number that programs go on behind and the reads that it
/// took.
fn scan(
    flash: &Faulty<u64>,
    with: impl Fn(&mut FlashPort<Device>) -> Result<DeviceScan, FtlError>,
) -> (Vec<(u32, Tag)>, u64, u64) {
    let mut flash = port(flash.clone());
    let scanned = with(&mut flash).expect("the power is on");
    let pages = scanned.pages.iter().map(|(ppn, tag)| (ppn.get(), *tag)).collect();
    (pages, flash.last_version(), flash.tally().total(FlashOp::Read))
}

/// The formula of `docs/correctness.md`: the summary of a filled block; else a look for one, and
/// the pages up to the first erased one.
fn promised_reads(flash: &Faulty<u64>, summary_pages: u64) -> u64 {
    let (geometry, mut flash) = (*flash.geometry(), flash.clone());
    let mut reads = 0;
    for pbn in (0..geometry.blocks()).map(Pbn::new) {
        let size = geometry.pages_per_block();
        let mut at = |offset| flash.scan(geometry.page(pbn, offset)).expect("the power is on");
        let is_filled = matches!(at(size - 1), Scan::Programmed(tag) if tag.role == Role::Summary);
        let begun = (0..size).position(|offset| at(offset) == Scan::Erased);
        reads += if is_filled { summary_pages } else { 1 + begun.map_or(u64::from(size), |first| first as u64 + 1) };
    }
    reads
}

/// Pages whose newest content lies in several places: each is read whole.
fn copies(tags: &[(u32, Tag)], logical_pages: u32) -> u64 {
    let pages = tags.iter().map(|&(page, tag)| (Ppn::new(page), tag)).collect();
    let scanned = DeviceScan { pages, left_out: Vec::new() };
    let newest = scanned.newest(logical_pages);
    let mut places: BTreeMap<u64, u64> = BTreeMap::new();
    for (_, tag) in scanned.pages.iter().filter(|(_, tag)| DeviceScan::holds_newest(tag, &newest)) {
        if tag.role != Role::Trimmed && !tag.role.is_translation() {
            *places.entry(tag.version).or_default() += 1;
        }
    }
    places.into_values().filter(|&count| count > 1).sum()
}

#[test]
fn summaries_tell_what_the_tags_tell_after_any_cut() {
    let (page, dftl): (Used, Used) = (used::<PageScheme>, used::<DemandPaged<Dftl>>);
    for (scheme, used, blocks_per_die, pages_per_block, logical_pages, summary_pages, requests) in
        [("page", page, 7, 4, 14, 1, 60), ("dftl", dftl, 9, 4, 12, 1, 50), ("page", page, 5, 30, 70, 2, 160)]
    {
        let fresh = chip(blocks_per_die, pages_per_block);
        let layout = Layout::of(&fresh, logical_pages, 1);
        let summaries = summaries(&layout);
        assert_eq!(u64::from(summaries.pages()), summary_pages);
        let mut cut = 0;
        loop {
            let mut ended = false;
            for tear in [Tear::Before, Tear::Unseen, Tear::Torn, Tear::After] {
                let plan = FaultPlan::cut(cut, tear);
                let flash = used(&layout, Faulty::new(fresh.clone(), plan), requests);
                let (tags, next, reads) = scan(&flash, |flash| DeviceScan::with(flash, &layout, &summaries));
                let (all_tags, all_next, _) = scan(&flash, |flash| DeviceScan::of(flash, &layout));
                assert_eq!(tags, all_tags, "{scheme}, cut at {cut}, {tear:?}");
                assert_eq!(next, all_next, "{scheme}, cut at {cut}, {tear:?}");
                let promised = promised_reads(&flash, summary_pages) + copies(&tags, logical_pages);
                assert_eq!(reads, promised, "{scheme}, cut at {cut}, {tear:?}");
                let operations = flash.chip().operations();
                ended = operations.reads + operations.programs + operations.erases < cut;
            }
            if ended {
                break;
            }
            cut += 1;
        }
        assert!(cut > u64::from(requests), "{scheme}: {cut} operations were cut");
    }
}

/// A page that has decayed since is known to its block's summary, so that what it replaced does not
/// come back.
#[test]
fn a_decayed_page_stays_an_error_after_a_power_cut() {
    let fresh = chip(7, 4);
    let layout = Layout::of(&fresh, 14, 1);
    let mut flash = port(Faulty::new(fresh, FaultPlan::default()));
    let mut page = drive::<PageScheme>(&layout);
    for (i, lpn) in [0, 1, 2, 3, 4, 5, 0, 6, 7, 8, 9, 10].into_iter().enumerate() {
        page.write(&mut flash, &Request::new(Lpn::new(lpn), 1), &[i as u64 + 100]).expect("room");
    }
    let lpn_0 = Request::new(Lpn::new(0), 1);
    let mut flash = flash.into_device().chip;
    flash.restore_power(FaultPlan { at: BTreeMap::from([(0, Fault::ReadFails)]) });
    let mut flash = port(flash);
    let lost = page.read(&mut flash, &lpn_0, &mut [0]).expect_err("it decays");
    assert!(lost.is_uncorrectable());
    let mut flash = port(flash.into_device().chip);
    let values = values_of::<PageScheme>(&SETTINGS).expect("a valid setting");
    let recovered = PageScheme::recover(&layout, &values, &mut flash).expect("the power is on");
    let mut page = Drive::new(Box::new(recovered), &layout);
    let lost = page.read(&mut flash, &lpn_0, &mut [0]).map(|()| "an older version");
    assert!(lost.as_ref().is_err_and(FtlError::is_uncorrectable), "{lost:?}");
    page.write(&mut flash, &lpn_0, &[7]).expect("room");
    let mut out = [0];
    page.read(&mut flash, &lpn_0, &mut out).expect("written again");
    assert_eq!(out, [7]);
}

#[test]
fn a_block_of_one_page_has_no_room_for_a_summary() {
    let layout = Layout::of(&chip(7, 1), 3, 1);
    let error = drive_of::<PageScheme, Device>(&SETTINGS, &layout).err().expect("refused").to_string();
    assert!(error.contains("page.checkpoint") && error.contains("at least 2 pages"), "{error}");
}

/// Filled blocks hold a page less, and each costs a program more; nothing else changes.
#[test]
fn a_summary_costs_a_page_of_each_block() {
    let fresh = chip(9, 4);
    let layout = Layout::of(&fresh, 24, 1);
    let mut flash = port(Faulty::new(fresh, FaultPlan::default()));
    let mut page = drive::<PageScheme>(&layout);
    page.write(&mut flash, &Request::new(Lpn::new(0), 24), &[1; 24]).expect("room");
    assert_eq!(
        (flash.tally().count(ftl::Cause::Host, FlashOp::Program), flash.tally().total(FlashOp::Program)),
        (24, 24 + 8)
    );
    assert_eq!(flash.tally().count(ftl::Cause::Checkpoint, FlashOp::Program), 8);
    let structures = page.footprint().structures;
    let summary = structures.iter().find(|structure| structure.name == "block summaries").expect("it is listed");
    assert_eq!((summary.ram_bytes, summary.flash_bytes), (2 * 2 * 3 * 21, 18 * 512));
    page.check(&flash).expect("invariants");
}
