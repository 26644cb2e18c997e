//! Description of a part of a stack, available without building it.

use serde::Serialize;

use crate::api::parameter::Parameter;

/// What the registry knows of a part without building it.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Entry {
    /// Name in studies and on the command line.
    pub name: &'static str,
    /// How a mapping maps: `page`, `block`, `log-buffer`, `demand-paged`. Of other parts what kind
    /// they are.
    pub family: &'static str,
    /// The paper, and the section that defines it.
    pub source: &'static str,
    /// What others must know of it before they work over it.
    #[serde(skip)]
    pub capabilities: Capabilities,
    /// Memory that the program needs for it.
    #[serde(skip)]
    pub memory: Memory,
    /// The parameters that a stack's text may set.
    pub parameters: &'static [Parameter],
    /// The part's header, from which its docs page is made.
    #[serde(skip)]
    pub header: &'static str,
}

impl Entry {
    /// The header's text without comment marks.
    pub fn story(&self) -> String {
        self.header
            .lines()
            .map_while(|line| line.strip_prefix("//!"))
            .map(|line| line.strip_prefix(' ').unwrap_or(line))
            .collect::<Vec<_>>()
            .join("\n")
    }
}

/// What the other parts of a stack must know of a mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// The parameter that sizes the mapping's own write buffer; none for a mapping that has no
    /// write buffer.
    pub write_buffer: Option<&'static str>,
    /// Whether the mapping keeps each logical block in blocks of its own.
    pub keeps_logical_blocks: bool,
    /// Whether the mapping empties any block that it is told, and takes free blocks by the wear
    /// policy. One that does not goes without a wear policy.
    pub relocates_blocks: bool,
    /// Whether the mapping fills blocks up where the device exposes pages to power cuts.
    pub fills_blocks_up: bool,
}

impl Capabilities {
    /// No write buffer, and blocks that hold pages of many logical blocks. Also of parts that are
    /// no mappings.
    pub const NONE: Self =
        Self { write_buffer: None, keeps_logical_blocks: false, relocates_blocks: true, fills_blocks_up: false };

    /// A mapping that fills blocks up where a power cut would take pages of them.
    pub const FILLS_BLOCKS_UP: Self = Self { fills_blocks_up: true, ..Self::NONE };

    /// A mapping that keeps each logical block in blocks of its own.
    pub const LOGICAL_BLOCKS: Self = Self { keeps_logical_blocks: true, ..Self::NONE };

    /// A mapping with a write buffer, sized by this parameter.
    pub const fn write_buffer(parameter: &'static str) -> Self {
        Self { write_buffer: Some(parameter), ..Self::NONE }
    }
}

/// Memory that the program needs for a part while it simulates a device: bytes by the unit that
/// they grow with.
///
/// A study's memory is estimated from it before anything is allocated. The bytes were fitted to the
/// peak of the example `study` of sim, less 7 MB for the program, after a fill of 2 to 24 GiB of
/// 4 KiB pages, 4 and 64 per block: `/usr/bin/time -f %M`. A test of sim measures every part.
///
/// RAM of the device is not counted in itself: `ram` names the parameters that size it, and
/// `entry_bytes` and `data_bytes` are what its content costs the program.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Memory {
    /// Page numbers per logical page, packed by bits.
    pub page_numbers: f64,
    /// Further bytes per logical page.
    pub page_bytes: f64,
    /// Bytes per physical block.
    pub block_bytes: f64,
    /// The parameters that size the part's RAM for map entries and data pages, in bytes.
    pub ram: &'static [&'static str],
    /// Bytes per map entry that fits into this RAM.
    pub entry_bytes: f64,
    /// Bytes per data page that fits into this RAM.
    pub data_bytes: f64,
}

impl Memory {
    /// Nothing that grows with the device.
    pub const NONE: Self =
        Self { page_numbers: 0.0, page_bytes: 0.0, block_bytes: 0.0, ram: &[], entry_bytes: 0.0, data_bytes: 0.0 };

    /// A page map and its blocks' states and lists.
    pub const PAGE_MAP: Self = Self { page_numbers: 1.0, block_bytes: 92.0, ..Self::NONE };

    /// A page map with a stamp per page, for the order in which entries leave the cache.
    pub const CACHED_MAP: Self = Self { page_bytes: 4.0, ..Self::PAGE_MAP };

    /// A map of whole blocks.
    pub const BLOCK_MAP: Self = Self { block_bytes: 80.0, ..Self::NONE };

    /// A map of whole blocks, and the log's map of pages.
    pub const LOG_MAP: Self = Self { page_bytes: 4.0, block_bytes: 120.0, ..Self::NONE };

    /// Lists of this many bytes per physical block.
    pub const fn per_block(bytes: usize) -> Self {
        Self { block_bytes: bytes as f64, ..Self::NONE }
    }

    /// A write buffer whose pages leave one by one, in the order of a list.
    pub const PAGE_BUFFER: Self = Self { ram: &["ram"], data_bytes: 46.0, ..Self::NONE };

    /// A write buffer whose pages leave by blocks, so they need no links of their own.
    pub const BLOCK_BUFFER: Self = Self { data_bytes: 32.0, ..Self::PAGE_BUFFER };
}

/// What a part does in its stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PartKind {
    /// Says where logical pages lie. Each stack begins with one.
    Mapping,
    /// Says which free block is opened next, and which block is emptied.
    WearPolicy,
    /// Holds pages in RAM in front of the mapping.
    Buffer,
}

impl PartKind {
    /// All, in the order in which they stand in a stack.
    pub const ALL: [Self; 3] = [Self::Mapping, Self::WearPolicy, Self::Buffer];

    /// What messages call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Mapping => "mapping",
            Self::WearPolicy => "wear policy",
            Self::Buffer => "buffer",
        }
    }
}
