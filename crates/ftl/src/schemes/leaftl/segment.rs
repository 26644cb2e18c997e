//! A learned segment: eight bytes that map some logical pages of a group to physical pages.
//!
//! ```text
//!   start 1 B | length 1 B | slope 2 B, half float | intercept 4 B     page = intercept + ⌈slope · offset⌉
//! ```
//!
//! Start and length are in offsets within the group. The last bit of the slope is the kind: 0 for
//! an *accurate* segment, whose members stand at a constant stride and are mapped exactly; 1 for an
//! *approximate* one, whose members a conflict-resolution buffer lists (`group.rs`). Rounding a
//! slope down to half precision keeps accurate segments exact at every stride, since no product of
//! slope and offset passes the whole number that it stands for.

/// Logical pages of a group, so that an offset takes a byte.
pub(super) const GROUP_PAGES: u32 = 256;

/// Bits of a half float behind its leading one, and the bias of its exponent.
const FRACTION_BITS: u32 = 10;
const BIAS: u32 = 15;

/// A half-precision slope, from 0 to just above 1, with the segment's kind in its last bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slope(u16);

impl Slope {
    /// That of a single page.
    pub(super) const FLAT: Self = Self(0);

    /// The steepest one that is worth trying, just above 1.
    const STEEPEST: u16 = (BIAS << FRACTION_BITS) as u16 | 1;

    /// The flattest one that is worth trying: a group rises by one page or more.
    const FLATTEST: u16 = ((BIAS - 8) << FRACTION_BITS) as u16 | 1;

    /// The largest slope of an accurate segment that is not above `1 / stride`.
    pub(super) fn of_stride(stride: u8) -> Self {
        Self(half_below(1.0 / f64::from(stride)) & !1)
    }

    /// The nearest slopes of an approximate segment, one at or below a number and one above.
    pub(super) fn around(number: f64) -> [Self; 2] {
        let below = half_below(number.clamp(1.0 / f64::from(GROUP_PAGES), 1.0));
        let below = if below & 1 == 1 { below } else { below - 1 };
        [below, below + 2].map(|bits| Self(bits.clamp(Self::FLATTEST, Self::STEEPEST)))
    }

    /// Whether it is that of an approximate segment.
    pub(super) fn is_approximate(self) -> bool {
        self.0 & 1 == 1
    }

    /// Significand and shift: the slope is `significand / 2^shift`.
    fn parts(self) -> (u32, u32) {
        let (exponent, fraction) = (u32::from(self.0) >> FRACTION_BITS, u32::from(self.0) & ((1 << FRACTION_BITS) - 1));
        ((1 << FRACTION_BITS) + fraction, BIAS + FRACTION_BITS - exponent)
    }

    /// Pages by which it rises from the group's begin to an offset, rounded up.
    #[inline]
    pub(super) fn rise(self, offset: u8) -> u32 {
        if self == Self::FLAT {
            return 0;
        }
        let (significand, shift) = self.parts();
        (significand * u32::from(offset)).div_ceil(1 << shift)
    }

    /// Offsets from one member of an accurate segment to the next.
    #[inline]
    fn stride(self) -> u32 {
        if self == Self::FLAT {
            return GROUP_PAGES;
        }
        let (significand, shift) = self.parts();
        (1 << shift) / significand
    }
}

/// The bits of the largest half float that is not above a number in ]0, 1].
fn half_below(number: f64) -> u16 {
    debug_assert!(number > 0.0 && number <= 1.0, "{number} is no slope");
    let bits = number.to_bits();
    let exponent = (bits >> 52) as u32 + BIAS - 1023;
    let fraction = (bits >> (52 - FRACTION_BITS)) as u32 & ((1 << FRACTION_BITS) - 1);
    (exponent << FRACTION_BITS | fraction) as u16
}

/// A learned segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Segment {
    /// Offset of its first member.
    pub(super) start: u8,
    /// Offset of its last member, from the first.
    pub(super) length: u8,
    /// Its slope, with its kind.
    pub(super) slope: Slope,
    /// The page at offset 0 of the group, in arithmetic that wraps around.
    pub(super) intercept: u32,
}

impl Segment {
    /// Bytes that it takes in RAM.
    pub(super) const BYTES: u64 = size_of::<Self>() as u64;

    /// Offset of its last member.
    #[inline]
    pub(super) fn end(self) -> u8 {
        self.start + self.length
    }

