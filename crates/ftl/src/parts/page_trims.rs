//! Trim pages and last copies in a block that is collected (`trims.rs` says what they are), under a page map.

use flash::{Pbn, Ppn};

use crate::parts::page_space::{PageSpace, Stream};
use crate::parts::trims::Trims;
use crate::{Content, Device, FtlError, Media};

/// Moves a page off a die if it is a trim page; tells whether it was.
#[inline]
pub fn move_trim_page<D: Device>(
    trims: &mut Trims,
    space: &mut PageSpace,
    media: &mut Media<D>,
    (die, stream): (u32, Stream),
    from: Ppn,
) -> Result<bool, FtlError> {
    let Some((label, version)) = trims.at(from) else { return Ok(false) };
    let content = Content::empty(label.logical, version);
    let to = space.program_moved(media, die, stream, label, &content)?;
    trims.moved(from, to);
    Ok(true)
}

/// Replaces the last copies of trimmed pages in a block to be erased, lest older copies come back.
pub fn replace_vanishing<D: Device>(
    trims: &mut Trims,
    space: &mut PageSpace,
    media: &mut Media<D>,
    (die, stream): (u32, Stream),
    victim: Pbn,
) -> Result<(), FtlError> {
    for (copy, lpn) in trims.about_to_vanish(space.page_indices(victim)) {
        let version = media.read_to_move(copy)?.map(|page| page.version);
        let content = version.map_or_else(|| Content::New(D::Data::default()), |old| Content::empty(lpn.get(), old));
        let to = space.program_moved(media, die, stream, Trims::label(lpn.get(), 1), &content)?;
        trims.replaced(lpn, to, version.unwrap_or(media.last_version()));
    }
    Ok(())
}
