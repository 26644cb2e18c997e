//! The journal: pages that must change together, kept aside until all of them lie in their places.
//!
//! FAT says in several places which file has a cluster. A volume of which only some of these were
//! written has lost files, so what changes between two moments at which everything fits together is
//! written twice: first here, as a whole, then in place. A mount that finds a whole one here when
//! the volume is mounted puts it in place again, which changes nothing where it is already.
//!
//! It lies behind the end of the volume, where no other driver looks:
//!
//! ```text
//!   header: magic, pages it has room for, pages in it, checksums of the rest and of itself,
//!           checksum and length of the types, types of files in the order of their numbers
//!   list:   the number of each page, 8 bytes each, in whole pages
//!   pages
//! ```
//!
//! All numbers are little-endian. A header with no pages in it says that there is a journal.

use bytes::Bytes;
use fat::{PAGE_BYTES, Page};
use ftl::Hint;

use crate::device::{Device, DeviceError};

const MAGIC: [u8; 8] = *b"FTLKITJ1";
/// Bytes of the header that say what the journal holds, and bytes before the types.
const CONTENT_BYTES: usize = 24;
const HEADER_BYTES: usize = 32;
/// Between two types: no name has it.
pub(crate) const BETWEEN_TYPES: char = '/';
/// Numbers of pages in a page.
const LISTED: usize = PAGE_BYTES / 8;
/// Bytes that are written at once.
const WRITE_BYTES: usize = 512 << 10;
const PAGE: u64 = PAGE_BYTES as u64;

/// A page and its number on the device.
pub(crate) type NumberedPage = (u64, Box<Page>);

/// Where the journal of a volume lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Journal {
    /// Its first byte on the device.
    offset: u64,
    /// Pages that it has room for.
    pub(crate) room: usize,
}

impl Journal {
    /// Bytes of a journal with room for this many pages.
    pub(crate) fn bytes(room: usize) -> u64 {
        (1 + room.div_ceil(LISTED) + room) as u64 * PAGE
    }

    /// Makes an empty journal behind a volume of this many bytes.
    pub(crate) fn create(device: &mut impl Device, volume_bytes: u64, room: usize) -> Result<Self, DeviceError> {
        let journal = Self { offset: volume_bytes.next_multiple_of(PAGE), room };
        journal.clear(device, "")?;
        Ok(journal)
    }

    /// The journal behind a volume of this many bytes, if there is one.
    pub(crate) fn find(device: &mut impl Device, volume_bytes: u64) -> Result<Option<Self>, DeviceError> {
        let offset = volume_bytes.next_multiple_of(PAGE);
        if offset + PAGE > device.bytes() {
            return Ok(None);
        }
        let mut header = [0; HEADER_BYTES];
        device.read(offset, &mut header)?;
        let (magic, room) = (&header[..8], u32::from_le_bytes(word(&header, 8)) as usize);
        let is_one = magic == MAGIC && offset.checked_add(Self::bytes(room)).is_some_and(|end| end <= device.bytes());
        Ok(is_one.then_some(Self { offset, room }))
    }

    /// What it holds, if that is whole.
    pub(crate) fn read(&self, device: &mut impl Device) -> Result<Vec<NumberedPage>, DeviceError> {
        let mut header = [0; HEADER_BYTES];
        device.read(self.offset, &mut header)?;
        let (count, sum) = (u32::from_le_bytes(word(&header, 12)) as usize, u32::from_le_bytes(word(&header, 16)));
        if header[..CONTENT_BYTES] != self.header(count, sum) || count == 0 || count > self.room {
            return Ok(Vec::new());
        }
        let list_bytes = count.div_ceil(LISTED) * PAGE_BYTES;
        let mut bytes = vec![0; list_bytes + count * PAGE_BYTES];
        for (offset, part) in (self.offset + PAGE..).step_by(WRITE_BYTES).zip(bytes.chunks_mut(WRITE_BYTES)) {
            device.read(offset, part)?;
        }
        if crc32c::crc32c(&bytes) != sum {
            return Ok(Vec::new());
        }
        let (list, pages) = bytes.split_at(list_bytes);
        let numbers = list.as_chunks::<8>().0.iter().map(|number| u64::from_le_bytes(*number));
        Ok(numbers.zip(pages.as_chunks::<PAGE_BYTES>().0).map(|(number, page)| (number, Box::new(*page))).collect())
    }

