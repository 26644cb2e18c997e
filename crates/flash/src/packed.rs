//! Long arrays of optional numbers with no more bits each than the numbers need.
//!
//! The map of a device and the tags of its pages are most of what a simulation keeps, and a number
//! of one of 8 M pages has 23 bits: a word of 32 would waste a quarter of the memory, and of every
//! cache line that is brought in. Entries lie bit behind bit, so some lie across two cache lines.
//! They are read and changed through the eight bytes that begin with the entry's first one.
//!
//! A device has 2^n pages more often than not, and with the entry for no page there would be one
//! too many for n bits. So a few numbers that are too large lie apart.

use std::collections::BTreeMap;

use crate::{long_array, prefetch};

/// Bytes that are read and written at once.
const WINDOW: usize = 8;

/// Optional numbers, by index.
///
/// An array is made for numbers below a bound. Many that are not below it make the whole array
/// wider, so they cost time and memory and are no error.
#[derive(Clone, Debug)]
pub struct PackedNumbers {
    /// Each number plus one, 0 for none, all ones for one that lies apart; and a window after the
    /// last.
    bytes: Vec<u8>,
    len: usize,
    width: usize,
    mask: u64,
    /// Numbers for which the entries have no room, by index.
    apart: BTreeMap<usize, u32>,
}

/// The most numbers that lie apart: finding one takes longer.
const MOST_APART: usize = 16;

impl PackedNumbers {
    /// No number at any of `len` indices, with room for numbers below `bound`.
    pub fn none(len: usize, bound: u32) -> Self {
        Self::of_width(len, (u32::BITS - bound.saturating_sub(1).leading_zeros()).max(1) as usize)
    }

    fn of_width(len: usize, width: usize) -> Self {
        let bytes = long_array(0, (len * width).div_ceil(8) + WINDOW);
        Self { bytes, len, width, mask: (1 << width) - 1, apart: BTreeMap::new() }
    }

    /// Indices of the array.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no index at all.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The byte at which an entry's window begins, and the bits of other entries before it there.
    #[inline]
    fn place(&self, index: usize) -> (usize, usize) {
        debug_assert!(index < self.len, "there is no entry {index} of {}", self.len);
        let bit = index * self.width;
        (bit / 8, bit % 8)
    }

    #[inline]
    fn window(&self, byte: usize) -> u64 {
        let mut window = [0; WINDOW];
        window.copy_from_slice(&self.bytes[byte..byte + WINDOW]);
        u64::from_le_bytes(window)
    }

    #[inline]
    fn set_window(&mut self, byte: usize, window: u64) {
        self.bytes[byte..byte + WINDOW].copy_from_slice(&window.to_le_bytes());
    }

    /// The number that an entry stands for.
    #[inline]
    fn number(&self, index: usize, stored: u64) -> Option<u32> {
        if stored == self.mask { self.number_apart(index) } else { (stored as u32).checked_sub(1) }
    }

    #[cold]
    #[inline(never)]
    fn number_apart(&self, index: usize) -> Option<u32> {
        self.apart.get(&index).copied()
    }

    /// The number at an index.
    #[inline]
    pub fn get(&self, index: usize) -> Option<u32> {
        let (byte, before) = self.place(index);
        self.number(index, self.window(byte) >> before & self.mask)
    }

    /// Changes the number at an index; returns what it was.
    #[inline]
    pub fn replace(&mut self, index: usize, number: Option<u32>) -> Option<u32> {
        let stored = number.map_or(0, |number| u64::from(number) + 1);
        let (byte, before) = self.place(index);
        let window = self.window(byte);
        let old = window >> before & self.mask;
        if stored >= self.mask || old == self.mask {
            return self.replace_apart(index, number);
        }
        self.set_window(byte, window & !(self.mask << before) | stored << before);
        (old as u32).checked_sub(1)
    }

