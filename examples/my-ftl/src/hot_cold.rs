//! # Hot and cold: page mapping that keeps what is rewritten soon apart
//!
//! ## Idea
//! A block whose pages all die soon costs garbage collection nothing. So pages that were written
//! not long ago, and will be again, share blocks, and the others share other blocks.
//!
//! ```text
//!   write ──┬── rewritten within the window ── hot blocks
//!           └── all else ───────────────────── cold blocks      collected pages: their own blocks
//! ```
//!
//! ## Source
//! A template, nobody's paper.
//!
//! ## State
//! The number of the last write of each logical page, eight bytes each, beside the map of the
//! engine. A power cut forgets it: everything is cold at first.

use ftlkit::flash::Lpn;
use ftlkit::ftl::api::wear::Purpose;
use ftlkit::ftl::engines::page_map::policy::{self, PageMapScheme, StreamPolicy};
use ftlkit::ftl::engines::page_map::space::Stream;
use ftlkit::ftl::{Capabilities, ConfigError, Entry, Kind, Layout, Memory, Parameter, Request, Values, joined};

const HOT: Stream = 0;
const COLD: Stream = 1;
const COLLECTED: Stream = 2;

const SOON: Parameter = Parameter {
    name: "soon",
    kind: Kind::Ratio { min: 0.0, max: 100.0 },
    default: "0.5",
    meaning: "A page is hot if it is rewritten within this many writes per logical page; at 0 none is.",
    source: "this template",
};

/// When each page was written last, counted in writes.
pub(crate) struct HotCold {
    last: Vec<u64>,
    writes: u64,
    window: u64,
}

impl PageMapScheme for HotCold {
    const ENTRY: Entry = Entry {
        name: "hot-cold",
        family: "page",
        source: "this template",
        capabilities: Capabilities::NONE,
        memory: Memory { page_bytes: 8.0, ..Memory::PAGE_MAP },
        parameters: &joined::<11>(&[&policy::PARAMETERS, &[SOON]]),
        header: include_str!("hot_cold.rs"),
    };

    type Policy = Self;

    fn policy(layout: &Layout, values: &Values) -> Result<Self, ConfigError> {
        let window = values.ratio("soon") * f64::from(layout.logical_pages);
        Ok(Self { last: vec![0; layout.logical_pages as usize], writes: 0, window: window as u64 })
    }
}

impl StreamPolicy for HotCold {
    fn streams(&self) -> &'static [Purpose] {
        &[Purpose::Data, Purpose::Data, Purpose::Collected]
    }

    fn write_stream(&mut self, _request: &Request, lpn: Lpn) -> Stream {
        self.writes += 1;
        let before = std::mem::replace(&mut self.last[lpn.index()], self.writes);
        let is_hot = before > 0 && self.writes - before <= self.window;
        if is_hot { HOT } else { COLD }
    }

    fn collected_stream(&self, _from: Stream) -> Stream {
        COLLECTED
    }

    fn tables(&self) -> Vec<(&'static str, u64)> {
        vec![("last writes", 8 * self.last.len() as u64)]
    }
}
