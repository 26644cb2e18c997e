//! Evenness, held to bounds: 10 % of the data is rewritten for ever and 90 % never, so the answer
//! is known. Without levelling wear parts further and further; a leveller that moves what rests
//! keeps it together.

use crate::kit::untimed;
use flash::{Lpn, PageData, Pbn, Ppn};
use ftl::{AnyDevice, Cause, Drive, FlashOp, FlashPort, Hint, Layout, Note, Request};
use random::SeededRng;
use testkit::TestFlash;

const BLOCKS: u32 = 64;
const PAGES_PER_BLOCK: u32 = 8;

/// A device whose first tenth is rewritten at random, page by page, the rest of which was written
/// once.
struct HotCold {
    flash: FlashPort<AnyDevice>,
    ftl: Drive<AnyDevice>,
    hot: u32,
    dies: u32,
    rng: SeededRng,
}

impl HotCold {
    fn new(stack: &str, dies: u32) -> Self {
        Self::filled(stack, dies, 50, 10)
    }

    /// Of this many blocks' worth of data, of which one part in `parts` is rewritten.
    fn filled(stack: &str, dies: u32, blocks: u32, parts: u32) -> Self {
        let chip = TestFlash::new(BLOCKS / dies, PAGES_PER_BLOCK).channels(dies).chip();
        let pages = blocks * PAGES_PER_BLOCK;
        let layout = Layout::of(&chip, pages, 7);
        let ftl = testkit::drive(stack, &layout);
        let flash = FlashPort::new(untimed(chip));
        let mut device = Self { flash, ftl, hot: pages / parts, dies, rng: SeededRng::new(11) };
        (0..pages).for_each(|lpn| device.write(lpn));
        device
    }

    fn write(&mut self, lpn: u32) {
        self.write_hinted(lpn, Hint::NONE);
    }

    fn write_hinted(&mut self, lpn: u32, hint: Hint) {
        let request = Request { hint, ..Request::new(Lpn::new(lpn), 1) };
        self.ftl.write(&mut self.flash, &request, &[PageData::default()]).expect("a legal write");
    }

    /// Rewrites hot pages, and one time in fifty a run of cold ones, a block long, until there have
    /// been this many erases; the host says which is which.
    fn wear_hinted(&mut self, erases: u64) {
        let (hot, blocks) = (self.hot / PAGES_PER_BLOCK, 50);
        while self.flash.chip().operations().erases < erases {
            let mut roll = |most: u32| self.rng.below_u32(most);
            if roll(50) > 0 {
                let lpn = roll(self.hot);
                self.write_hinted(lpn, Hint::new(0, 10, 2));
            } else {
                let first = (hot + roll(blocks - hot)) * PAGES_PER_BLOCK;
                (first..first + PAGES_PER_BLOCK).for_each(|lpn| self.write_hinted(lpn, Hint::new(0, 1, 1)));
            }
        }
        self.ftl.check(&self.flash).expect("invariants");
    }

    /// Rewrites hot pages until there have been this many erases.
    fn wear(&mut self, erases: u64) {
        while self.flash.chip().operations().erases < erases {
            let lpn = self.rng.below_u32(self.hot);
            self.write(lpn);
        }
        self.ftl.check(&self.flash).expect("invariants");
    }

    fn erase_counts(&self) -> Vec<u32> {
        (0..BLOCKS).map(|block| self.flash.chip().erase_count(Pbn::new(block))).collect()
    }

    /// Most minus fewest erases of a block, on the die where they differ most.
    fn spread(&self) -> u32 {
        let counts = self.erase_counts();
        let dies = counts.chunks((BLOCKS / self.dies) as usize);
        dies.map(|die| die.iter().max().unwrap_or(&0) - die.iter().min().unwrap_or(&0)).max().unwrap_or(0)
    }

    /// Standard deviation of the blocks' erase counts.
    fn sigma(&self) -> f64 {
        let counts: Vec<_> = self.erase_counts().into_iter().map(f64::from).collect();
        let mean = counts.iter().sum::<f64>() / counts.len() as f64;
        (counts.iter().map(|count| (count - mean).powi(2)).sum::<f64>() / counts.len() as f64).sqrt()
    }
}