    /// The types of files that have a number on the volume, in the order of these.
    pub(crate) fn types(&self, device: &mut impl Device) -> Result<String, DeviceError> {
        let mut page = vec![0; PAGE_BYTES];
        device.read(self.offset, &mut page)?;
        let [sum, length] = [24, 28].map(|at| u32::from_le_bytes(std::array::from_fn(|i| page[at + i])));
        let text = page.get(HEADER_BYTES..HEADER_BYTES + length as usize).filter(|text| crc32c::crc32c(text) == sum);
        Ok(text.and_then(|text| String::from_utf8(text.to_vec()).ok()).unwrap_or_default())
    }

    /// Keeps pages aside. They are safe with the next flush, and the journal is whole then or as it
    /// was.
    pub(crate) fn write(
        &self,
        device: &mut impl Device,
        pages: &[(u64, &Page)],
        types: &str,
    ) -> Result<(), DeviceError> {
        let list_bytes = pages.len().div_ceil(LISTED) * PAGE_BYTES;
        let mut bytes = Vec::with_capacity(list_bytes + pages.len() * PAGE_BYTES);
        bytes.extend(pages.iter().flat_map(|(number, _)| number.to_le_bytes()));
        bytes.resize(list_bytes, 0);
        for (_, page) in pages {
            bytes.extend_from_slice(*page);
        }
        let sum = crc32c::crc32c(&bytes);
        let bytes = Bytes::from(bytes);
        let mut at = 0;
        while at < bytes.len() {
            let end = (at + WRITE_BYTES).min(bytes.len());
            device.write(self.offset + PAGE + at as u64, bytes.slice(at..end), Hint::NONE)?;
            at = end;
        }
        self.write_header(device, (pages.len(), sum), types)
    }

    /// It holds no pages any more.
    pub(crate) fn clear(&self, device: &mut impl Device, types: &str) -> Result<(), DeviceError> {
        self.write_header(device, (0, 0), types)
    }

    fn write_header(
        &self,
        device: &mut impl Device,
        (count, sum): (usize, u32),
        types: &str,
    ) -> Result<(), DeviceError> {
        let mut page = vec![0; PAGE_BYTES];
        page[..CONTENT_BYTES].copy_from_slice(&self.header(count, sum));
        // Types that have no room any more get new numbers with the next mount.
        let room = PAGE_BYTES - HEADER_BYTES;
        let ends = types.match_indices(BETWEEN_TYPES).map(|(at, _)| at).chain([types.len()]);
        let text = &types.as_bytes()[..ends.take_while(|&end| end <= room).last().unwrap_or(0)];
        page[CONTENT_BYTES..][..4].copy_from_slice(&crc32c::crc32c(text).to_le_bytes());
        page[CONTENT_BYTES + 4..][..4].copy_from_slice(&(text.len() as u32).to_le_bytes());
        page[HEADER_BYTES..][..text.len()].copy_from_slice(text);
        device.write(self.offset, page.into(), Hint::NONE)
    }

    fn header(&self, count: usize, sum: u32) -> [u8; CONTENT_BYTES] {
        let mut header = [0; CONTENT_BYTES];
        header[..8].copy_from_slice(&MAGIC);
        header[8..12].copy_from_slice(&(self.room as u32).to_le_bytes());
        header[12..16].copy_from_slice(&(count as u32).to_le_bytes());
        header[16..20].copy_from_slice(&sum.to_le_bytes());
        let own = crc32c::crc32c(&header[..20]);
        header[20..24].copy_from_slice(&own.to_le_bytes());
        header
    }
}

fn word(header: &[u8; HEADER_BYTES], at: usize) -> [u8; 4] {
    std::array::from_fn(|i| header[at + i])
}
