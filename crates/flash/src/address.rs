//! Addresses as types, so that a logical page is never taken for a physical one.
//!
//! Each wraps the number plus one in a non-zero integer: `Option<Ppn>` then costs the four bytes of
//! the number itself, and the mapping tables of a 1 TiB device stay at four bytes an entry without
//! a sentinel in any interface. The largest number is therefore `u32::MAX - 1`;
//! [`Geometry`](crate::Geometry) refuses devices that would need more.

use std::fmt;
use std::num::NonZeroU32;

macro_rules! address {
    ($(#[$doc:meta])* $name:ident, $label:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(transparent)]
        pub struct $name(NonZeroU32);

        impl $name {
            /// The address with this number, 0 to `u32::MAX - 1`.
            #[inline]
            pub const fn new(number: u32) -> Self {
                match NonZeroU32::new(number.wrapping_add(1)) {
                    Some(stored) => Self(stored),
                    None => panic!(concat!($label, " numbers end at u32::MAX - 1")),
                }
            }

            /// The address of an array index; the array's length is bounded by the geometry.
            #[inline]
            pub const fn at(index: usize) -> Self {
                Self::new(index as u32)
            }

            /// The number, counted from 0.
            #[inline]
            pub const fn get(self) -> u32 {
                self.0.get() - 1
            }

            /// The number as an array index.
            #[inline]
            pub const fn index(self) -> usize {
                self.get() as usize
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($label, " {}"), self.get())
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }
    };
}

address!(
    /// Logical page number: what the host addresses.
    Lpn,
    "LPN"
);
address!(
    /// Physical page number: block number × pages per block + page offset.
    Ppn,
    "PPN"
);
address!(
    /// Logical block number: logical page number ÷ pages per block.
    Lbn,
    "LBN"
);
address!(
    /// Physical block number. Blocks of one die are neighbours; see [`Geometry`](crate::Geometry)
    /// for the order.
    Pbn,
    "PBN"
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_optional_address_costs_no_more_than_its_number() {
        assert_eq!(size_of::<Option<Ppn>>(), 4);
        assert_eq!(Ppn::new(0).get(), 0);
        assert_eq!(Lpn::new(u32::MAX - 1).get(), u32::MAX - 1);
        assert_eq!(format!("{:?} {}", Pbn::new(7), Lbn::at(3)), "PBN 7 LBN 3");
    }
}
