//! Free blocks by temperature, as SAW's interpreter divides them: hot data get young blocks, cold
//! data old ones.
//!
//! The free blocks stand by erase count. The first half of them is the first group, half of the
//! rest the second, and so on to group T, which has as many as the group before it (Wang 2013
//! equation 7.12). Data of degree d get a block of group T - d: those of degree 0 the most worn
//! group, those of degree T - 1 the first, and so do outliers, of degree T.
//!
//! ```text
//!   free blocks, youngest first  0 1 2 3 4 5 6 7 | 8 9 10 11 | 12 13 | 14 | 15
//!   group, T = 5                        1             2          3     4    5
//!   degree                            5, 4            3          2     1    0
//! ```
//!
//! A hint says the degree plus one as its temperature, since 0 says nothing. What the host said
//! last of a type of file holds for all data of the type, so that a page that is moved long after
//! it was written has the temperature that its type has now.

use host::Hint;

use crate::api::parameter::{Kind, Parameter, Values};
use crate::api::wear::{AllocRequest, Order};

/// T of the thesis: groups of free blocks by wear, one for each degree.
pub const DEGREES: Parameter = Parameter {
    name: "degrees",
    kind: Kind::Integer { min: 1, max: 254 },
    default: "10",
    meaning: "T: groups of free blocks by wear when they are chosen by temperature, one for each degree from 0 to T - 1; hints above T + 1 count \
              as T + 1. Take the host's T.",
    source: "Wang 2013 7.5",
};

/// The order of the free blocks, where a policy's source leaves it open.
pub const FREE_BLOCKS: Parameter = Parameter {
    name: "free_blocks",
    kind: Kind::Choice { of: &["rested", "least_worn", "first_freed", "temperature"] },
    default: "rested",
    meaning: "Which free block is taken next: the least worn of those that rested, as dynamic does; \
              the least worn of all, maybe before its erase has ended; the one freed first, without \
              erase counts, which leaves wear to chance; or one of an age that suits the temperature \
              that the host hints at, as saw does.",
    source: "ftlkit; temperature: Wang 2013 7.5",
};

/// How much of the host's hints counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Knowledge {
    /// Their degree.
    Degrees,
    /// That they belong to a file; all files have half of T as their degree.
    Files,
    /// Their type alone: its degree is drawn.
    Drawn,
}

/// How free blocks are chosen.
#[derive(Clone, Debug)]
pub struct FreeBlocks {
    order: Order,
    temperatures: Option<Temperatures>,
}

impl FreeBlocks {
    /// What temperatures take in RAM: name and bytes.
    pub const TEMPERATURES: (&'static str, u64) = ("temperatures", 2 * 256);

    /// As [`FREE_BLOCKS`] and [`DEGREES`] ask for.
    pub fn from_values(values: &Values) -> Self {
        match values.word(FREE_BLOCKS.name) {
            "first_freed" => Self { order: Order::FirstFreed, temperatures: None },
            "least_worn" => Self { order: Order::LeastWorn, temperatures: None },
            "rested" => Self { order: Order::Rested, temperatures: None },
            _ => Self::by_temperature(values),
        }
    }

    /// By temperature, in as many groups as [`DEGREES`] asks for.
    pub fn by_temperature(values: &Values) -> Self {
        let temperatures = Temperatures::new(values.integer(DEGREES.name) as u8);
        Self { order: Order::LeastWorn, temperatures: Some(temperatures) }
    }

    /// The same with this use of hints.
    #[must_use]
    pub fn with_knowledge(mut self, knowledge: Knowledge) -> Self {
        if let Some(temperatures) = &mut self.temperatures {
            temperatures.knowledge = knowledge;
        }
        self
    }

    /// In which order they stand.
    pub fn order(&self) -> Order {
        self.order
    }

    /// Whether temperatures decide.
    pub fn uses_temperatures(&self) -> bool {
        self.temperatures.is_some()
    }

    /// The place of the block to be taken, of this many.
    pub fn place(&self, alloc: AllocRequest, free: usize) -> usize {
        self.temperatures.as_ref().map_or(0, |temperatures| temperatures.place(alloc.hint, free))
    }

    /// The host has said this of some data.
    pub fn on_hint(&mut self, hint: Hint) {
        if let Some(temperatures) = &mut self.temperatures {
            temperatures.on_hint(hint);
        }
    }

    /// What it keeps in RAM, for this many blocks: name and bytes.
    pub fn tables(&self, blocks: u32) -> impl Iterator<Item = (&'static str, u64)> {
        let erases = (self.order != Order::FirstFreed).then(|| ("erase counts", 4 * u64::from(blocks)));
        erases.into_iter().chain(self.temperatures_table())
    }

    /// What it keeps in RAM beside erase counts: name and bytes.
    pub fn temperatures_table(&self) -> Option<(&'static str, u64)> {
        self.uses_temperatures().then_some(Self::TEMPERATURES)
    }
}

/// The temperatures that the host said last, and the groups of free blocks.
#[derive(Clone, Debug)]
struct Temperatures {
    /// T of the thesis.
    degrees: u8,
    knowledge: Knowledge,
    /// By the number of the type of file; 0 where nothing was said.
    of_type: Box<[u8; 256]>,
    /// By stream, for pages of which tags keep that.
    of_stream: Box<[u8; 256]>,
}

impl Temperatures {
    fn new(degrees: u8) -> Self {
        Self { degrees, knowledge: Knowledge::Degrees, of_type: Box::new([0; 256]), of_stream: Box::new([0; 256]) }
    }