    /// Whether its members are listed elsewhere, and its pages are predictions.
    #[inline]
    pub(super) fn is_approximate(self) -> bool {
        self.slope.is_approximate()
    }

    /// Whether an offset lies between its first and last member.
    #[inline]
    pub(super) fn spans(self, offset: u8) -> bool {
        (self.start..=self.end()).contains(&offset)
    }

    /// Whether the spans of two segments meet.
    pub(super) fn overlaps(self, other: Self) -> bool {
        self.start <= other.end() && other.start <= self.end()
    }

    /// The page to which it maps an offset.
    #[inline]
    pub(super) fn page(self, offset: u8) -> u32 {
        self.intercept.wrapping_add(self.slope.rise(offset))
    }

    /// Whether an accurate segment has an offset at its stride.
    #[inline]
    pub(super) fn strides_over(self, offset: u8) -> bool {
        debug_assert!(!self.is_approximate(), "{self:?} has no stride");
        self.spans(offset) && u32::from(offset - self.start).is_multiple_of(self.slope.stride())
    }

    /// Offsets from one member of an accurate segment to the next.
    pub(super) fn stride(self) -> u8 {
        self.slope.stride().min(u32::from(u8::MAX)) as u8
    }

    /// As it lies in RAM.
    #[cfg(test)]
    pub(super) fn bytes(self) -> [u8; 8] {
        let ([s0, s1], [i0, i1, i2, i3]) = (self.slope.0.to_le_bytes(), self.intercept.to_le_bytes());
        [self.start, self.length, s0, s1, i0, i1, i2, i3]
    }

    /// The same segment from one member to another.
    #[must_use]
    pub(super) fn between(self, first: u8, last: u8) -> Self {
        debug_assert!(first <= last && self.spans(first) && self.spans(last), "{self:?} has no {first} to {last}");
        Self { start: first, length: last - first, ..self }
    }
}

const _: () = assert!(Segment::BYTES == 8, "a segment takes eight bytes");

#[cfg(test)]
mod tests {
    use super::*;

    /// A half float by its definition.
    fn number(slope: Slope) -> f64 {
        let (exponent, fraction) = (i32::from(slope.0 >> 10), f64::from(slope.0 & 1023));
        (1.0 + fraction / 1024.0) * 2.0_f64.powi(exponent - 15)
    }

    #[test]
    fn accurate_segments_are_exact_at_every_stride_and_start() {
        for stride in 1..=255_u8 {
            let slope = Slope::of_stride(stride);
            assert!(number(slope) <= 1.0 / f64::from(stride) && !slope.is_approximate(), "stride {stride}");
            for start in 0..=255_u8 {
                let members: Vec<_> = (start..=255).step_by(stride.into()).collect();
                let length = members[members.len() - 1] - start;
                let segment = Segment { start, length, slope, intercept: 7_u32.wrapping_sub(slope.rise(start)) };
                for (rank, &member) in members.iter().enumerate() {
                    assert_eq!(segment.page(member), 7 + rank as u32, "stride {stride} from {start}, at {member}");
                }
                let found: Vec<_> = (0..=255).filter(|&offset| segment.strides_over(offset)).collect();
                assert_eq!(found, members, "stride {stride} from {start}");
            }
        }
    }

    #[test]
    fn slopes_around_a_number_are_its_odd_neighbours_in_half_precision() {
        for i in 1..=1000 {
            let wanted = f64::from(i) / 1000.0;
            let [below, above] = Slope::around(wanted);
            assert!(below.is_approximate() && above.is_approximate());
            let clamped = wanted.max(1.0 / 256.0);
            assert!(number(below) <= clamped * 1.001 && number(above) >= clamped * 0.999, "{wanted}");
            assert!(number(above) - number(below) <= clamped / 250.0, "{wanted}");
        }
        assert_eq!(Slope::around(-3.0), Slope::around(0.0));
        assert_eq!(Slope::around(9.0)[1].0, Slope::STEEPEST);
    }

    #[test]
    fn a_rise_is_the_product_rounded_up() {
        for slope in (1..=1000).flat_map(|i| Slope::around(f64::from(i) / 1000.0)) {
            for offset in 0..=255 {
                let exact = number(slope) * f64::from(offset);
                assert_eq!(slope.rise(offset), exact.ceil() as u32, "{} at {offset}", number(slope));
            }
        }
    }
}
