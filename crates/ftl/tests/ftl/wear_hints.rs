//! What a wear policy hears of the data that it places: the host's hint, over mappings of every
//! kind.

use crate::kit::{NumberChip, page, untimed};
use flash::{Lpn, Ppn, Role, Tag};
use ftl::api::layout::WearScheme;
use ftl::api::wear::{AllocRequest, Purpose, WearPolicy};
use ftl::{
    AnyDevice, Capabilities, Cause, Device, Drive, Entry, FlashOp, FlashPort, Hint, Layout, Memory, Request, Stack,
    Values, Wear, registry,
};
use random::SeededRng;
use testkit::TestFlash;

/// Logical pages; what is hinted at follows from a page's number.
const PAGES: u32 = 96;

/// Writes down what it is asked, and has no wish. It tells by the only list that a policy gives
/// away.
#[derive(Debug, Default)]
struct Listener<const KEEPS: bool> {
    heard: Vec<(&'static str, u64)>,
}

impl<const KEEPS: bool> WearPolicy for Listener<KEEPS> {
    fn uses_hints(&self) -> bool {
        true
    }

    fn keeps_file_types(&self) -> bool {
        KEEPS
    }

    fn place(&mut self, alloc: AllocRequest, _free: usize) -> usize {
        let name = match alloc.purpose {
            Purpose::Data => "data",
            Purpose::Collected => "collected",
            Purpose::Log => "log",
            Purpose::Merge => "merge",
            _ => "other",
        };
        let hint = [alloc.hint.stream(), alloc.hint.temperature(), alloc.hint.file_type()];
        self.heard.push((name, u64::from_be_bytes([0, 0, 0, 0, 0, hint[0], hint[1], hint[2]])));
        0
    }

    fn tables(&self) -> Vec<(&'static str, u64)> {
        self.heard.clone()
    }
}

impl<const KEEPS: bool> WearScheme for Listener<KEEPS> {
    const ENTRY: Entry = Entry {
        name: "listener",
        family: "wear",
        source: "ftlkit",
        capabilities: Capabilities::NONE,
        memory: Memory::NONE,
        parameters: &[],
        header: "",
    };