    /// The same where the old number or the new one lies apart.
    #[cold]
    #[inline(never)]
    fn replace_apart(&mut self, index: usize, number: Option<u32>) -> Option<u32> {
        let old = self.get(index);
        self.apart.remove(&index);
        let mut stored = number.map_or(0, |number| u64::from(number) + 1);
        if stored >= self.mask {
            if self.apart.len() == MOST_APART && self.width < u32::BITS as usize {
                self.widen();
                self.set(index, number);
                return old;
            }
            self.apart.extend(number.map(|number| (index, number)));
            stored = self.mask;
        }
        let (byte, before) = self.place(index);
        self.set_window(byte, self.window(byte) & !(self.mask << before) | stored << before);
        old
    }

    /// Puts a number to an index where there is none.
    #[inline]
    pub fn put(&mut self, index: usize, number: u32) {
        debug_assert!(self.get(index).is_none(), "entry {index} is {:?} already", self.get(index));
        let stored = u64::from(number) + 1;
        if stored >= self.mask {
            self.replace_apart(index, Some(number));
            return;
        }
        let (byte, before) = self.place(index);
        self.set_window(byte, self.window(byte) | stored << before);
    }

    /// Copies numbers to neighbouring empty indices from `to` on, and fills them in. Stops at the
    /// first index without a number, or with one that lies apart; returns how many were copied.
    #[inline]
    pub fn copy(&mut self, from: impl Iterator<Item = usize>, to: usize, numbers: &mut [u32]) -> usize {
        let mut copied = 0;
        for (number, index) in numbers.iter_mut().zip(from) {
            let (byte, before) = self.place(index);
            let stored = self.window(byte) >> before & self.mask;
            if stored == 0 || stored == self.mask {
                break;
            }
            (*number, copied) = (stored as u32 - 1, copied + 1);
        }
        self.put_run(to, &numbers[..copied]);
        copied
    }

    /// Puts numbers that do not lie apart to neighbouring empty indices. Each byte is written once,
    /// since a window that overlaps the last one written would make the processor wait.
    fn put_run(&mut self, first: usize, numbers: &[u32]) {
        debug_assert!(numbers.iter().all(|&number| u64::from(number) + 1 < self.mask), "a number lies apart");
        let (mut byte, mut filled) = self.place(first);
        let mut bits = u64::from(self.bytes[byte]);
        for &number in numbers {
            bits |= (u64::from(number) + 1) << filled;
            filled += self.width;
            if filled >= 32 {
                self.bytes[byte..byte + 4].copy_from_slice(&(bits as u32).to_le_bytes());
                (byte, bits, filled) = (byte + 4, bits >> 32, filled - 32);
            }
        }
        self.set_window(byte, self.window(byte) | bits);
    }

    /// Changes the number at an index.
    #[inline]
    pub fn set(&mut self, index: usize, number: Option<u32>) {
        self.replace(index, number);
    }

    /// Makes the entries one bit wider.
    fn widen(&mut self) {
        let mut wider = Self::of_width(self.len, self.width + 1);
        (0..self.len).for_each(|index| wider.set(index, self.get(index)));
        *self = wider;
    }

    /// Takes the numbers away at neighbouring indices.
    #[inline]
    pub fn clear(&mut self, first: usize, count: usize) {
        debug_assert!(first + count <= self.len, "there are no entries {first} + {count} of {}", self.len);
        if !self.apart.is_empty() {
            self.apart.retain(|&index, _| index < first || index >= first + count);
        }
        let (begin, end) = (first * self.width, (first + count) * self.width);
        // Bits of the first and of the last byte that are other entries'.
        let (before, after) = (!(u8::MAX << (begin % 8)), u8::MAX << (end % 8));
        if begin / 8 == end / 8 {
            self.bytes[begin / 8] &= before | after;
            return;
        }
        self.bytes[begin / 8] &= before;
        self.bytes[begin / 8 + 1..end / 8].fill(0);
        self.bytes[end / 8] &= after;
    }

