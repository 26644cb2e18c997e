//! What a volume lies on.

use std::io;

/// The unit in which a volume reads and changes the disk.
pub const PAGE_BYTES: usize = 4096;

/// The content of one page.
pub type Page = [u8; PAGE_BYTES];

/// What a volume lies on: pages of 4 KiB, numbered from 0. What is changed in one is there when it
/// is asked for again.
pub trait Disk {
    /// Bytes of the whole disk.
    fn bytes(&self) -> u64;

    /// A page to be looked at.
    fn page(&mut self, page: u64) -> io::Result<&Page>;

    /// A page to be changed.
    fn page_mut(&mut self, page: u64) -> io::Result<&mut Page>;

    /// A page to be changed of which nothing is to be kept: all zeros, whatever it was.
    fn new_page(&mut self, page: u64) -> io::Result<&mut Page>;

    /// This many bytes from an offset on belong to no file any more.
    fn freed(&mut self, offset: u64, bytes: u64);
}

/// This many bytes of a disk, of which none lie across pages.
pub(crate) fn read<const N: usize>(disk: &mut impl Disk, offset: u64) -> io::Result<[u8; N]> {
    let (page, at) = place(offset);
    let page = disk.page(page)?;
    Ok(std::array::from_fn(|i| page[at + i]))
}

/// Changes bytes of a disk, of which none lie across pages.
pub(crate) fn write(disk: &mut impl Disk, offset: u64, bytes: &[u8]) -> io::Result<()> {
    let (page, at) = place(offset);
    disk.page_mut(page)?[at..at + bytes.len()].copy_from_slice(bytes);
    Ok(())
}

/// Fills bytes of a disk with zeros.
pub(crate) fn clear(disk: &mut impl Disk, mut offset: u64, bytes: u64) -> io::Result<()> {
    let end = offset + bytes;
    while offset < end {
        let (page, at) = place(offset);
        let length = (PAGE_BYTES - at).min((end - offset) as usize);
        if length == PAGE_BYTES {
            disk.new_page(page)?;
        } else {
            disk.page_mut(page)?[at..at + length].fill(0);
        }
        offset += length as u64;
    }
    Ok(())
}

/// The page of an offset, and the place in it.
pub(crate) fn place(offset: u64) -> (u64, usize) {
    (offset / PAGE_BYTES as u64, (offset % PAGE_BYTES as u64) as usize)
}