/// One mapping of each family, and one that moves whole groups of blocks.
const MAPPINGS: [&str; 8] = ["page", "dftl", "bdb", "block", "fast", "a-sast", "superblock", "waftl"];

#[test]
fn without_levelling_wear_parts_without_bound() {
    for mapping in MAPPINGS {
        for wear in ["none", "dynamic"] {
            let mut device = HotCold::new(&format!("{mapping}+{wear}"), 1);
            device.wear(4_000);
            let (spread, sigma) = (device.spread(), device.sigma());
            device.wear(16_000);
            println!(
                "{mapping}+{wear}: spread {spread}, then {}; σ {sigma:.1}, then {:.1}",
                device.spread(),
                device.sigma()
            );
            assert!(device.spread() > 3 * spread && device.sigma() > 3.0 * sigma, "{mapping}+{wear}");
            assert_eq!(device.flash.tally().note(Note::RelocatedBlock), 0, "{mapping}+{wear}");
        }
    }
}

/// A leveller, and the most that the erase counts within a die may differ by, from the first erase
/// on: from the leveller's own threshold, as its story says; `static` lets them differ by a block's
/// pages more but under a page map. 14 blocks of 64 hold no data.
const BOUNDS: [(&str, u32); 9] = [
    ("static:threshold=2", 2 + 2),
    ("static:threshold=4", 4 + 2),
    ("static:threshold=16", 16 + 2),
    ("bet:threshold=4", 4 * 4 * 64 / 14),
    ("bet:threshold=16", 4 * 16 * 64 / 14),
    ("dual-pool:threshold=4", 2 * 4 + 2),
    ("dual-pool:threshold=16", 2 * 16 + 2),
    ("rejuvenator:tau=4", 4 + 2 + PAGES_PER_BLOCK),
    ("rejuvenator:tau=16", 16 + 2 + PAGES_PER_BLOCK),
];

/// Erases that pass a bound without a leveller, as `without_a_leveller_each_bound_is_passed` shows.
fn enough_erases(bound: u32) -> u64 {
    60 * u64::from(bound) + 2_500
}

/// What `static` adds to its bound under maps of blocks and logs.
fn allowed(mapping: &str, wear: &str, bound: u32) -> u32 {
    let is_page_mapped = ["page", "dftl", "bdb"].contains(&mapping);
    if wear.starts_with("static") && !is_page_mapped { bound + PAGES_PER_BLOCK } else { bound }
}

/// All mappings on one die, and two of pages on two.
fn mappings_on_dies() -> impl Iterator<Item = (&'static str, u32)> {
    MAPPINGS.into_iter().map(|mapping| (mapping, 1)).chain([("page", 2), ("dftl", 2)])
}

#[test]
fn each_leveller_keeps_its_bound() {
    for (wear, bound) in BOUNDS {
        for (mapping, dies) in mappings_on_dies() {
            let mut device = HotCold::new(&format!("{mapping}+{wear}"), dies);
            let mut worst = 0;
            for erases in (250..enough_erases(bound)).step_by(250) {
                device.wear(erases);
                worst = worst.max(device.spread());
            }
            let moves = device.flash.tally().note(Note::RelocatedBlock);
            println!("{mapping}+{wear} on {dies} dies: at most {worst}, σ {:.1}, {moves} moves", device.sigma());
            // `bet` keeps no bound over waftl, and its story says so.
            let is_bounded = (mapping, wear.starts_with("bet")) != ("waftl", true);
            assert!(!is_bounded || worst <= allowed(mapping, wear, bound), "{mapping}+{wear} on {dies} dies: {worst}");
        }
    }
}

#[test]
fn without_a_leveller_each_bound_is_passed() {
    let mut bounds = BOUNDS;
    bounds.sort_by_key(|&(_, bound)| bound);
    for (mapping, dies) in mappings_on_dies() {
        let mut device = HotCold::new(mapping, dies);
        for (wear, bound) in bounds {
            device.wear(enough_erases(bound));
            let (spread, allowed) = (device.spread(), allowed(mapping, wear, bound));
            println!("{mapping} on {dies} dies: {spread}, {wear} {allowed}");
            assert!(spread > allowed, "{mapping} on {dies} dies: {spread} where {wear} allows {allowed}");
        }
    }
}

