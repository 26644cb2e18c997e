//! What makes one log-buffer scheme differ from another: whose pages share a log block, which block
//! leaves, who gets a second chance.
//!
//! The engine (`machine.rs`) asks [`LogPolicy::place`] where a page goes. If that is a new block,
//! it asks [`LogPolicy::victim`] for a block that leaves first, and then where the page goes now.
//! Every block that is opened or leaves is told to the policy, so that it can keep its queues.
//!
//! ```text
//!   place ─▶ In(slot) ───────────────▶ append ─▶ on_appended
//!     ▲ └──▶ New(group) ─▶ victim? ─▶ merge ─▶ on_left ─┐
//!     │                       └ none ─▶ on_opened ──────┤
//!     └─────────────────────────────────────────────────┘
//! ```
//!
//! A trimmed page must not come back from an older copy in the log (`docs/correctness.md`). Where
//! log blocks leave in the order in which they came and one of them may take any page, a page that
//! says so goes to the youngest ([`LogPolicy::place_of_trims`]): when it leaves, no older copy is
//! left. Elsewhere a flush merges every log block with a copy of a trimmed page.

use flash::{Lbn, Lpn};
use host::Hint;

use crate::api::entry::Entry;
use crate::api::layout::Layout;
use crate::api::parameter::{Kind, Parameter, Values};
use crate::api::report::Gauge;
use crate::api::request::Request;
use crate::engines::log_buffer::space::{LogCounting, LogSpace, Slot};
use crate::port::error::ConfigError;

/// A log-buffer scheme: its registry entry, and the policy that its parameters ask for.
///
/// # Example
///
/// `bast` with two logical blocks to a set of log blocks, of which each set has one:
///
/// ```
/// # use ftlkit_ftl as ftl;
/// use ftl::engines::log_buffer::groups::LogGroups;
/// use ftl::engines::log_buffer::machine::LogBuffer;
/// use ftl::engines::log_buffer::policy::{LogNeeds, LogScheme, log_blocks};
/// use ftl::engines::log_buffer::sets::LogSets;
/// use ftl::schemes::bast::Bast;
/// use ftl::{ConfigError, Entry, Layout, Scheme, Values};
///
/// struct Pairs;
///
/// impl LogScheme for Pairs {
///     const ENTRY: Entry = Entry { name: "pairs", ..<LogBuffer<Bast> as Scheme>::ENTRY };
///
///     type Policy = LogSets;
///
///     fn needs(layout: &Layout, values: &Values) -> Result<LogNeeds, ConfigError> {
///         let log_blocks = log_blocks("pairs", layout, values, 1)?;
///         Ok(LogNeeds { log_blocks, ..LogNeeds::default() })
///     }
///
///     fn policy(layout: &Layout, _: &Values, log_blocks: u32) -> LogSets {
///         LogSets::new(LogGroups::new(layout, 2), 1, log_blocks)
///     }
/// }
///
/// assert_eq!(<LogBuffer<Pairs> as Scheme>::ENTRY.name, "pairs");
/// ```
pub trait LogScheme {
    /// What the registry knows of it.
    const ENTRY: Entry;

    /// What it decides.
    type Policy: LogPolicy + Send;

    /// What it needs of the device. Allocates nothing, since the device may turn out to be too
    /// small.
    fn needs(layout: &Layout, values: &Values) -> Result<LogNeeds, ConfigError>;

    /// The policy for an empty log of this many blocks.
    fn policy(layout: &Layout, values: &Values, log_blocks: u32) -> Self::Policy;
}

/// A page on its way into the log, as a policy is asked about it.
#[derive(Clone, Copy, Debug)]
pub struct LogPage {
    /// The logical page.
    pub lpn: Lpn,
    /// Its logical block.
    pub lbn: Lbn,
    /// Its offset there.
    pub offset: u32,
    /// Whether it comes from a block that leaves, and not from the host.
    pub moved: bool,
    /// What the host says of it, or of a page that is moved what its tag keeps for the wear policy.
    pub hint: Hint,
}

/// Where a page of the log goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogTarget {
    /// To the end of a log block, which has room.
    In(Slot),
    /// To a log block that has yet to be opened for a group.
    New(u32),
}

/// What a policy needs of the device.
#[derive(Clone, Debug, Default)]
pub struct LogNeeds {
    /// How many log blocks the log may have.
    pub log_blocks: u32,
    /// Blocks that it opens before the victim has been erased.
    pub ahead: u32,
    /// RAM beside block map and log map, in bytes: name and size.
    pub tables: Vec<(&'static str, u64)>,
}

/// How a log block left in its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogBlockMerge {
    /// It became a data block: a switch or a partial merge.
    InPlace,
    /// This many of its pages were newest and had to be merged.
    Fully(u32),
}

