//! Names that replay lines and settings have for a fixed set of values.

use std::str::FromStr;

/// An enumeration, and `ALL`, the list of its values with their names.
macro_rules! named {
    ($(#[$meta:meta])* pub enum $name:ident { $($(#[$doc:meta])* $value:ident = $text:literal,)+ }) => {
        $(#[$meta])*
        pub enum $name {
            $($(#[$doc])* $value,)+
        }

        impl $name {
            /// All, with their names.
            pub const ALL: [(Self, &'static str); [$($text),+].len()] = [$((Self::$value, $text)),+];
        }
    };
}
pub(crate) use named;

/// The name of a value; empty for one that has none.
pub(crate) fn name_of<T: PartialEq>(all: &[(T, &'static str)], value: &T) -> &'static str {
    all.iter().find(|(known, _)| known == value).map_or("", |(_, name)| name)
}

/// The value of a name.
pub(crate) fn value_of<T: Copy>(all: &[(T, &'static str)], name: &str) -> Option<T> {
    all.iter().find(|(_, known)| *known == name).map(|(value, _)| *value)
}

/// The names of all values, to choose from.
pub(crate) fn names<T>(all: &[(T, &'static str)]) -> String {
    all.iter().map(|(_, name)| *name).collect::<Vec<_>>().join(", ")
}

/// An operation's number and what happens there, as in `12:torn`.
pub(crate) fn at_operation<N: FromStr, T: Copy>(text: &str, all: &[(T, &'static str)]) -> Option<(N, T)> {
    let (operation, name) = text.split_once(':')?;
    Some((operation.parse().ok()?, value_of(all, name)?))
}

/// Values in the text form of replay lines.
pub(crate) fn list(values: &[impl ToString]) -> String {
    values.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}

/// Reads what [`list`] wrote.
pub(crate) fn parse_list<T: FromStr>(text: &str) -> Result<Vec<T>, T::Err> {
    text.split(',').map(str::parse).collect()
}
