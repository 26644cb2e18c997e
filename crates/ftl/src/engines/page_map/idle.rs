//! Collections in idle time.
//!
//! A block is collected before a write needs the room only if what that takes at most fits into the
//! time that is left, told by the prices of its operations: a collection is never left half done,
//! and a request that comes when the time is over finds the device idle. So gaps shorter than the
//! collection of one block are not used, unless collections are paced (`pacing.rs`): then each step
//! has to fit. One block is collected at a time, on the die that has the fewest free blocks first.
//!
//! A collection is one step, or several if it is paced. Superblocks are read ahead of what is
//! programmed within a step, so that their planes and dies work side by side, and the price of a
//! step is that of the die with the most to do.
//!
//! Limits: what fails on the way takes longer than what was asked for. Translation pages are
//! counted as if each moved page had one of its own, so demand-paged schemes use less of the time
//! than they could.

use flash::{Flash, Pbn, Ppn};

use crate::api::parameter::{Kind, Parameter};
use crate::engines::page_map::mapped::PageMapped;
use crate::port::cause::Cause;
use crate::port::device::Device;
use crate::port::error::FtlError;
use crate::port::exposed_pages::FillUp;
use crate::port::flash_port::FlashPort;
use crate::port::timing::{FlashOp, Nanos};

/// How much idle time is used.
pub const GC_IDLE: Parameter = Parameter {
    name: "gc_idle",
    kind: Kind::Integer { min: 0, max: 1 << 20 },
    default: "0",
    meaning: "Extra free blocks per die to build up by idle-time GC; 0 = no background GC, and 1 with gc = paced.",
    source: "ftlkit",
};

/// Collects blocks while there is time, until each die has `more` free blocks than those at which
/// it collects anyway.
pub fn collect_in_idle<S: PageMapped, D: Device>(
    scheme: &mut S,
    flash: &mut FlashPort<D>,
    more: usize,
    budget: Nanos,
) -> Result<(), FtlError> {
    if more == 0 || !scheme.is_whole() {
        return Ok(());
    }
    let end = flash.earliest() + budget;
    for die in scheme.blocks().dies_by_free() {
        let mut choices = scheme.space().blocks_per_die();
        while scheme.is_short_of(die, more)
            && choices > 0
            && scheme.is_whole()
            && let Some(victim) = scheme.take_victim(die)?
        {
            choices -= 1;
            debug_assert_eq!(scheme.space().die_of(victim), die, "{victim} is collected for another die");
            let price = at_most(scheme, flash, victim);
            if flash.earliest() + price > end {
                scheme.space().leave(victim);
                break;
            }
            let collected = flash.in_step(price, |flash| scheme.collect(flash, die, victim, Cause::Collection));
            FtlError::unless_read_only(collected)?;
        }
    }
    Ok(())
}

/// The most time that collecting a block takes if nothing fails.
pub(super) fn at_most<S: PageMapped, D: Device>(scheme: &mut S, flash: &mut FlashPort<D>, victim: Pbn) -> Nanos {
    let mut pages = Vec::new();
    let (space, _, trims) = scheme.parts();
    debug_assert!(!space.is_collectable(victim), "{victim} is priced, but was not taken as a victim");
    space.list_valid(victim, &mut pages);
    let vanishing = trims.about_to_vanish(space.page_indices(victim)).len() as u64;
    let filled = |(pbn, end): FillUp| end - flash.chip().next_page(pbn);
    let padding = space.most_padding() + flash.to_fill_before_erase(victim).into_iter().map(filled).sum::<u32>();
    let more = u64::from(space.destinations() * space.summary_pages() + padding);
    moves_at_most(scheme, flash, victim, (&pages, vanishing, more)) + flash.estimate(FlashOp::Erase, victim)
}

/// The most time that moving these pages out of a block takes, with last copies of trimmed pages
/// there that are replaced, and programs more.
pub(super) fn moves_at_most<S: PageMapped, D: Device>(
    scheme: &mut S,
    flash: &mut FlashPort<D>,
    victim: Pbn,
    (pages, vanishing, more): (&[Ppn], u64, u64),
) -> Nanos {
    let programs_per_move = u64::from(scheme.programs_per_move());
    debug_assert!(programs_per_move > 0, "a move out of {victim} programs nothing");
    let moves = pages.len() as u64 + vanishing;
    let programs = moves * programs_per_move + more;
    let read = flash.estimate(FlashOp::Read, victim).0;
    let side_by_side = if programs_per_move == 1 { flash.estimate_moves(pages, programs) } else { None };
    side_by_side.map_or_else(
        || Nanos(moves * programs_per_move.min(2) * read) + flash.estimate_programs(programs, victim),
        |moved| moved + Nanos(vanishing * read),
    )
}