/// What the schemes decide differently. Of the two that are ready
/// [`LogSets`](crate::engines::log_buffer::sets::LogSets) is the shorter one: begin with a copy.
pub trait LogPolicy {
    /// What it asks the log for.
    const TRACKS: LogCounting = LogCounting::Nothing;

    /// A write request begins.
    fn request(&mut self, _request: &Request) {}

    /// A log block that leaves before the request that has begun is served, though nobody asks for
    /// its space. Asked until there is none.
    fn leaves_now(&mut self, _log: &LogSpace) -> Option<Slot> {
        None
    }

    /// Where the newest copy of a page goes that cannot go into its data block. May be asked again
    /// for the same page after a block has been opened.
    fn place(&mut self, log: &mut LogSpace, page: LogPage) -> LogTarget;

    /// A log block that has to leave before one may be opened for this group.
    fn victim(&mut self, log: &mut LogSpace, group: u32) -> Option<Slot>;

    /// A block was opened for its group, or recovery found it.
    fn on_opened(&mut self, log: &LogSpace, slot: Slot);

    /// A page of a logical block was appended to a block.
    fn on_appended(&mut self, _log: &LogSpace, _slot: Slot, _page: LogPage) {}

    /// A victim is about to leave in this way. Of a block that leaves because trims are written
    /// down or a block is emptied, only [`on_left`](Self::on_left) tells.
    fn on_merged(&mut self, _log: &LogSpace, _slot: Slot, _how: LogBlockMerge) {}

    /// A block is about to leave: all its pages have been merged or moved.
    fn on_left(&mut self, log: &LogSpace, slot: Slot);

    /// A log block other than `except` that can hold pages of this logical block only.
    fn dedicated(&self, _lbn: Lbn, _except: Option<Slot>) -> Option<Slot> {
        None
    }

    /// Whether a newest page of a victim is moved to where its group's next pages go, instead of
    /// being merged.
    fn moves(&mut self, _log: &LogSpace, _victim: Slot, _lpn: Lpn) -> bool {
        false
    }

    /// Whether the newest pages of a victim are moved or merged one after the other, so that a
    /// merge takes along later ones that would have moved; else those that move go first.
    fn goes_page_by_page(&self) -> bool {
        false
    }

    /// The logical block of a page was merged, and the log has no newest copy of the page now.
    fn on_settled(&mut self, _lpn: Lpn) {}

    /// The group of a log block that recovery found, with pages of this logical block, if any can
    /// be told.
    fn recovered_group(&self, lbn: Option<Lbn>) -> u32;

    /// Where a page that says what was trimmed goes, if that is how trims survive.
    fn place_of_trims(&self, log: &LogSpace) -> Option<LogTarget>;

    /// Numbers of its own.
    fn gauges(&self, _log: &LogSpace) -> Vec<Gauge> {
        Vec::new()
    }
}

/// The log space as a share of the data blocks.
pub const LOG_SPACE: Parameter = Parameter {
    name: "log_space",
    kind: Kind::Ratio { min: 0.0001, max: 1.0 },
    default: "0.03",
    meaning: "Log blocks as a share of data blocks, rounded up to at least the smallest number possible; more delays merges and needs more spare blocks.",
    source: "Wang 2013 3.2.2 (3 %)",
};

/// The log space as a number of blocks.
pub const LOG_BLOCKS: Parameter = Parameter {
    name: "log_blocks",
    kind: Kind::Blocks { min: 0, max: u32::MAX as u64 },
    default: "0",
    meaning: "Log blocks as a number; 0 leaves it to log_space.",
    source: "ftlkit",
};

/// The size of groups of logical blocks.
pub const GROUP_BLOCKS: Parameter = Parameter {
    name: "group_blocks",
    kind: Kind::Integer { min: 1, max: u32::MAX as u64 },
    default: "8",
    meaning: "N: neighbouring data blocks that share log blocks; more fills log blocks better, fewer makes merges cheaper.",
    source: "A-SAST IV (4 to 64; 8 is best for PCtrace)",
};

/// The number of log blocks that the parameters ask for; an error if there are fewer than `least`.
pub fn log_blocks(scheme: &str, layout: &Layout, values: &Values, least: u32) -> Result<u32, ConfigError> {
    match values.integer("log_blocks") as u32 {
        0 => Ok(((f64::from(layout.logical_blocks()) * values.ratio("log_space")).ceil() as u32).max(least)),
        given if given < least => Err(ConfigError(format!(
            "{scheme}.log_blocks = {given}: at least {least} are needed; give {least} or more, or 0"
        ))),
        given => Ok(given),
    }
}
