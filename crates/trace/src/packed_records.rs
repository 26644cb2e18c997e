//! Records kept in memory, in some ten bytes each: a workload that was read or generated once is
//! served again from here, which takes a tenth of the time of parsing text.
//!
//! ```text
//!   head ─ widths ─ gap ─ distance ─ [length] ─ [device, hint]
//! ```
//!
//! *Head* has the operation in two bits, and says whether the length is that of the record before,
//! and whether device and hint are. *Widths* says how many bytes the next two numbers take: the gap
//! since the record before, and the distance from its end, zigzag. So a sequential request at the
//! time of the one before takes two bytes.
//!
//! Limits: what would take more than the bytes allowed is not kept at all, since a part would spare
//! nothing: to read on, the reader's state is needed.

use std::sync::Arc;

use host::{Hint, HostOp};

use crate::record::Record;

const OP: u8 = 0b11;
const SAME_LENGTH: u8 = 0b100;
const SAME_SOURCE: u8 = 0b1000;

/// Bytes of the longest number.
const NUMBER: usize = 8;
/// Bytes that are looked at for each record, which follow the last one, too: head, widths, and two
/// numbers that are read as eight bytes wherever they end.
const WINDOW: usize = 2 + 0xf + NUMBER;
/// What of eight bytes a number of each width is.
const MASKS: [u64; 16] = {
    let mut masks = [u64::MAX; 16];
    let mut width = 0;
    while width < NUMBER {
        masks[width] = (1 << (8 * width)) - 1;
        width += 1;
    }
    masks
};
/// Bytes of the longest record, and those of a number behind it.
const MOST: usize = 2 + 5 * NUMBER;

/// Takes records in, as long as they take no more than this many bytes.
pub struct RecordPacker {
    bytes: Vec<u8>,
    most_bytes: usize,
    last: Record,
    is_over: bool,
}

impl RecordPacker {
    /// Nothing yet.
    pub fn new(most_bytes: usize) -> Self {
        Self { bytes: Vec::new(), most_bytes, last: Record::BLANK, is_over: false }
    }

    /// Takes in the next record.
    #[inline]
    pub fn push(&mut self, record: &Record) {
        if self.is_over {
            return;
        }
        let (gap, distance) =
            (record.time_ns.wrapping_sub(self.last.time_ns), zigzag(record.offset.wrapping_sub(end(&self.last))));
        let same_length = record.length == self.last.length;
        let same_source = (record.device, record.hint) == (self.last.device, self.last.hint);
        let flag = |is_set: bool, bit: u8| if is_set { bit } else { 0 };
        let (gap_width, distance_width) = (width(gap), width(distance));
        let mut packed = [0; MOST];
        packed[0] = record.op as u8 | flag(same_length, SAME_LENGTH) | flag(same_source, SAME_SOURCE);
        packed[1] = gap_width as u8 | (distance_width as u8) << 4;
        let mut length = 2;
        let mut put = |number: u64, width: usize| {
            packed[length..length + NUMBER].copy_from_slice(&number.to_le_bytes());
            length += width;
        };
        put(gap, gap_width);
        put(distance, distance_width);
        if !same_length {
            put(record.length.into(), 4);
        }
        if !same_source {
            let hint = record.hint;
            put(record.device.into(), 4);
            put(u32::from_le_bytes([hint.stream(), hint.temperature(), hint.file_type(), 0]).into(), 4);
        }
        self.bytes.extend_from_slice(&packed[..length]);
        self.last = *record;
        if self.bytes.len() + WINDOW > self.most_bytes {
            *self = Self { is_over: true, ..Self::new(0) };
        }
    }

    /// The bytes that they take.
    #[inline]
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// These bytes, for [`PackedRecords::of_bytes`].
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// The records, unless they took more bytes than allowed.
    pub fn finish(self) -> Option<PackedRecords> {
        (!self.is_over).then(|| PackedRecords::of_bytes(self.bytes))
    }
}

/// Records in memory: yields them in order. A clone shares the memory, and goes on from the same
/// record.
#[derive(Clone)]
pub struct PackedRecords {
    bytes: Arc<Vec<u8>>,
    at: usize,
    length: usize,
    last: Record,
}

impl PackedRecords {
    /// The records of a packer's bytes.
    pub(crate) fn of_bytes(mut bytes: Vec<u8>) -> Self {
        let length = bytes.len();
        bytes.extend([0; WINDOW]);
        bytes.shrink_to_fit();
        Self { bytes: Arc::new(bytes), at: 0, length, last: Record::BLANK }
    }