    /// All entries, in order.
    pub fn iter(&self) -> impl Iterator<Item = Option<u32>> + '_ {
        (0..self.len).map(|index| self.get(index))
    }

    /// Asks for the memory of an entry. An index past the end is ignored.
    #[inline]
    pub fn prefetch(&self, index: usize) {
        prefetch(&self.bytes, index * self.width / 8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Changes entries among neighbours at every place in a byte, to numbers below `bound` and to
    /// every tenth time the highest of all.
    fn agrees_with_a_plain_array(mut packed: PackedNumbers, bound: u32) {
        let len = packed.len();
        let mut plain = vec![None; len];
        for step in 0..600_u32 {
            let index = step as usize * 29 % len;
            let number = (step % 5 > 0).then(|| step.wrapping_mul(2_654_435_761) % bound);
            let number = if step % 10 == 9 { Some(bound - 1) } else { number };
            match (plain[index], number) {
                (None, Some(number)) => packed.put(index, number),
                (before, _) => assert_eq!(packed.replace(index, number), before, "step {step}"),
            }
            plain[index] = number;
            if step % 40 == 39 {
                let (first, count) = (step as usize * 7 % (len - 8), step as usize % 8);
                packed.clear(first, count);
                plain[first..first + count].fill(None);
            }
            assert!(packed.iter().eq(plain.iter().copied()), "{} bits, step {step}", packed.width);
        }
    }

    #[test]
    fn entries_of_every_width_are_those_of_a_plain_array() {
        for width in 1..=32 {
            let bound = u32::MAX >> (32 - width);
            let packed = PackedNumbers::none(67, bound);
            assert!((1..=width).contains(&packed.width), "{} bits for {bound} numbers", packed.width);
            agrees_with_a_plain_array(packed, bound);
        }
    }

    #[test]
    fn numbers_copied_in_a_run_are_those_put_one_by_one() {
        for (width, gap) in (1..=32).flat_map(|width| (0..9).map(move |gap| (width, gap))) {
            let bound = u32::MAX >> (32 - width);
            let mut single = PackedNumbers::none(140, bound);
            let numbers: Vec<_> = (0..60_u32).map(|i| i.wrapping_mul(2_654_435_761) % bound).collect();
            (0..).zip(&numbers).for_each(|(index, &number)| single.put(index, number));
            let mut run = single.clone();
            let mut copied = [0; 61];
            let count = run.copy((0..60).rev().chain([139]), 60 + gap, &mut copied);
            let is_inside = |number: &&u32| u64::from(**number) + 1 < single.mask;
            let expected: Vec<_> = numbers.iter().rev().take_while(is_inside).copied().collect();
            assert_eq!(&copied[..count], expected, "{width} bits");
            (60 + gap..).zip(expected).for_each(|(index, number)| single.put(index, number));
            assert!(run.iter().eq(single.iter()), "{width} bits to {gap} behind them");
        }
    }

    #[test]
    fn numbers_that_are_too_large_lie_apart_until_the_array_is_wider() {
        let mut packed = PackedNumbers::none(40, 8);
        (0..8).for_each(|number| packed.set(number as usize, Some(number)));
        assert_eq!((packed.width, packed.apart.len()), (3, 2), "of 8 numbers and none, 3 bits have room for 7");
        (8..8 + MOST_APART as u32 - 2).for_each(|number| packed.set(number as usize, Some(number)));
        assert_eq!((packed.width, packed.apart.len()), (3, MOST_APART));
        packed.set(39, Some(u32::MAX - 1));
        assert!(packed.width > 3 && packed.apart.len() < MOST_APART);
        assert!((0..8 + MOST_APART as u32 - 2).all(|number| packed.get(number as usize) == Some(number)));
        assert_eq!((packed.get(38), packed.replace(39, None), packed.get(39)), (None, Some(u32::MAX - 1), None));
        assert!(PackedNumbers::none(0, 0).is_empty() && PackedNumbers::none(3, 0).get(2).is_none());
    }

    #[test]
    fn an_array_that_was_made_too_narrow_is_as_a_plain_one() {
        for bound in [300, 70_000, u32::MAX] {
            agrees_with_a_plain_array(PackedNumbers::none(67, 3), bound);
        }
    }
}
