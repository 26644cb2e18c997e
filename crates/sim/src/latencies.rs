//! What a device's operations take, as a study says it.
//!
//! Reads and programs may take a time for each type of page of a cell ([`CellType`]), or one for
//! all.

use std::fmt;

use flash::{CellType, PageType};
use serde::de::{self, Deserialize, Deserializer, SeqAccess, Visitor};
use serde::{Deserialize as DeserializeDerive, Serialize, Serializer};

/// What operations take, in nanoseconds, each at most [`Latencies::MAX_NS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, DeserializeDerive)]
#[serde(deny_unknown_fields)]
pub struct Latencies {
    /// What the cells are, and so of which type each page of a block is. Left out for SLC.
    #[serde(default, skip_serializing_if = "is_slc")]
    pub cell: CellType,
    /// Sensing a page (tR): one time, or one for each type of page.
    pub read_ns: PageTimes,
    /// Programming a page (tPROG): one time, or one for each type of page.
    pub program_ns: PageTimes,
    /// Erasing a block (tBERS).
    pub erase_ns: u64,
    /// Moving one page over the channel, command included.
    pub transfer_ns: u64,
    /// What pages of blocks in pSLC mode take, if it is said. Left out where it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pslc: Option<PslcTimes>,
}

/// What a page of a block in pSLC mode takes, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, DeserializeDerive)]
#[serde(deny_unknown_fields)]
pub struct PslcTimes {
    /// Sensing it.
    pub read_ns: u64,
    /// Programming it.
    pub program_ns: u64,
}

impl Latencies {
    /// One minute: far above any flash, far below what could overflow a 64-bit clock within a run.
    pub const MAX_NS: u64 = 60_000_000_000;

    /// Refuses what takes longer than that, as a file may tell it.
    pub fn check(&self) -> Result<(), String> {
        let Self { read_ns, program_ns, erase_ns, transfer_ns, pslc, .. } = self;
        let of_pslc = pslc.map_or([0; 2], |PslcTimes { read_ns, program_ns }| [read_ns, program_ns]);
        let times = read_ns.given().iter().chain(program_ns.given()).chain([erase_ns, transfer_ns]).chain(&of_pslc);
        let (longest, most) = (times.copied().max().unwrap_or(0), Self::MAX_NS);
        if longest > most {
            return Err(format!("a flash operation takes {longest} ns, and at most {most} ns are possible"));
        }
        Ok(())
    }

    /// Of cells with one bit: reads, programs, erases and transfers.
    pub const fn of_slc([read_ns, program_ns, erase_ns, transfer_ns]: [u64; 4]) -> Self {
        let [read_ns, program_ns] = [PageTimes::one(read_ns), PageTimes::one(program_ns)];
        Self { cell: CellType::Slc, read_ns, program_ns, erase_ns, transfer_ns, pslc: None }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
fn is_slc(cell: &CellType) -> bool {
    *cell == CellType::Slc
}

/// What something takes on a page, by its type, in nanoseconds: a number in JSON, or a list from
/// the lower page to the upper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageTimes {
    /// By type; the last of those that were given stands for all behind it.
    ns: [u64; CellType::MOST_BITS],
    /// How many were given.
    given: u8,
}

impl PageTimes {
    /// The same for every page.
    pub const fn one(ns: u64) -> Self {
        Self { ns: [ns; CellType::MOST_BITS], given: 1 }
    }

    /// A time for each type of page, from the lower page to the upper; none unless there are 1 to
    /// [`CellType::MOST_BITS`].
    pub const fn by_type(times_ns: &[u64]) -> Option<Self> {
        let (ns, given) = match *times_ns {
            [all] => ([all; CellType::MOST_BITS], 1),
            [lower, upper] => ([lower, upper, upper, upper], 2),
            [lower, centre, upper] => ([lower, centre, upper, upper], 3),
            [lower, lower_centre, upper_centre, upper] => ([lower, lower_centre, upper_centre, upper], 4),
            _ => return None,
        };
        Some(Self { ns, given })
    }

    /// What was given: one time, or one for each type of page.
    pub fn given(&self) -> &[u64] {
        &self.ns[..usize::from(self.given)]
    }

    /// What it takes on a page of a type.
    pub const fn of(&self, page_type: PageType) -> u64 {
        self.at(page_type.index())
    }

    /// The same by the number of the type.
    #[inline]
    pub(crate) const fn at(&self, page_type: usize) -> u64 {
        self.ns[page_type]
    }
}

impl Serialize for PageTimes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.given() {
            [ns] => serializer.serialize_u64(*ns),
            given => serializer.collect_seq(given),
        }
    }
}

struct PageTimesVisitor;

impl<'de> Visitor<'de> for PageTimesVisitor {
    type Value = PageTimes;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "nanoseconds, or a list of 1 to {} from the lower page to the upper", CellType::MOST_BITS)
    }

    fn visit_u64<E: de::Error>(self, ns: u64) -> Result<PageTimes, E> {
        Ok(PageTimes::one(ns))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<PageTimes, A::Error> {
        let mut times = Vec::new();
        while let Some(ns) = list.next_element()? {
            times.push(ns);
        }
        PageTimes::by_type(&times).ok_or_else(|| de::Error::invalid_length(times.len(), &self))
    }
}

impl<'de> Deserialize<'de> for PageTimes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(PageTimesVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latencies_are_written_as_before_unless_page_types_matter() {
        let plain = r#"{"read_ns":25,"program_ns":200,"erase_ns":1500,"transfer_ns":100}"#;
        let latencies: Latencies = serde_json::from_str(plain).expect("latencies");
        assert_eq!((latencies.cell, latencies.read_ns), (CellType::Slc, PageTimes::one(25)));
        assert_eq!(serde_json::to_string(&latencies).expect("text"), plain);
        let typed = r#"{"cell":"mlc","read_ns":[48,64],"program_ns":200,"erase_ns":1500,"transfer_ns":100}"#;
        let latencies: Latencies = serde_json::from_str(typed).expect("latencies");
        assert_eq!(latencies.read_ns.given(), [48, 64]);
        assert_eq!(serde_json::to_string(&latencies).expect("text"), typed);
    }

    #[test]
    fn more_times_than_any_cell_has_pages_are_refused() {
        for list in ["[]", "[1,2,3,4,5]"] {
            let error = serde_json::from_str::<PageTimes>(list).expect_err(list).to_string();
            assert!(error.contains("a list of 1 to 4"), "{error}");
        }
    }
}
