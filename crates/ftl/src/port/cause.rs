//! Why flash operations are done: the one place that knows what causes there are and what is true
//! of each.
//!
//! Counts, latency by class, the event engine, what responses waited for, the suite and the reports
//! all ask here. So a new cause is one entry of this table, and whatever lists causes has it: the
//! enumeration lists itself (`listed!`), each variant once with its facts. A variant without its
//! fact does not compile.

/// Defines an enumeration that lists itself: `COUNT`, `ALL` in the order of declaration, and one
/// fact a variant.
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

/// What kind of work a cause stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum WorkKind {
    /// Reading and programming the host's pages.
    Host,
    /// Reading and programming the map on the host's behalf.
    Mapping,
    /// Moving what blocks hold: to make room, or because a block fails. It is background work,
    /// which reads may overtake on devices that can.
    Moving,
    /// Coming back after a power cut, and what is written down for that.
    Recovery,
    /// Preparing the device before measurement.
    Preparation,
}

impl WorkKind {
    /// The name used in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Mapping => "mapping",
            Self::Moving => "moving",
            Self::Recovery => "recovery",
            Self::Preparation => "preparation",
        }
    }
}

/// What is true of a cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CauseFacts {
    /// The name used in results.
    pub name: &'static str,
    /// What a report calls it.
    pub words: &'static str,
    /// The kind of work.
    pub work: WorkKind,
    /// Whether only the shell around a scheme may charge it, and never a scheme.
    pub is_shells: bool,
}

impl CauseFacts {
    /// A cause that schemes charge.
    const fn of(name: &'static str, words: &'static str, work: WorkKind) -> Self {
        Self { name, words, work, is_shells: false }
    }

    /// A cause that shells charge.
    const fn of_shell(name: &'static str, words: &'static str, work: WorkKind) -> Self {
        Self { name, words, work, is_shells: true }
    }
}

listed! {
    /// Why an operation is done. The innermost cause in force counts.
    pub enum Cause,
    /// What is true of it.
    fn facts -> CauseFacts {
        /// The host's own page.
        Host => CauseFacts::of("host", "host pages", WorkKind::Host),
        /// Reading the rest of a page that the host writes in part.
        ReadModifyWrite => CauseFacts::of_shell("read_modify_write", "pages written in part", WorkKind::Host),
        /// Fetching and writing back mapping information on the host's behalf.
        Mapping => CauseFacts::of("mapping", "mapping pages", WorkKind::Mapping),
        /// Moving valid data out of blocks to be erased.
        Collection => CauseFacts::of("collection", "garbage collection", WorkKind::Moving),
        /// Moving mapping pages, or updating them, because data moved.
        MappingCollection => CauseFacts::of("mapping_collection", "map updates after a collection", WorkKind::Moving),
        /// Merging log blocks with data blocks, or rewriting a block to change one of its pages.
        Merge => CauseFacts::of("merge", "merges", WorkKind::Moving),
        /// Preparing the device before measurement.
        Precondition => CauseFacts::of_shell("precondition", "preparing the device", WorkKind::Preparation),
        /// Finding out after a power cut what the flash holds, and putting it in order.
        Recovery => CauseFacts::of("recovery", "recovery after power cuts", WorkKind::Recovery),
        /// Moving pages out of a block that fails.
        Relocation => CauseFacts::of("relocation", "emptying blocks that fail", WorkKind::Moving),
        /// Writing down what recovery would otherwise have to gather page by page.
        Checkpoint => CauseFacts::of("checkpoint", "summaries for recovery", WorkKind::Recovery),
        /// Emptying a block because somebody asked for it, as wear levelling does.
        WearLevelling => CauseFacts::of("wear_levelling", "wear levelling", WorkKind::Moving),
        /// Writing pages that the host has read to where they are found sooner, or gather with
        /// others.
        Caching => CauseFacts::of("caching", "pages cached on flash", WorkKind::Moving),
        /// Reading and writing again pages of a logical block that nobody wrote, so that a write
        /// buffer writes the block whole.
        Padding => CauseFacts::of("padding", "padding of blocks", WorkKind::Moving),
        /// Reading a page into RAM that the host is about to write there.
        Loading => CauseFacts::of("loading", "pages loaded to be written", WorkKind::Host),
        /// Emptying a block because what it holds decays, by reads or by time.
        Refresh => CauseFacts::of("refresh", "blocks refreshed", WorkKind::Moving),
        /// Moving valid data out of blocks in pSLC mode to native ones.
        Fold => CauseFacts::of("fold", "folding the pSLC cache", WorkKind::Moving),
        /// Filling up what is programmed at once, or a word line, so that a power cut takes nothing
        /// of it.
        UnitPadding => CauseFacts::of("unit_padding", "padding of program units", WorkKind::Moving),
    }
}

impl Cause {
    /// The name used in results.
    pub const fn name(self) -> &'static str {
        self.facts().name
    }

    /// The kind of work.
    pub const fn work(self) -> WorkKind {
        self.facts().work
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_are_told_apart_by_name_and_by_words_and_stand_at_their_index() {
        for (index, cause) in Cause::ALL.into_iter().enumerate() {
            assert_eq!(cause as usize, index);
            for other in &Cause::ALL[..index] {
                assert_ne!(cause.name(), other.name());
                assert_ne!(cause.facts().words, other.facts().words);
            }
            assert!(cause.meaning().ends_with('.'), "{}", cause.meaning());
        }
    }
}