/// What is moved does not mix with what is collected: but for the open blocks, each holds what
/// never changes or what does. The device is full enough that collections move much.
#[test]
fn what_is_moved_shares_no_block_with_what_is_collected() {
    let mut device = HotCold::filled("page+static:threshold=4", 1, 58, 3);
    device.wear(10_000);
    let moves =
        [Cause::Collection, Cause::WearLevelling].map(|cause| device.flash.tally().count(cause, FlashOp::Program));
    assert!(moves.into_iter().all(|moves| moves > 5_000), "{moves:?}");
    let chip = device.flash.chip();
    let is_mixed = |pbn: &Pbn| {
        let pages = chip.geometry().page_indices(*pbn).filter_map(|page| chip.tag(Ppn::at(page)));
        let hot = pages.map(|tag| tag.logical < device.hot).collect::<std::collections::BTreeSet<_>>();
        hot.len() > 1
    };
    let mixed = (0..BLOCKS).map(Pbn::new).filter(is_mixed).count();
    assert!(mixed <= 2, "{mixed} blocks hold both");
}

/// Which blocks are rewritten is left to chance in each interval, so wear parts as a random walk
/// does: slower than without levelling.
#[test]
fn in_the_order_in_which_blocks_were_freed_bet_has_no_bound() {
    for mapping in ["page", "fast"] {
        let mut device = HotCold::new(&format!("{mapping}+bet:threshold=4:free_blocks=first_freed"), 1);
        let sigmas = [5_000, 20_000, 80_000].map(|erases| {
            device.wear(erases);
            device.sigma()
        });
        println!("{mapping}: σ {sigmas:.1?}");
        assert!(sigmas.windows(2).all(|pair| (1.3..3.2).contains(&(pair[1] / pair[0]))), "{mapping}: {sigmas:?}");
    }
}

/// Mappings that keep each logical block in a block of its own, so that a policy can ask whose data
/// a merge puts together.
const KEEPING: [&str; 5] = ["block", "fast", "bast", "a-sast", "last"];

/// A block above the mean by more than Δ gets cold data when it is given back and nobody takes it
/// first, and the cold data take turns: all blocks stay within 2 Δ + 8 of the mean.
#[test]
fn lazy_keeps_all_blocks_within_a_bound_around_the_mean() {
    for (mapping, delta) in KEEPING.into_iter().flat_map(|mapping| [2, 8].map(|delta| (mapping, f64::from(delta)))) {
        let mut device = HotCold::new(&format!("{mapping}+lazy:delta={delta}:tune=false"), 1);
        let (mut above, mut below) = (0_f64, 0_f64);
        for erases in (250..20_000).step_by(250) {
            device.wear(erases);
            let counts = device.erase_counts().into_iter().map(f64::from);
            let mean = counts.clone().sum::<f64>() / f64::from(BLOCKS);
            above = counts.clone().fold(above, |above, count| above.max(count - mean));
            below = counts.fold(below, |below, count| below.max(mean - count));
        }
        let moves = device.flash.tally().note(Note::RelocatedBlock);
        println!("{mapping}, Δ = {delta}: {above:.1} above, {below:.1} below, {moves} moves");
        let bound = 2.0 * delta + 8.0;
        assert!(above <= bound && below <= bound, "{mapping}, Δ = {delta}: {above} above, {below} below");
    }
}

/// Tuned, Δ grows until levelling costs little, and wear still does not part.
#[test]
fn lazy_tuned_moves_less_and_keeps_wear_together() {
    for mapping in KEEPING {
        let moves_and_sigmas = ["lazy:tune=false", "lazy"].map(|wear| {
            let mut device = HotCold::new(&format!("{mapping}+{wear}"), 1);
            let sigmas = [8_000, 32_000].map(|erases| {
                device.wear(erases);
                device.sigma()
            });
            (device.flash.tally().note(Note::RelocatedBlock), sigmas)
        });
        println!("{mapping}: {moves_and_sigmas:.1?}");
        let [(fixed, _), (tuned, [sigma, later])] = moves_and_sigmas;
        assert!(4 * tuned < fixed && sigma < 15.0 && later < 15.0, "{mapping}: {moves_and_sigmas:?}");
    }
}

