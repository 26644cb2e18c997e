//! What is known of a part of a stack without building it.

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
