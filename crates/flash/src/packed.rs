//! Long arrays of optional numbers with no more bits each than the numbers need.
//!
//! The map of a device and the tags of its pages are most of what a simulation keeps, and a number
//! of one of 8 M pages has 23 bits: a word of 32 would waste a quarter of the memory, and of every
//! cache line that is brought in. Entries lie bit behind bit, so some lie across two cache lines.
//! They are read and changed through the eight bytes that begin with the entry's first one.

use crate::{long_array, prefetch};

/// Bytes that are read and written at once.
const WINDOW: usize = 8;

/// Optional numbers, by index.
///
/// An array is made for numbers below a bound. One that is not below it makes the whole array
/// wider, so it costs time and memory and is no error.
#[derive(Clone, Debug)]
pub struct PackedNumbers {
    /// Each number plus one, 0 for none, and a window after the last.
    bytes: Vec<u8>,
    len: usize,
    width: usize,
    mask: u64,
}

impl PackedNumbers {
    /// No number at any of `len` indices, with room for numbers below `bound`.
    pub fn none(len: usize, bound: u32) -> Self {
        Self::of_width(len, (u32::BITS - bound.leading_zeros()).max(1) as usize)
    }

    fn of_width(len: usize, width: usize) -> Self {
        let bytes = long_array(0, (len * width).div_ceil(8) + WINDOW);
        Self { bytes, len, width, mask: (1 << width) - 1 }
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

    /// The number at an index.
    #[inline]
    pub fn get(&self, index: usize) -> Option<u32> {
        let (byte, before) = self.place(index);
        ((self.window(byte) >> before & self.mask) as u32).checked_sub(1)
    }

    /// Changes the number at an index; returns what it was.
    #[inline]
    pub fn replace(&mut self, index: usize, number: Option<u32>) -> Option<u32> {
        let stored = number.map_or(0, |number| u64::from(number) + 1);
        if stored > self.mask {
            self.widen(stored);
        }
        let (byte, before) = self.place(index);
        let window = self.window(byte);
        let changed = window & !(self.mask << before) | stored << before;
        self.bytes[byte..byte + WINDOW].copy_from_slice(&changed.to_le_bytes());
        ((window >> before & self.mask) as u32).checked_sub(1)
    }

    /// Changes the number at an index.
    #[inline]
    pub fn set(&mut self, index: usize, number: Option<u32>) {
        self.replace(index, number);
    }

    /// Makes room for a number that is stored so.
    #[cold]
    #[inline(never)]
    fn widen(&mut self, stored: u64) {
        let mut wider = Self::of_width(self.len, (u64::BITS - stored.leading_zeros()) as usize);
        (0..self.len).for_each(|index| wider.set(index, self.get(index)));
        *self = wider;
    }

    /// Takes the numbers away at neighbouring indices.
    #[inline]
    pub fn clear(&mut self, first: usize, count: usize) {
        debug_assert!(first + count <= self.len, "there are no entries {first} + {count} of {}", self.len);
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
        let byte = index * self.width / 8;
        prefetch(&self.bytes, byte);
        prefetch(&self.bytes, byte + WINDOW - 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers that change among neighbours at every place in a byte.
    #[test]
    fn entries_of_every_width_are_those_of_a_plain_array() {
        for width in 1..=32 {
            let bound = u32::MAX >> (32 - width);
            let mut packed = PackedNumbers::none(67, bound);
            let mut plain = vec![None; 67];
            for step in 0..400_u32 {
                let index = step as usize * 29 % 67;
                let number = (step % 5 > 0).then(|| step.wrapping_mul(2_654_435_761) % bound.max(1));
                assert_eq!(packed.replace(index, number), std::mem::replace(&mut plain[index], number), "{width}");
                if step % 40 == 39 {
                    let (first, count) = (step as usize * 7 % 60, step as usize % 8);
                    packed.clear(first, count);
                    plain[first..first + count].fill(None);
                }
                assert!(packed.iter().eq(plain.iter().copied()), "{width} bits, step {step}");
            }
            assert_eq!(packed.width, width, "no number was too large");
        }
    }

    #[test]
    fn a_number_beyond_the_bound_makes_the_array_wider() {
        let mut packed = PackedNumbers::none(9, 5);
        (0..5).for_each(|number| packed.set(number as usize + 1, Some(number)));
        packed.set(8, Some(u32::MAX - 1));
        let all: Vec<_> = packed.iter().collect();
        assert_eq!(all, [None, Some(0), Some(1), Some(2), Some(3), Some(4), None, None, Some(u32::MAX - 1)]);
        assert!(PackedNumbers::none(0, 0).is_empty() && PackedNumbers::none(3, 0).get(2).is_none());
    }
}