/// OWL's scan moves cold data off blocks with less than half the mean's erases, one logical block a
/// round. So under a mapping with a log no block stays below half the mean for longer than a scan
/// takes to go round. What wears most is bounded by nothing, since hot data go into young blocks
/// only as far as the table ranks them. Under block mapping even the youngest free block may rest:
/// nothing but a log block or a new logical block asks for it.
#[test]
fn owl_keeps_blocks_above_half_the_mean_where_its_scan_goes_on() {
    let owl = "owl:bat=8:lambda=10:delta=0.1";
    let after = |stack: &str| {
        let mut device = HotCold::new(stack, 1);
        device.wear(32_000);
        let counts = device.erase_counts();
        let (least, most) = counts.iter().fold((u32::MAX, 0), |(least, most), &c| (least.min(c), most.max(c)));
        println!("{stack}: {least} to {most}, σ {:.1}", device.sigma());
        (least, most, device.sigma())
    };
    for mapping in KEEPING {
        let (_, _, none) = after(mapping);
        let (least, most, sigma) = after(&format!("{mapping}+{owl}"));
        assert!(2.0 * sigma < none, "{mapping}: σ {sigma} against {none}");
        if mapping != "block" {
            // 32 000 erases of 64 blocks are 500 a block.
            assert!(least > 230 && most < 1_000, "{mapping}: {least} to {most}");
        }
        let (_, _, without) = after(&format!("{mapping}+{owl}:scan=off"));
        assert!(without > 0.9 * none, "{mapping}: what is never merged is never seen, σ {without} against {none}");
    }
    let (least, most, _) = after(&format!("fast+{owl}:scan=head"));
    assert!(least < 125 && most > 1_000, "{least} to {most}: a scan that begins at the head sees old blocks only");
}

/// Two runs give the same erases, block by block.
#[test]
fn levellers_of_merges_are_deterministic() {
    for wear in ["owl:bat=8:lambda=10:delta=0.1", "lazy"] {
        let [one, other] = [(), ()].map(|()| {
            let mut device = HotCold::new(&format!("fast+{wear}"), 1);
            device.wear(5_000);
            device.erase_counts()
        });
        assert_eq!(one, other, "{wear}");
    }
}

/// The order in which saw takes blocks of a group, over all of them.
const STRICT: &str = "dynamic:free_blocks=least_worn";

/// Where cold data are rewritten now and then, they come to lie on worn blocks if the host says
/// that they are cold: σ is smaller by so much. A die with few free blocks to choose from, and a
/// zone that all that is written goes to first, leave little of that, and waftl is left out.
#[test]
fn told_what_is_cold_policies_wear_blocks_more_evenly() {
    for (mapping, without, with, times) in [
        ("block", STRICT, "saw", 2.0),
        ("fast", STRICT, "saw", 2.0),
        ("bast", STRICT, "saw", 4.0),
        ("superblock", STRICT, "saw", 10.0),
        ("page:gc_threshold=6", STRICT, "saw", 2.0),
        ("dftl:gc_threshold=6", STRICT, "saw", 1.0),
        ("page", "bet", "bet:free_blocks=temperature", 3.0),
        ("fast", "bet", "bet:free_blocks=temperature", 2.0),
        ("fast", "lazy", "lazy:free_blocks=temperature", 1.3),
        ("fast", "owl:bat=8", "owl:bat=8:allocation=temperature", 10.0),
    ] {
        let [without, with] = [without, with].map(|wear| {
            let mut device = HotCold::new(&format!("{mapping}+{wear}"), 1);
            device.wear_hinted(64_000);
            device.sigma()
        });
        println!("{mapping}: σ {without:.1} without temperatures, {with:.1} with them");
        assert!(with * times < without, "{mapping}: {with} against {without}");
    }
}
