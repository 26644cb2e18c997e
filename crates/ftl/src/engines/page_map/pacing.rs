//! Collections that go on step by step, as the host writes.
//!
//! Without pacing a die collects whole blocks when the host needs a free one: a write may then wait
//! until hundreds of pages have been moved and a block erased. With `gc = paced` a die takes a
//! block in hand before that, and moves some of its pages after each page that the host writes
//! there. How many, and why the die never runs out of free blocks, is told in `space/hands.rs`.
//!
//! A step comes when the host's page is programmed and mapped, so that page never waits for it. The
//! pages of a step are those that are valid then: what the host has written again or trimmed since
//! the block was taken in hand is passed over. What was moved is not valid in hand any more; both
//! copies carry the same version, and after a power cut either will do. The last step is an
//! ordinary collection of what is left: it replaces the last copies of trimmed pages and erases.
//!
//! - *Program units*: a step moves at least as many pages as the device programs at once, and the
//!   next ones come later for that. So a flash page of several is sensed once, and nothing waits in
//!   the controller for the next step.
//! - *Runs*: where pages are programmed one by one, a step moves 32 at least, or a tenth of a
//!   block, to a block without pages of the host's. They are ahead of what is due, so the die is
//!   never later. It follows the step before it on its die while that goes on: so what the host
//!   wants of the die waits for one moved page, and not for one of each step.
//! - *Urgent*: a die with `gc_threshold` free blocks or less collects what it has in hand, and then
//!   whole blocks, before it opens another for the host.
//! - *Failures*: while a block waits to be emptied or a die has lost its reserve, nothing is in
//!   hand. A block whose wear is to be levelled leaves the hand and is emptied whole.
//! - *pSLC*: a block of the cache that a collection takes is folded whole.
//! - *Idle time*: steps go on while each fits, until the die has `gc_idle` free blocks, or one if
//!   that is 0, beyond `gc_threshold`. For that one no victim is taken earlier than few spare
//!   blocks allow (`space/hands.rs`). On superblocks they are as large as fits (`idle.rs`).
//!   Schemes that keep pages of the host's in RAM in front of a map do not hand idle time on.

use flash::{Pbn, Ppn};

use crate::api::layout::Layout;
use crate::api::parameter::{Kind, Parameter, Values};
use crate::engines::page_map::idle::{at_most, collect_in_idle, moves_at_most};
use crate::engines::page_map::mapped::{HOST, PageMapped};
use crate::engines::page_map::space::Stream;
use crate::port::cause::Cause;
use crate::port::device::Device;
use crate::port::error::FtlError;
use crate::port::flash_port::FlashPort;
use crate::port::timing::Nanos;

/// When a victim is emptied.
pub const GC: Parameter = Parameter {
    name: "gc",
    kind: Kind::Choice { of: &["auto", "whole", "paced"] },
    default: "auto",
    meaning: "When garbage collection empties a block: whole, all of it when a die has gc_threshold free blocks \
              left and the host needs one; paced, step by step as the host writes, so that a block is free and \
              erased before it is needed. Then gc_threshold is where a die collects whole blocks at once. auto is \
              paced on a device that programs several pages at once, as today's do, and whole on others.",
    source: "ftlkit",
};

/// The fewest pages of a step, if collections are paced: those that are programmed at once.
pub fn least_step(layout: &Layout, values: &Values) -> Option<u32> {
    let is_paced = match values.word(GC.name) {
        "auto" => layout.programmed_at_once > 1,
        word => word == "paced",
    };
    is_paced.then_some(layout.programmed_at_once)
}

/// A page of the host's was written here and is mapped: does what is due on its die.
#[inline]
pub fn on_written<S: PageMapped, D: Device>(
    scheme: &mut S,
    flash: &mut FlashPort<D>,
    written: Ppn,
) -> Result<(), FtlError> {
    scheme.space().on_host_page();
    match scheme.space().is_due(written) {
        Some(die) => FtlError::unless_read_only(pace(scheme, flash, die)),
        None => Ok(()),
    }
}

#[inline(never)]
fn pace<S: PageMapped, D: Device>(scheme: &mut S, flash: &mut FlashPort<D>, die: u32) -> Result<(), FtlError> {
    if !scheme.is_whole() {
        scheme.space().put_all_down();
        return Ok(());
    }
    let victim = if let Some(victim) = scheme.space().in_hand(die) {
        victim
    } else {
        if due(scheme, die, HOST) == 0 {
            return Ok(());
        }
        let fold = |scheme: &mut S, victim| scheme.collect_apart(flash, die, victim, Cause::Collection);
        let Some(victim) = take_in_hand(scheme, die, fold)? else { return Ok(()) };
        victim
    };
    let from = scheme.space().stream_of(victim);
    let moves = due(scheme, die, from);
    let is_spent = scheme.space().valid_in(victim) == 0;
    if moves == 0 && !is_spent {
        return Ok(());
    }
    let destination = scheme.destination(from);
    let moves = moves.max(scheme.space().least_step_to(destination));
    let mut pages = std::mem::take(scheme.space().pages_of_step());
    scheme.list_step(flash, victim, moves, &mut pages);
    let before = scheme.space().end_of_step(die);
    let (result, end) = flash.in_background_behind(before, |flash| step(scheme, flash, die, victim, &pages));
    scheme.space().has_stepped(die, end);
    *scheme.space().pages_of_step() = pages;
    result
}

