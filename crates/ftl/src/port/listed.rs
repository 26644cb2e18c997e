//! Enumerations that list themselves: each variant stands once, together with what is known of it.
//!
//! A variant without its fact does not compile, and none can be missing from a list that is drawn
//! or written by walking `ALL`.

/// Defines an enumeration with `COUNT`, `ALL` in the order of declaration, and one fact a variant.
macro_rules! listed {
    (
        $(#[$about:meta])*
        pub enum $Name:ident, $(#[$fact_about:meta])* fn $fact:ident -> $Fact:ty {
            $($(#[doc = $meaning:literal])+ $Variant:ident => $value:expr,)+
        }
    ) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum $Name {
            $($(#[doc = $meaning])+ $Variant,)+
        }

        impl $Name {
            /// All, in index order.
            pub const ALL: [Self; Self::COUNT] = [$(Self::$Variant,)+];

            /// How many there are.
            pub const COUNT: usize = [$(stringify!($Variant),)+].len();

            $(#[$fact_about])*
            pub const fn $fact(self) -> $Fact {
                match self {
                    $(Self::$Variant => $value,)+
                }
            }

            /// What it stands for: the sentence of its documentation.
            pub fn meaning(self) -> &'static str {
                match self {
                    $(Self::$Variant => concat!($($meaning),+).trim_start(),)+
                }
            }
        }
    };
}

pub(crate) use listed;
