//! The steps of the pSLC cache (`pslc.rs`): a page finds its place there, and blocks are folded.
//!
//! They are the same for every scheme whose pages lie in a `PageSpace`. What a fold moves takes the
//! way of a collection ([`PageMapped::collect`]), so whatever fails in it is made good as there.

use flash::{CellMode, Lpn, Pbn, Ppn, Role};
use host::Hint;

use crate::api::wear::{AllocRequest, Purpose};
use crate::engines::page_map::idle::at_most;
use crate::engines::page_map::mapped::{HOST, PageMapped};
use crate::port::cause::Cause;
use crate::port::device::Device;
use crate::port::error::FtlError;
use crate::port::flash_port::FlashPort;
use crate::port::label::{Content, Label};
use crate::port::tally::Note;
use crate::port::timing::Nanos;

/// Programs a page of the host's in the cache; none if it has to go to a native block.
pub fn append_cached<S: PageMapped, D: Device>(
    scheme: &mut S,
    flash: &mut FlashPort<D>,
    hint: Hint,
    (lpn, stored_hint): (Lpn, u8),
    data: &D::Data,
) -> Result<Option<Ppn>, FtlError> {
    loop {
        scheme.repair_before_write(flash)?;
        let Some(die) = next_die(scheme, flash, hint)? else { return Ok(None) };
        let Some((cache, space, blocks)) = scheme.cache_parts() else { return Ok(None) };
        let (to, label) = ((cache.stream(), hint), Label::new(lpn.get(), Role::Cached));
        let content = Content::Hinted(data.clone(), stored_hint);
        if let Some(to) = space.program(flash, blocks, die, to, label, content)? {
            flash.note(Note::CachedPage);
            if !space.has_room(die, cache.stream()) {
                cache.on_filled(die, space.block_of(to));
            }
            return Ok(Some(to));
        }
    }
}

/// The die where the cache goes on in a page of the flash, or the next in turn with room there,
/// perhaps after folding.
fn next_die<S: PageMapped, D: Device>(
    scheme: &mut S,
    flash: &mut FlashPort<D>,
    hint: Hint,
) -> Result<Option<u32>, FtlError> {
    for _ in 0..scheme.space().dies() {
        let Some((cache, space, _)) = scheme.cache_parts() else { return Ok(None) };
        if let Some(die) = space.die_of_page_begun(cache.stream()) {
            return Ok(Some(die));
        }
        let die = space.take_turn(cache.stream());
        if space.has_room(die, cache.stream()) || make_room(scheme, flash, die, hint)? {
            return Ok(Some(die));
        }
    }
    Ok(None)
}

/// Opens a block of the cache on a die, after folding as many as that takes; tells whether it did.
#[inline(never)]
fn make_room<S: PageMapped, D: Device>(
    scheme: &mut S,
    flash: &mut FlashPort<D>,
    die: u32,
    hint: Hint,
) -> Result<bool, FtlError> {
    loop {
        let Some((cache, space, blocks)) = scheme.cache_parts() else { return Ok(false) };
        let oldest = cache.oldest(space, die);
        if !cache.has_place() {
            return Ok(false);
        }
        let alloc = AllocRequest::new(Purpose::Data).hinted(hint);
        if let Some(pbn) = cache.take_idle(die) {
            blocks.is_for(pbn, alloc);
            return open(scheme, flash, pbn).map(|()| true);
        }
        if cache.may_grow(space, die) {
            scheme.refill(flash, die)?;
            let (space, blocks, _) = scheme.parts();
            if !space.is_short(blocks, die)
                && let Some(pbn) = blocks.take_on(die, alloc)
            {
                return open(scheme, flash, pbn).map(|()| true);
            }
        }
        match oldest {
            Some(oldest) if fold(scheme, flash, die, oldest)? => {}
            _ => return Ok(false),
        }
    }
}

/// Opens an erased block in pSLC mode.
fn open<S: PageMapped, D: Device>(scheme: &mut S, flash: &mut FlashPort<D>, pbn: Pbn) -> Result<(), FtlError> {
    flash.set_cell_mode(pbn, CellMode::Pslc)?;
    if let Some((cache, space, _)) = scheme.cache_parts() {
        space.open_block(pbn, cache.stream());
    }
    Ok(())
}

/// Whether folding a block finds room for its pages without a free block that collections need.
fn has_room_to_fold<S: PageMapped>(scheme: &mut S, die: u32, pbn: Pbn) -> bool {
    let (space, blocks, trims) = scheme.parts();
    let vanishing = trims.about_to_vanish(space.page_indices(pbn)).len() as u32;
    !space.opens_a_block(pbn, HOST, space.valid_in(pbn) + vanishing) || !space.is_short(blocks, die)
}

/// Folds a filled block of a die, perhaps after collecting there; tells whether it is folded. The
/// host does not wait for the end, but the die is busy with it.
fn fold<S: PageMapped, D: Device>(
    scheme: &mut S,
    flash: &mut FlashPort<D>,
    die: u32,
    pbn: Pbn,
) -> Result<bool, FtlError> {
    if !has_room_to_fold(scheme, die, pbn) {
        scheme.refill(flash, die)?;
    }
    // A collection may have taken it meanwhile.
    if scheme.space().is_cached(pbn) {
        if !has_room_to_fold(scheme, die, pbn) {
            return Ok(false);
        }
        scheme.space().take_cached(pbn);
        scheme.collect_apart(flash, die, pbn, Cause::Fold)?;
    }
    Ok(true)
}

/// Folds filled blocks while there is time, on the die with the most of them first; returns the
/// time that is left.
pub fn fold_in_idle<S: PageMapped, D: Device>(
    scheme: &mut S,
    flash: &mut FlashPort<D>,
    budget: Nanos,
) -> Result<Nanos, FtlError> {
    let end = flash.earliest() + budget;
    let Some((cache, _, _)) = scheme.cache_parts() else { return Ok(budget) };
    for die in cache.dies_by_filled() {
        while scheme.is_whole()
            && let Some((cache, space, _)) = scheme.cache_parts()
            && let Some(oldest) = cache.oldest(space, die)
            && has_room_to_fold(scheme, die, oldest)
        {
            scheme.space().take_cached(oldest);
            let price = at_most(scheme, flash, oldest);
            if flash.earliest() + price > end {
                scheme.space().leave(oldest);
                break;
            }
            let folded = flash.in_step(price, |flash| scheme.collect(flash, die, oldest, Cause::Fold));
            FtlError::unless_read_only(folded)?;
        }
    }
    Ok(end.since(flash.earliest()))
}
