//! The flash operations of a window one by one, with all that it takes to follow what each page
//! holds.

use schemars::JsonSchema;
use serde::Serialize;

/// The requests that begin in a window of virtual time, their flash operations in the order of
/// issue, and what the flash held before the first of them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct FlashTraceFacts {
    /// Begin of the window.
    pub from_ns: u64,
    /// Its end: everything that was issued before it is here.
    pub to_ns: u64,
    /// The end that was asked for; later than `to_ns` where the window held too much.
    pub requested_to_ns: u64,
    /// Flash operations, and requests, that a trace holds at most.
    pub limit: u64,
    /// What the flash held when the window began.
    pub start: StoredPages,
    /// The requests, in the order in which they began.
    pub requests: TracedRequests,
    /// The flash operations, in the order of issue.
    pub operations: TracedOperations,
    /// What was counted between them.
    pub notes: Vec<TracedNote>,
}

/// What the pages of a device hold; those that are not named are erased.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct StoredPages {
    /// Programmed pages, counted over the whole device, in order.
    pub page: Vec<u32>,
    /// What each is for: `data`, `collected`, `sequential_log`, `random_log`, `translation`,
    /// `trimmed`, `lost` or `summary`.
    pub role: Vec<&'static str>,
    /// Its logical page, or the number of its translation page.
    pub logical: Vec<u32>,
    /// Whether it holds the newest version of that on flash, and the host has not trimmed it.
    pub is_valid: Vec<bool>,
    /// Pages that hold nothing and cannot be programmed before the next erase.
    pub unusable: Vec<u32>,
    /// Blocks that are bad.
    pub bad_blocks: Vec<u32>,
}

/// Host requests; one element a request.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct TracedRequests {
    /// Its number in the workload, counted from 1.
    pub number: Vec<u64>,
    /// `read`, `write`, `trim` or `flush`.
    pub op: Vec<&'static str>,
    /// When it began.
    pub begin_ns: Vec<u64>,
    /// When its last page was done.
    pub end_ns: Vec<u64>,
    /// Its logical pages: (first, how many) of each stretch of neighbours.
    pub extents: Vec<Vec<(u32, u32)>>,
    /// How many of the operations were issued before it.
    pub operations_before: Vec<u64>,
}

/// Flash operations; one element an operation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct TracedOperations {
    /// The number of the request that it was issued for; null for work in idle time.
    pub request: Vec<Option<u64>>,
    /// `read`, `program` or `erase`.
    pub op: Vec<&'static str>,
    /// Why it was done.
    pub cause: Vec<&'static str>,
    /// Its die, counted over the whole device.
    pub die: Vec<u32>,
    /// Its block, counted over the whole device.
    pub block: Vec<u32>,
    /// Its page, counted within the block; null for an erase.
    pub page: Vec<Option<u32>>,
    /// What a program writes: a role as in `start`; null for others, and for one that failed.
    pub role: Vec<Option<&'static str>>,
    /// The logical page, or translation page, that a program writes; null for others.
    pub logical: Vec<Option<u32>>,
    /// Whether it programs what another page holds.
    pub copies: Vec<bool>,
    /// Whether a program or an erase failed.
    pub has_failed: Vec<bool>,
    /// Which stretch of work that the host does not wait for it belongs to; 0 for none.
    pub background: Vec<u32>,
    /// When its die took it up.
    pub start_ns: Vec<u64>,
    /// When it was done.
    pub end_ns: Vec<u64>,
}

/// Something that was counted besides flash operations.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TracedNote {
    /// The number of the request during which it was counted; null for idle time.
    pub request: Option<u64>,
    /// How many of the operations had been issued before.
    pub operations_before: u64,
    /// Its name, as in `notes`.
    pub name: &'static str,
    /// How often it was counted.
    pub count: u64,
}