    fn on_hint(&mut self, hint: Hint) {
        if hint.temperature() > 0 {
            self.of_type[usize::from(hint.file_type())] = hint.temperature();
            self.of_stream[usize::from(hint.stream())] = hint.temperature();
        }
    }

    /// The degree of data: what is said of them, or was said last of their type or else of their
    /// stream; none if nothing was.
    fn degree(&self, hint: Hint) -> Option<u8> {
        let last = |table: &[u8; 256], number: u8| if number > 0 { table[usize::from(number)] } else { 0 };
        let temperatures =
            [hint.temperature(), last(&self.of_type, hint.file_type()), last(&self.of_stream, hint.stream())];
        let temperature = temperatures.into_iter().find(|&temperature| temperature > 0)?;
        Some(match self.knowledge {
            Knowledge::Degrees => (temperature - 1).min(self.degrees),
            Knowledge::Files => self.degrees / 2,
            Knowledge::Drawn => (random::mix(hint.file_type().into()) % (u64::from(self.degrees) + 1)) as u8,
        })
    }

    /// The first block of the group of free blocks; the least worn of all for data of which nothing
    /// is known.
    fn place(&self, hint: Hint, free: usize) -> usize {
        let Some(degree) = self.degree(hint) else { return 0 };
        let group = u32::from(self.degrees - degree).max(1);
        // Before group g stand 1 - 2^(1 - g) of the blocks; a group that is empty for want of
        // blocks shares the last.
        let from_here_on = free.checked_shr(group - 1).unwrap_or(0).max(1);
        free - from_here_on
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(temperature: u8) -> Hint {
        Hint::new(0, temperature, 0)
    }

    #[test]
    fn groups_halve_and_the_last_two_are_alike() {
        let temperatures = Temperatures::new(5);
        let places =
            |free: usize| (0..=5).rev().map(|degree| temperatures.place(of(degree + 1), free)).collect::<Vec<_>>();
        assert_eq!(places(16), [0, 0, 8, 12, 14, 15]);
        assert_eq!(places(1024), [0, 0, 512, 768, 896, 960]);
        assert_eq!(places(3), [0, 0, 2, 2, 2, 2]);
        assert_eq!(places(1), [0; 6]);
        assert_eq!(temperatures.place(of(200), 16), 0, "hotter than hot");
        assert_eq!(temperatures.place(Hint::NONE, 16), 0);
    }

    #[test]
    fn with_less_knowledge_files_are_alike_or_types_have_drawn_degrees_and_other_data_have_none() {
        let with = |knowledge| Temperatures { knowledge, ..Temperatures::new(10) };
        let [files, drawn] = [Knowledge::Files, Knowledge::Drawn].map(with);
        let degrees = |of: &Temperatures| (1..=20).map(|kind| of.degree(Hint::new(0, 3, kind))).collect::<Vec<_>>();
        assert_eq!(degrees(&files), [Some(5); 20]);
        let of_types = degrees(&drawn);
        assert!(of_types.iter().all(|degree| degree.is_some_and(|degree| degree <= 10)), "{of_types:?}");
        assert!(of_types.iter().any(|degree| *degree != of_types[0]), "{of_types:?}");
        assert_eq!((1..=10).map(|hot| drawn.degree(Hint::new(0, hot, 7))).collect::<Vec<_>>(), [of_types[6]; 10]);
        assert_eq!([files, drawn].map(|temperatures| temperatures.degree(Hint::NONE)), [None; 2]);
    }

    #[test]
    fn of_254_degrees_the_coldest_still_get_the_last_block() {
        let temperatures = Temperatures::new(254);
        assert_eq!((temperatures.place(of(1), 1000), temperatures.place(of(255), 1000)), (999, 0));
    }

    #[test]
    fn what_was_said_last_of_a_type_holds_for_its_old_data_and_else_what_was_said_of_the_stream() {
        let mut temperatures = Temperatures::new(10);
        let tag = Hint::new(0, 0, 7);
        assert_eq!(temperatures.degree(tag), None);
        temperatures.on_hint(Hint::new(3, 9, 7));
        assert_eq!(temperatures.degree(tag), Some(8));
        temperatures.on_hint(Hint::new(3, 1, 7));
        assert_eq!((temperatures.degree(tag), temperatures.degree(Hint::of_stream(3))), (Some(0), Some(0)));
        assert_eq!(temperatures.degree(Hint::new(3, 6, 7)), Some(5), "what the host says with the data comes first");
        temperatures.on_hint(tag);
        assert_eq!((temperatures.degree(tag), temperatures.degree(Hint::NONE)), (Some(0), None));
        temperatures.on_hint(of(5));
        assert_eq!(temperatures.degree(Hint::NONE), None, "of no type and no stream, so it holds for nothing else");
    }
}