    /// The next record, where it is unpacked.
    #[inline]
    pub fn next_in_place(&mut self) -> Option<&Record> {
        if self.at == self.length {
            return None;
        }
        let window: &[u8; WINDOW] = self.bytes[self.at..].first_chunk().expect("as many bytes follow each record");
        let number = |from: usize, width: usize| {
            let bytes = window[from..from + NUMBER].try_into().expect("a slice of eight bytes");
            u64::from_le_bytes(bytes) & MASKS[width]
        };
        let (head, gap_width, distance_width) = (window[0], usize::from(window[1] & 0xf), usize::from(window[1] >> 4));
        let (gap, distance) = (number(2, gap_width), number(2 + gap_width, distance_width));
        self.at += 2 + gap_width + distance_width;
        let last = &mut self.last;
        last.time_ns = last.time_ns.wrapping_add(gap);
        last.op = HostOp::ALL[usize::from(head & OP)];
        last.offset = end(last).wrapping_add(unzigzag(distance));
        if head & SAME_LENGTH == 0 {
            self.last.length = self.next_u32();
        }
        if head & SAME_SOURCE == 0 {
            self.last.device = self.next_u32();
            let [stream, temperature, file_type, _] = self.next_u32().to_le_bytes();
            self.last.hint = Hint::new(stream, temperature, file_type);
        }
        Some(&self.last)
    }

    /// The number of four bytes that comes next.
    fn next_u32(&mut self) -> u32 {
        let bytes = self.bytes[self.at..self.at + 4].try_into().expect("a slice of four bytes");
        self.at += 4;
        u32::from_le_bytes(bytes)
    }
}

impl Iterator for PackedRecords {
    type Item = Record;

    #[inline]
    fn next(&mut self) -> Option<Record> {
        self.next_in_place().copied()
    }
}

impl std::fmt::Debug for PackedRecords {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PackedRecords").field("at", &self.at).field("length", &self.length).finish_non_exhaustive()
    }
}

/// One past the last byte, in the arithmetic of distances.
fn end(record: &Record) -> u64 {
    record.offset.wrapping_add(u64::from(record.length))
}

/// Small numbers for distances in both directions.
fn zigzag(distance: u64) -> u64 {
    distance << 1 ^ (distance.cast_signed() >> 63).cast_unsigned()
}

fn unzigzag(number: u64) -> u64 {
    number >> 1 ^ (number & 1).wrapping_neg()
}

/// Bytes that a number takes, none for 0.
fn width(number: u64) -> usize {
    NUMBER - number.leading_zeros() as usize / 8
}

#[cfg(test)]
mod tests {
    use random::SeededRng;

    use super::*;

    /// Records of which each field keeps its value, moves a little, or is anything.
    fn drawn(count: usize) -> Vec<Record> {
        let mut rng = SeededRng::new(7);
        let mut last = Record::BLANK;
        let mut any = move |last: u64| match rng.bits() >> 62 {
            0 => last,
            1 => last.wrapping_add(rng.bits() >> 48),
            2 => rng.bits() >> (rng.bits() >> 58),
            _ => rng.bits(),
        };
        let mut next = || {
            let hint = any(u64::from(last.hint.stream())).to_le_bytes();
            last = Record {
                time_ns: any(last.time_ns),
                op: HostOp::ALL[any(0) as usize % 4],
                offset: any(end(&last)),
                length: any(u64::from(last.length)) as u32,
                device: any(u64::from(last.device)) as u32,
                hint: Hint::new(hint[0], hint[1], hint[2]),
            };
            last
        };
        (0..count).map(|_| next()).collect()
    }

    fn packed(records: &[Record], most_bytes: usize) -> Option<PackedRecords> {
        let mut packer = RecordPacker::new(most_bytes);
        for record in records {
            packer.push(record);
        }
        packer.finish()
    }

    #[test]
    fn packed_records_are_those_that_went_in() {
        let records = drawn(20_000);
        let packed = packed(&records, usize::MAX).expect("there is no limit");
        assert_eq!(packed.clone().collect::<Vec<_>>(), records);
        assert_eq!(packed.collect::<Vec<_>>(), records);
    }

    #[test]
    fn a_sequential_request_takes_two_bytes() {
        let record = |offset| Record { offset, length: 4096, ..Record::BLANK };
        let packed = packed(&[record(0), record(4096), record(8192)], usize::MAX).expect("there is no limit");
        assert_eq!(packed.length, 6 + 2 + 2);
    }

    #[test]
    fn records_that_take_too_many_bytes_are_not_kept() {
        let records = drawn(100);
        let bytes = packed(&records, usize::MAX).expect("there is no limit").bytes.len();
        assert_eq!(packed(&records, bytes).expect("they fit").collect::<Vec<_>>(), records);
        assert!(packed(&records, bytes - 1).is_none());
    }
}
