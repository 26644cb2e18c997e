//! Collection in idle time, before a write needs the room.
//!
//! A block is collected only if what that takes at most fits into the time that is left, told by the prices of its operations: a collection
//! is never left half done, and a request that comes when the time is over finds the device idle. So gaps shorter than the
//! collection of one block are not used. One block is collected at a time, on the die that has the fewest free blocks first.
//!
//! Limits: what fails on the way takes longer than what was asked for. Translation pages are counted as if each moved page had one of its own,
//! so demand-paged schemes use less of the time than they could.

use flash::Pbn;

use crate::api::parameter::{Kind, Parameter};
use crate::engines::page_map::mapped::PageMapped;
use crate::port::cause::Cause;
use crate::port::error::FtlError;
use crate::port::flash_port::FlashPort;
use crate::port::timing::{Device, Nanos, Op};

/// How much idle time is used.
pub const GC_IDLE: Parameter = Parameter {
    name: "gc_idle",
    kind: Kind::Integer { min: 0, max: 1 << 20 },
    default: "0",
    meaning: "Free blocks of a die beyond gc_threshold up to which idle time is used to collect; 0 leaves idle time unused.",
    source: "ftlkit",
};

/// Collects blocks while there is time, until each die has `more` free blocks than those at which it collects anyway.
pub fn collect_in_idle<S: PageMapped, D: Device>(
    scheme: &mut S,
    flash: &mut FlashPort<D>,
    more: usize,
    budget: Nanos,
) -> Result<(), FtlError> {
    if more == 0 || !scheme.is_whole() {
        return Ok(());
    }
    let end = flash.now() + budget;
    let mut dies: Vec<u32> = (0..scheme.space().dies()).collect();
    dies.sort_by_key(|&die| scheme.blocks().free_on(die));
    for die in dies {
        let mut choices = scheme.space().blocks_per_die();
        while scheme.is_short_of(die, more)
            && choices > 0
            && scheme.is_whole()
            && let Some(victim) = scheme.take_victim(die)
        {
            choices -= 1;
            if flash.now() + at_most(scheme, flash, victim) > end {
                scheme.space().leave(victim);
                break;
            }
            FtlError::unless_read_only(scheme.collect(flash, die, victim, Cause::Collection))?;
        }
    }
    Ok(())
}

/// The most time that collecting a block takes if nothing fails.
fn at_most<S: PageMapped, D: Device>(scheme: &mut S, flash: &mut FlashPort<D>, victim: Pbn) -> Nanos {
    let programs_per_move = u64::from(scheme.programs_per_move());
    let (space, _, trims) = scheme.parts();
    let moves = u64::from(space.valid_in(victim)) + trims.about_to_vanish(space.page_indices(victim)).len() as u64;
    let reads = moves * programs_per_move.min(2);
    let programs = moves * programs_per_move + u64::from(space.summary_pages());
    let [read, program, erase] = Op::ALL.map(|op| flash.estimate(op, victim).0);
    Nanos(reads * read + programs * program + erase)
}