    fn new(_layout: &Layout, _values: &Values) -> Self {
        Self::default()
    }
}

fn hint_of(lpn: u32) -> Hint {
    Hint::new((lpn % 3) as u8, (lpn % 3) as u8 * 2, 100 + (lpn % 3) as u8)
}

/// Overwrites single pages at random, each with its hint, and returns what was asked of the policy,
/// in order.
fn asked<const KEEPS: bool>(stack: &str) -> (Vec<(&'static str, Hint)>, FlashPort<AnyDevice>) {
    let chip = TestFlash::new(40, 4).chip();
    let layout = Layout { wear: Some(Wear::of::<Listener<KEEPS>>(Values::none())), ..Layout::of(&chip, PAGES, 1) };
    let mut flash = FlashPort::new(untimed(chip));
    let stack: Stack = stack.parse().expect("a spelling");
    let mut ftl = registry::create(&stack, &layout).expect("fits");
    let mut next = 7_u64;
    for stamp in 0..2_000 {
        next = next * 48_271 % 2_147_483_647;
        let lpn = (next % u64::from(PAGES)) as u32;
        let request = Request { hint: hint_of(lpn), ..Request::new(Lpn::new(lpn), 1) };
        ftl.write(&mut flash, &request, &[page(stamp)]).expect("written");
    }
    let heard = heard(&mut ftl);
    (heard, flash)
}

fn heard<D: Device>(ftl: &mut Drive<D>) -> Vec<(&'static str, Hint)> {
    let mut tables = Vec::new();
    ftl.with_wear_policy(&mut |policy, _| tables = policy.tables());
    let told = |(name, bits): (&'static str, u64)| {
        let [.., stream, temperature, file_type] = bits.to_be_bytes();
        (name, Hint::new(stream, temperature, file_type))
    };
    tables.into_iter().map(told).collect()
}

/// The different hints that were heard for a purpose.
fn hints(heard: &[(&'static str, Hint)], name: &str) -> Vec<Hint> {
    let mut hints: Vec<_> = heard.iter().filter(|(purpose, _)| *purpose == name).map(|&(_, hint)| hint).collect();
    hints.sort_by_key(|hint| (hint.stream(), hint.file_type()));
    hints.dedup();
    hints
}

fn all() -> Vec<Hint> {
    (0..3).map(hint_of).collect()
}

#[test]
fn the_host_s_hint_is_heard_for_blocks_of_its_pages() {
    for stack in ["page", "dftl", "cdftl", "superblock", "block"] {
        let (heard, _) = asked::<false>(stack);
        assert_eq!(hints(&heard, "data"), all(), "{stack}");
    }
    for stack in ["fast", "bast", "a-sast"] {
        let (heard, _) = asked::<false>(stack);
        assert_eq!((hints(&heard, "data"), hints(&heard, "log")), (all(), all()), "{stack}");
    }
}

#[test]
fn what_is_collected_says_as_much_as_its_tags_keep() {
    let (heard, flash) = asked::<false>("page");
    assert!(flash.tally().count(Cause::Collection, FlashOp::Program) > 200, "hardly anything was collected");
    assert_eq!(hints(&heard, "collected"), [Hint::NONE]);
    // A block that a collection opens is known by what its first page lacks, in blocks of its own
    // or in those of its stream.
    for (stack, purpose) in [("", "collected"), (":hint_collection=apart", "data")] {
        let (heard, flash) = asked::<false>(&format!("page:streams=hints:hint_streams=3{stack}"));
        assert!(flash.tally().count(Cause::Collection, FlashOp::Program) > 200, "hardly anything was collected");
        for moved in (1..3).map(Hint::of_stream) {
            assert!(hints(&heard, purpose).contains(&moved), "{moved:?} among {heard:?}");
        }
    }
}

/// Under a policy that wants file types kept, whatever moves a page knows its type again.
#[test]
fn what_is_moved_says_its_file_type_if_the_policy_wants_that_kept() {
    let types: Vec<_> = (0..3).map(|lpn| Hint::new(0, 0, hint_of(lpn).file_type())).collect();
    for (stack, purpose, cause) in [
        ("page", "collected", Cause::Collection),
        ("page:streams=shared", "data", Cause::Collection),
        ("dftl", "collected", Cause::Collection),
        ("cdftl", "collected", Cause::Collection),
        ("superblock", "collected", Cause::Collection),
        ("block", "merge", Cause::Merge),
        ("fast", "merge", Cause::Merge),
        ("faster", "merge", Cause::Merge),
        ("bast", "merge", Cause::Merge),
    ] {
        let (heard, flash) = asked::<true>(stack);
        assert!(flash.tally().count(cause, FlashOp::Program) > 200, "{stack}: hardly anything was moved");
        let said = hints(&heard, purpose);
        assert!(types.iter().all(|of| said.contains(of)), "{stack}: {types:?} among {said:?}");
    }
    let (heard, _) = asked::<true>("page:streams=hints:hint_streams=3");
    let kept = (1..3).map(Hint::of_stream);
    assert!(
        kept.clone().all(|moved| hints(&heard, "collected").contains(&moved)),
        "what the mapping keeps goes before"
    );
}

/// The data of a logical block are of the type that its pages say, through power cuts as well.
#[test]
fn tags_keep_file_types_under_saw_and_nothing_under_policies_that_do_not_ask() {
    for (stack, keeps) in [("page+saw", true), ("fast+saw", true), ("waftl+saw", true), ("page+dynamic", false)] {
        let chip: NumberChip = TestFlash::new(64, 4).chip();
        let layout = Layout::of(&chip, PAGES, 1);
        let stack: Stack = stack.parse().expect("a spelling");
        let mut flash: FlashPort<AnyDevice> = FlashPort::new(untimed(chip));
        let mut ftl = registry::create(&stack, &layout).expect("fits");
        for cut in 0..3 {
            let mut next = 7 + cut;
            for stamp in 0..1_000 {
                next = next * 48_271 % 2_147_483_647;
                let lpn = (next % u64::from(PAGES)) as u32;
                let request = Request { hint: hint_of(lpn), ..Request::new(Lpn::new(lpn), 1) };
                ftl.write(&mut flash, &request, &[page(stamp)]).expect("written");
            }
            let chip = flash.chip();
            let tags: Vec<_> =
                (0..chip.geometry().pages() as usize).filter_map(|page| chip.tag(Ppn::at(page))).collect();
            let data = tags.iter().filter(|tag| !matches!(tag.role, Role::Translation | Role::Trimmed));
            for tag in data {
                let expected = if keeps { hint_of(tag.logical).file_type() } else { 0 };
                assert_eq!(tag.hint, expected, "{stack}: {tag:?}");
            }
            flash = FlashPort::new(flash.into_device());
            ftl = registry::recover(&stack, &layout.in_use(), &mut flash).expect("recovered");
        }
    }
}

#[test]
fn pages_of_a_renamed_file_are_moved_as_what_it_is_now() {
    for stack in ["page", "dftl:cmt=4KiB"] {
        let chip = TestFlash::new(40, 4).chip();
        let layout = Layout { wear: Some(Wear::of::<Listener<true>>(Values::none())), ..Layout::of(&chip, PAGES, 1) };
        let mut flash = FlashPort::new(untimed(chip));
        let mut ftl = registry::create(&stack.parse().expect("a spelling"), &layout).expect("fits");
        let write = |flash: &mut FlashPort<AnyDevice>, ftl: &mut Drive<AnyDevice>, lpn, hint| {
            let request = Request { hint, ..Request::new(Lpn::new(lpn), 1) };
            ftl.write(flash, &request, &[page(lpn)]).expect("written");
        };
        // Pages of the file lie among others, which are written again: collections move them.
        (0..PAGES).for_each(|i| write(&mut flash, &mut ftl, i * 13 % PAGES, Hint::new(0, 2, 3)));
        ftl.on_renamed(&mut flash, &Request { hint: Hint::new(0, 5, 4), ..Request::new(Lpn::new(0), 8) });
        let mut rng = SeededRng::new(1);
        (0..2000).for_each(|_| write(&mut flash, &mut ftl, 8 + rng.below_u32(PAGES - 8), Hint::new(0, 2, 3)));
        let tags = (0..flash.geometry().pages()).filter_map(|ppn| flash.chip().tag(Ppn::new(ppn)));
        let moved: Vec<_> = tags.filter(|tag| tag.role == Role::Collected).collect();
        let (of_file, others): (Vec<&Tag>, Vec<&Tag>) = moved.iter().partition(|tag| tag.logical < 8);
        assert!(of_file.len() >= 8 && of_file.iter().all(|tag| tag.hint == 4), "{stack}: {of_file:?}");
        assert!(others.iter().all(|tag| tag.hint == 3), "{stack}: {others:?}");
    }
}