/// Moves that are due of a block of this stream.
fn due<S: PageMapped>(scheme: &mut S, die: u32, from: Stream) -> u32 {
    let destination = scheme.destination(from);
    let (space, blocks, _) = scheme.parts();
    space.moves_due(blocks, die, destination)
}

/// Takes the next block to collect on a die in hand, if collecting it gains anything; one of the
/// cache is given to `fold` instead.
fn take_in_hand<S: PageMapped>(
    scheme: &mut S,
    die: u32,
    fold: impl FnOnce(&mut S, Pbn) -> Result<(), FtlError>,
) -> Result<Option<Pbn>, FtlError> {
    let Some(victim) = scheme.take_victim(die)? else { return Ok(None) };
    let space = scheme.space();
    if space.is_dense(victim) {
        space.pass_over(victim);
    } else if space.pslc_stream() == Some(space.stream_of(victim)) {
        fold(scheme, victim)?;
    } else {
        space.take_in_hand(victim);
        scheme.notify_reclaimed(victim, Cause::Collection, true);
        return Ok(Some(victim));
    }
    Ok(None)
}

/// Moves pages of a block in hand or, if those are the last or would take a free block that is set
/// aside, all the rest.
fn step<S: PageMapped, D: Device>(
    scheme: &mut S,
    flash: &mut FlashPort<D>,
    die: u32,
    victim: Pbn,
    pages: &[Ppn],
) -> Result<(), FtlError> {
    debug_assert!(pages.iter().all(|&ppn| scheme.space().is_valid(ppn)), "{victim} gives away what is not valid");
    if ends_with(scheme, die, victim, pages.len() as u32) {
        scheme.space().take_out_of_hand(die);
        return scheme.collect(flash, die, victim, Cause::Collection);
    }
    let result = scheme.move_some(flash, die, victim, pages);
    if result.is_err() {
        scheme.space().put_down(die);
    }
    debug_assert!(
        !scheme.is_whole() || scheme.blocks().free_on(die) > 0,
        "a step of {victim} took the last free block of die {die}"
    );
    result
}

/// Whether a step of this many moves is the last one of a block.
fn ends_with<S: PageMapped>(scheme: &mut S, die: u32, victim: Pbn, moves: u32) -> bool {
    let from = scheme.space().stream_of(victim);
    let destination = scheme.destination(from);
    let (space, blocks, _) = scheme.parts();
    debug_assert_eq!(space.in_hand(die), Some(victim), "a step of {victim}, which is not in hand");
    moves >= space.valid_in(victim) || space.opens_a_block(victim, destination, moves) && space.is_short(blocks, die)
}

/// Collects in idle time, until each die has `more` free blocks than those at which it collects
/// anyway.
pub fn use_idle_time<S: PageMapped, D: Device>(
    scheme: &mut S,
    flash: &mut FlashPort<D>,
    more: usize,
    budget: Nanos,
) -> Result<(), FtlError> {
    if scheme.space().is_paced() {
        step_in_idle(scheme, flash, more, budget)?;
    } else {
        collect_in_idle(scheme, flash, more, budget)?;
    }
    scheme.check_classes()
}

/// Goes on with what the dies have in hand while there is time, until each has `more` free blocks,
/// at least one, than those at which it collects anyway.
fn step_in_idle<S: PageMapped, D: Device>(
    scheme: &mut S,
    flash: &mut FlashPort<D>,
    more: usize,
    budget: Nanos,
) -> Result<(), FtlError> {
    let end = flash.earliest() + budget;
    for die in scheme.blocks().dies_by_free() {
        while scheme.is_short_of(die, more.max(1)) && scheme.is_whole() {
            let leave = |scheme: &mut S, victim| {
                scheme.space().leave(victim);
                Ok(())
            };
            let in_hand = scheme.space().in_hand(die);
            let (space, blocks, _) = scheme.parts();
            if in_hand.is_none() && more == 0 && space.early_for_spare(blocks, die) > 0 {
                break;
            }
            let taken = in_hand.map_or_else(|| take_in_hand(scheme, die, leave), |victim| Ok(Some(victim)))?;
            let Some(victim) = taken else { break };
            let Some((pages, price)) = step_that_fits(scheme, flash, (die, victim), end) else { break };
            let result = flash.in_step(price, |flash| step(scheme, flash, die, victim, &pages));
            FtlError::unless_read_only(result)?;
        }
    }
    Ok(())
}

/// The pages of a step that is over by then, and the most time that it takes; none if not even the
/// least is. Where moves go side by side it is a larger one, which keeps more dies busy.
fn step_that_fits<S: PageMapped, D: Device>(
    scheme: &mut S,
    flash: &mut FlashPort<D>,
    (die, victim): (u32, Pbn),
    end: Nanos,
) -> Option<(Vec<Ppn>, Nanos)> {
    let (from, least) = (flash.earliest(), scheme.space().least_step());
    let mut priced = |flash: &mut FlashPort<D>, moves: u32| {
        let mut pages = Vec::new();
        scheme.list_step(flash, victim, moves, &mut pages);
        let price = if ends_with(scheme, die, victim, pages.len() as u32) {
            at_most(scheme, flash, victim)
        } else {
            moves_at_most(scheme, flash, victim, (&pages, 0, 0))
        };
        (from + price <= end).then_some((pages, price))
    };
    let fits = priced(flash, least)?;
    let steps = end.since(from).0 / fits.1.0.max(1);
    if steps < 2 || !flash.reads_ahead() {
        return Some(fits);
    }
    priced(flash, least.saturating_mul(steps.min(u32::MAX.into()) as u32)).or(Some(fits))
}
