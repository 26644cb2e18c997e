//! The table of keys: everything that a study may say of its device, its workload, its host and its
//! run, a row for each key.
//!
//! A row has the key's type, the default that it has where neither a study nor a preset gives it,
//! the group that it belongs to, and the limits of its value with what is said beyond them. Above
//! it stands its row of `docs/study.md`, which is compared with it: meaning | range | default | at
//! the extremes. From these rows come the tables of a study as it was given, every key of it
//! optional, and the same with defaults.

use flash::{CellType, ProgramOrder};
use ftl::MOST_RETRIES;
use serde::{Deserialize, Serialize};
use trace::generate::GeneratorSpec;
use trace::units::{Bytes, BytesPerSecond, Nanoseconds, optional_share};
use trace::{Columns, Conditions, DeviceChoice, Format, TimeBackwards, TimeUnit};

use super::values::{Addresses, Amount, BitErrorsText, Capacity, LoopText, PageDurations, Precondition};
use crate::error::SimError;
use crate::latencies::Latencies;
use crate::observe::timeline::Window;
use crate::timing::abilities::Suspend;
use crate::timing::engine::Model;
use crate::timing::superblocks::Superblock;
use crate::timing::units::Programming;

/// What keys are given together, or refused together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Group {
    /// Says what a device does beyond the plain model of time: only with parallel pricing, and not
    /// of an image.
    Ability,
    /// Says what becomes of wrong bits: only of a device that has any.
    BitErrors,
    /// Of blocks in pSLC mode: only of cells with several bits.
    Pslc,
    /// Says how large or how worn a device is, and names none.
    Size,
    /// Says how a trace is read.
    Trace,
}

/// A row of the table.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Key {
    /// The table of a study that it stands in.
    pub section: &'static str,
    /// What it is called.
    pub name: &'static str,
    /// What it belongs to, if to anything.
    pub group: Option<Group>,
    /// Its row of the manual, in lines: meaning | range | default | at the extremes.
    pub manual: &'static str,
}

impl Key {
    /// Its row of `docs/study.md`, whose tables have a column less for keys of traces.
    pub fn manual_row(&self) -> String {
        let text = self.manual.split_whitespace().collect::<Vec<_>>().join(" ");
        let mut cells: Vec<_> = text.split('|').map(str::trim).collect();
        cells.resize(if self.group == Some(Group::Trace) { 3 } else { 4 }, "");
        let cells: String =
            cells.iter().map(|cell| if cell.is_empty() { " |".into() } else { format!(" {cell} |") }).collect();
        format!("| `{}` |{cells}", self.name)
    }
}

/// All keys, section by section.
pub fn keys() -> impl Iterator<Item = &'static Key> {
    [DeviceText::KEYS, WorkloadText::KEYS, HostText::KEYS, RunText::KEYS].into_iter().flatten()
}

/// The names of the keys of a group, as a sentence lists them.
pub fn names_of(group: Group) -> String {
    let names: Vec<_> = keys().filter(|key| key.group == Some(group)).map(|key| key.name).collect();
    let (last, others) = names.split_last().expect("a group has keys");
    format!("{} and {last}", others.join(", "))
}

/// A table of a study as it was given.
pub(crate) trait Table: Sized {
    /// Refuses a value that its key cannot have, whatever the others are.
    fn check(&self) -> Result<(), SimError>;

    /// These keys where they are given, and another's where they are not.
    fn over(self, other: &Self) -> Self;

    /// The first key of a group that is given.
    fn given(&self, group: Group) -> Option<&'static str>;

    /// The keys that are not of a group.
    fn without(self, group: Group) -> Self;
}

/// What a key is without being given: its type if it has a default, else perhaps nothing.
macro_rules! filled {
    (type $type:ty) => { Option<$type> };
    (type $type:ty, $default:expr) => { $type };
    ($given:expr) => { $given.clone() };
    ($given:expr, $default:expr) => { $given.clone().unwrap_or_else(|| $default) };
}

/// Declares a table of a study and the same with defaults.
macro_rules! table {
    (
        $(#[$about:meta])*
        $text:ident, $filled:ident, $section:literal;
        $(
            $(#[doc = $doc:literal])+
            $(#[serde($($serde:tt)*)])?
            $key:ident: $type:ty $(= $default:expr)? $(, for $group:ident)? $(, in $limits:expr)?;
        )*
    ) => {
        $(#[$about])*
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
        #[serde(deny_unknown_fields, default)]
        pub struct $text {
            $( $(#[doc = $doc])+ $(#[serde($($serde)*)])? pub $key: Option<$type>, )*
        }

        impl $text {
            /// A row for each key.
            pub const KEYS: &[Key] = &[$( Key {
                section: $section,
                name: plain(stringify!($key)),
                group: [$(Some(Group::$group),)? None][0],
                manual: concat!($($doc,)+),
            } ),*];
        }

        impl Table for $text {
            fn check(&self) -> Result<(), SimError> {
                $( $( check($section, plain(stringify!($key)), self.$key.as_ref(), $limits)?; )? )*
                Ok(())
            }

            fn over(self, other: &Self) -> Self {
                Self { $( $key: self.$key.or_else(|| other.$key.clone()) ),* }
            }

            fn given(&self, group: Group) -> Option<&'static str> {
                let is_given = [$( self.$key.is_some() ),*];
                let mut keys = Self::KEYS.iter().zip(is_given);
                keys.find(|&(key, is_given)| is_given && key.group == Some(group)).map(|(key, _)| key.name)
            }

            fn without(self, group: Group) -> Self {
                Self { $( $key: self.$key.filter(|_| [$(Some(Group::$group),)? None][0] != Some(group)) ),* }
            }
        }

        /// The same with defaults.
        #[derive(Clone, Debug)]
        pub(crate) struct $filled {
            $( pub(crate) $key: filled!(type $type $(, $default)?), )*
        }

        impl From<&$text> for $filled {
            fn from(text: &$text) -> Self {
                Self { $( $key: filled!(text.$key $(, $default)?) ),* }
            }
        }

        impl From<&$filled> for $text {
            fn from(keys: &$filled) -> Self {
                Self { $( $key: keys.$key.clone().into() ),* }
            }
        }
    };
}

/// A key whose name is a word of Rust, without the sign for that.
const fn plain(name: &'static str) -> &'static str {
    match name.as_bytes() {
        [b'r', b'#', ..] => name.split_at(2).1,
        _ => name,
    }
}

fn check<T: Amount>(
    section: &str,
    key: &str,
    value: Option<&T>,
    (limits, beyond): (impl std::ops::RangeBounds<f64>, &str),
) -> Result<(), SimError> {
    match value.filter(|value| !limits.contains(&value.amount())) {
        Some(value) => Err(SimError::study(format!("{section}.{key} = {}: {beyond}", value.shown()))),
        None => Ok(()),
    }
}

const MIB: f64 = 1_048_576.0;
/// What flash, links and controllers may take.
const MOST: (std::ops::RangeToInclusive<f64>, &str) =
    (..=Latencies::MAX_NS as f64, "at most 60000000000ns is possible; flash takes microseconds to milliseconds");

table! {
    /// The `[device]` table: a preset and what differs from it.
    DeviceText, DeviceKeys, "device";
    /// the device to start from | a name | `slc-small`
    preset: String;
    /// logical bytes that the host sees; `blocks_per_plane` is scaled until the flash holds them
    /// beside the spare | 1 B to 2³² − 2 pages, or `"auto"` | what the preset's flash exports,
    /// where a `preset` or `blocks_per_plane` is given; else `"auto"` | rounded up to whole pages
    capacity: Capacity, for Size;
    /// share of the physical pages that the host does not see; theory's utilisation ρ is 1 −
    /// `spare` | above 0, below 1 | the preset's | near 0 garbage collection copies almost
    /// everything, and schemes refuse what leaves them no block to work with; near 1 it copies
    /// nothing
    #[serde(deserialize_with = "optional_share")]
    spare: f64 = 0.07, for Size,
        in (f64::MIN_POSITIVE..1.0, "must be above 0 and below 1. It is the share of physical pages that the host does not see (utilisation is 1 − spare); without any, no page could be rewritten. 0.07 is usual");
    /// the same flash as a share of what the host sees: `spare` ÷ (1 − `spare`) | above 0; not
    /// beside `spare` |  | 0.28 is a `spare` of 0.219
    #[serde(deserialize_with = "optional_share")]
    op: f64, for Size,
        in (f64::MIN_POSITIVE..=f64::MAX, "must be above 0. It is the flash that the host does not see ÷ what it sees; 0.07 is usual, and 0.28 for many writes");
    /// independent buses | 1 to 65 536, and so is their product with `dies_per_channel` | the
    /// preset's | 1: all transfers take turns
    channels: u32 = 1;
    /// dies that share a bus and work side by side | 1 or more | the preset's | 1: a die has its
    /// channel to itself
    dies_per_channel: u32 = 1;
    /// planes of a die; they hold blocks, but do not work in parallel without `multi_plane` | 1 or
    /// more | the preset's
    planes_per_die: u32 = 1;
    /// erase blocks of a plane | 1 or more | the preset's, or scaled to `capacity` | given together
    /// with `capacity`, both hold and the spare is what is between them; a `spare` beside both is a
    /// lower bound
    blocks_per_plane: u32 = 1024, for Size;
    /// pages of an erase block; need not be a power of two | 1 or more | the preset's | large
    /// blocks are cheap to erase and dear to merge
    pages_per_block: u32 = 64;
    /// data bytes of a page | multiples of 512 B up to 1 MiB | the preset's | larger than requests:
    /// most writes become read-modify-write
    page_size: Bytes = Bytes(4096), in (..=MIB, "at most 1 MiB is possible; 4KiB and 16KiB are usual");
    /// data bytes of what a translation layer maps, see *Units and word lines* | a divisor of
    /// `page_size`, or a power of two times it; 512 B to 1 MiB | `page_size` | larger than
    /// requests: most writes become read-modify-write; small: large maps
    mapping_unit: Bytes, in (..=MIB, "at most 1 MiB is possible; 4KiB and 16KiB are usual");
    /// what is programmed at once: `"shadow"`, one page; `"one_shot"`, all pages of a word line in
    /// one `program_latency` | `"one_shot"` with `cell` above SLC | `"shadow"`
    programming: Programming = Programming::Shadow;
    /// a capacitor keeps what waits to be programmed with others, and finishes programs; without it
    /// blocks are filled up with padding, see *Without a capacitor* | true, false | true | false
    /// where the host flushes often: most programs are padding
    power_loss_protection: bool;
    /// RAM for host data that have been answered and wait for their programs; a write waits for a
    /// place in it, see *Units and word lines* | a program unit for each die or more; with
    /// `power_loss_protection` and parallel pricing | two program units for each die, where several
    /// units are programmed at once; otherwise none, and writes wait for their programs | larger:
    /// longer bursts at the speed of the link
    program_buffer: Bytes, in (..=64.0 * 1024.0 * MIB, "at most 64 GiB is possible; drives of today have some MiB");
    /// bits of a cell: `"slc"`, `"mlc"`, `"tlc"`, `"qlc"`; it says which type each page of a block
    /// has, see *Types of page* |  | the preset's | changes nothing where all pages take the same
    cell: CellType = CellType::Slc;
    /// sensing a page (tR): one time, or a list of one for each type of page | 0 to 1 min | the
    /// preset's
    read_latency: PageDurations = PageDurations(vec![Nanoseconds(0)]), in MOST;
    /// programming a page (tPROG), in the same way | 0 to 1 min | the preset's
    program_latency: PageDurations = PageDurations(vec![Nanoseconds(0)]), in MOST;
    /// erasing a block (tBERS) | 0 to 1 min | the preset's
    erase_latency: Nanoseconds = Nanoseconds(0), in MOST;
    /// moving one page over the channel, command included | 0 to 1 min | the preset's | 0: channels
    /// never limit
    transfer_latency: Nanoseconds = Nanoseconds(0), in MOST;
    /// `"parallel"`: dies and channels work side by side; `"serial"`: one resource, an operation
    /// costs latency plus transfer, as in `FlashSim` |  | the preset's
    pricing: Model = Model::Parallel;
    /// a page that is read and at once programmed in the same plane stays in the die: no transfers
    /// | true, false | false | see *Priced options* for this and the next eleven; none of them with
    /// serial pricing
    copy_back: bool = false, for Ability;
    /// operations of one kind on different planes of a die run side by side | true, false;
    /// `planes_per_die` above 1 | false | only what is ready when the first begins joins it
    multi_plane: bool = false, for Ability;
    /// what is opened, filled and collected together: `"plane"`, a block; `"die"`, a block of each
    /// plane of a die; `"group"`, that of a die of each channel; see *Superblocks* |  | `"plane"` |
    /// few large superblocks: those that are open take much of the spare
    superblock: Superblock = Superblock::Plane, for Ability;
    /// planes read and program side by side only at pages with equal numbers in their blocks |
    /// true, false; with `multi_plane` | false | erases join whatever their blocks are
    aligned_planes: bool = false, for Ability;
    /// a die senses the next pages while those before move over the channel | true, false | false |
    /// reads back to back take the longer of sensing and transfer, not the sum; nothing without a
    /// transfer
    cache_read: bool = false, for Ability;
    /// pages of the next programs move while the die programs those before | true, false | false |
    /// the same of programs
    cache_program: bool = false, for Ability;
    /// what a read that the host waits for suspends: `"off"`, `"erase"`, `"program"`, `"both"` |  |
    /// `"off"`
    suspend: Suspend = Suspend::Off, for Ability;
    /// from the command to suspend until the die can read | 0 to 1 min; with `suspend` | 0 | so
    /// long that the operation would be over: it is not suspended
    suspend_latency: Nanoseconds = Nanoseconds(0), in MOST;
    /// what taking up suspended work costs | 0 to 1 min; with `suspend` | 0 | cannot itself be
    /// suspended, so work always goes on
    resume_latency: Nanoseconds = Nanoseconds(0), in MOST;
    /// a die takes up reads that the host waits for before anything else | true, false | false |
    /// writes wait for as long as reads come
    reads_first: bool = false, for Ability;
    /// channels that may have a collection under way at the same time | 1 to `channels` | all | 1:
    /// collections queue, and the pages meant for the blocks that they free wait
    gc_channels: u32, for Ability;
    /// collections let reads pass between their operations | true, false | false | a die with reads
    /// without end does not collect
    gc_yields: bool = false, for Ability;
    /// what the link to the host moves, each way | 1 kB/s or more, as `"3.5GB/s"` | data move at
    /// once, unless the preset says so | requests wait for the link
    link_bandwidth: BytesPerSecond,
        in (1000.0.., "must be 1000 B/s or more; give a rate such as \"3.5GB/s\", or leave it out for a link that takes no time");
    /// what a command takes on the link besides its data; it holds nothing | 0 to 1 min | 0
    link_latency: Nanoseconds = Nanoseconds(0), in MOST;
    /// commands that the controller can be at in the same time | 1 to 1024; with
    /// `controller_latency` | one for every command
    controller_cores: u32, in (1.0..=1024.0, "must be from 1 to 1024; leave it out for a core for every command");
    /// what a command takes of the controller | 0 to 1 min | 0 | at most cores ÷ latency commands a
    /// second
    controller_latency: Nanoseconds = Nanoseconds(0), in MOST;
    /// order in which the pages of a block may be programmed: `"ascending"` (gaps allowed),
    /// `"strict"` (no gaps), `"any"` |  | `"ascending"`; `"strict"` where several units are
    /// programmed at once | `"strict"` is what MLC and TLC parts ask for; `block` and the
    /// log-buffer schemes (but `superblock`) leave gaps and refuse it
    program_order: ProgramOrder = ProgramOrder::Ascending;
    /// erases that a block survives | 1 or more | the preset's | a block erased more often fails
    /// and is retired, see *Wearing out*
    endurance: u32 = 3000,
        in (1.0.., "a block must survive at least one erase; 3000 (TLC) to 100000 (SLC) are usual");
    /// share of blocks that are bad from the factory, placed by the seed; they come out of the
    /// spare | 0 or more, below `spare` | 0
    #[serde(deserialize_with = "optional_share")]
    bad_blocks: f64 = 0.0, for Size;
    /// sensing a page of a block in pSLC mode, see *pSLC* | 0 to 1 min; not with `cell = "slc"` |
    /// that of a lower page
    pslc_read_latency: Nanoseconds, for Pslc, in MOST;
    /// programming such a page | 0 to 1 min; not with `cell = "slc"` | that of a lower page; with
    /// `programming = "one_shot"` that of a word line ÷ bits | with one time for all types, pSLC is
    /// no faster unless this says so
    pslc_program_latency: Nanoseconds, for Pslc, in MOST;
    /// erases in pSLC mode that a block survives | 1 or more; not with `cell = "slc"` | ten times
    /// `endurance` | a block that was in both modes fails when the shares of both make one life
    pslc_endurance: u32, for Pslc, in (1.0.., "a block must survive at least one erase; 30000 to 100000 are usual");
    /// how bits decay: `"none"`; `"tlc-72l"`, as in TLC of 72 layers; `"mlc-2y"`, as in MLC of 20
    /// to 24 nm; see *Bit errors* for this and the next seven |  | `"none"`
    bit_errors: BitErrorsText = BitErrorsText::None;
    /// the highest share of wrong bits that one read corrects | above 0, at most 0.5; with
    /// `bit_errors` | 0.005 (assumed) | low: every read is tried again
    #[serde(deserialize_with = "optional_share")]
    ecc_limit: f64 = 0.005, for BitErrors,
        in (f64::MIN_POSITIVE..=0.5, "must be above 0 and at most 0.5. It is the share of wrong bits that one read corrects; 0.005 is usual for LDPC codes");
    /// most retries of a read | 0 to 15; with `bit_errors` | 5 (assumed) | 0: what one read does
    /// not correct is uncorrectable
    read_retries: u32 = 5, for BitErrors,
        in (..=MOST_RETRIES as f64, "must be from 0 to 15; drives try some five times");
    /// from the end of a try to the begin of the next | 0 to 1 min; with `bit_errors` | 0
    read_retry_latency: Nanoseconds = Nanoseconds(0), for BitErrors, in MOST;
    /// a block is refreshed when its share of wrong bits passes this share of `ecc_limit` | 0 to
    /// 100; with `bit_errors` | 0.8 (assumed) | 0: never; above 1: after the first retries
    #[serde(deserialize_with = "optional_share")]
    refresh_at: f64 = 0.8, for BitErrors, in (0.0..=100.0, "must be from 0 to 100; 0 refreshes nothing");
    /// erases that each block had before the run | 0 or more, below `endurance` | 0 | blocks
    /// survive only what is left
    initial_erases: u32 = 0, for Size;
    /// days that data have lain when measuring begins | 0 to 36 500; with `bit_errors` | 0
    retention_days: f64 = 0.0, for BitErrors,
        in (0.0..=36_500.0, "must be from 0 to 36500; 365 is a year on the shelf");
    /// how many times faster data age than simulated time passes | 0 to 10⁹; with `bit_errors` | 1
    /// | 86 400: a day a second; 0: data never age
    retention_speedup: f64 = 1.0, for BitErrors,
        in (0.0..=1e9, "must be from 0 to 1000000000; 86400 lets a day pass in a second");
}

table! {
    /// The `[workload]` table: exactly one of `trace`, `preset` and `generator`.
    WorkloadText, WorkloadKeys, "workload";
    /// path of a trace file; in a study file relative to that file |  |  | gzip, zstd, xz and bz2
    /// are read as they are
    trace: String;
    /// a ready workload, a statistical look-alike of a published trace; see
    /// [workloads](workloads.md) | a name
    preset: String;
    /// a table that describes a workload; see [workloads](workloads.md)
    generator: GeneratorSpec;
    /// bytes that a preset spans instead of its own: requests, sizes and gaps stay, places are
    /// fewer | multiples of the preset's `unit`; with `preset` | the preset's
    span: Bytes;
    /// the trace's format | a name from `ftlkit trace info --help` | guessed from content; what
    /// fits several is refused
    format: Format, for Trace;
    /// what the columns of a delimited text are, instead of a format: `"time:ms, device, offset:B,
    /// size:B, op:1=read"`; see [trace formats](trace-formats.md)
    columns: Columns, for Trace;
    /// which rows of a text are taken, by the values of their columns: `"type=D"`, or a list of
    /// such conditions, which must all hold; see [trace
    /// formats](trace-formats.md#some-rows-of-a-text) |  | all rows
    r#where: Conditions, for Trace;
    /// unit of its times | `"ns"`, `"100ns"`, `"us"`, `"ms"`, `"s"` | the format's
    time_unit: TimeUnit, for Trace;
    /// leave unusable records out and count them | true, false | false: stop at the first, before
    /// anything is simulated
    skip_bad: bool = false, for Trace;
    /// which of its devices: a name, or `"stacked"` to lay all out one after another |  | the only
    /// one; several are refused and listed
    trace_device: DeviceChoice, for Trace;
    /// a request earlier than one before it: `"refuse"`, `"clamp"` it to the latest time,
    /// `"sort:N"` within N requests | N from 1 to 1 048 576 | `"refuse"`
    time_backwards: TimeBackwards = TimeBackwards::Refuse, for Trace;
    /// which action of a blkparse trace is a request | one letter | `"Q"`
    blkparse_action: char, for Trace;
    /// requests of one time are spread evenly over this long, or until the next time | duration, 1
    /// ns to 1 h | none: they arrive together
    tick: Nanoseconds, for Trace;
    /// use the first N requests of the trace, or generate N | 1 or more | all of the trace; the
    /// preset's or generator's own number
    requests: u64, in (1.0.., "must be at least 1; leave it out to take all");
    /// serve the trace N times in a row, one mean gap apart; `requests` counts over all rounds | 1
    /// or more; with `trace` | 1 | each round asks the same, so caches and forecasts do better than
    /// on a longer trace
    repeat: u64 = 1, in (1.0.., "must be at least 1; leave it out to serve a trace once");
    /// what to do with addresses: `"refuse"` those beyond the device; `"dense"`: number the pages
    /// touched in order of first touch; `"wrap"`: take them modulo the capacity |  | `"refuse"` |
    /// `"dense"` tears neighbours apart that are not first touched in order, `"wrap"` invents
    /// overwrites; the results count both
    addresses: Addresses = Addresses::Refuse;
    /// factor by which arrivals come faster; open loop only | above 0 | 1 | 0.5 is half as fast
    speedup: f64 = 1.0,
        in (f64::MIN_POSITIVE..=f64::MAX, "must be above 0; 2 makes requests arrive twice as fast, 0.5 half as fast");
    /// bytes added to every address | 0 or more | 0 | an old partition offset puts a whole trace
    /// off the page grid; 512 puts 63 sectors back on it; results say so where an offset would
    /// align many more requests
    align_offset: Bytes = Bytes(0);
}

table! {
    /// The `[host]` table.
    HostText, HostKeys, "host";
    /// `"open"`: requests begin when they arrive; `"closed"`: `queue_depth` are always outstanding;
    /// `"threads"`: open, with at most as many of each stream |  | `"open"` | an open loop that
    /// asks more than the device can do measures how long it ran
    r#loop: LoopText = LoopText::Open;
    /// outstanding requests of a closed loop, or of each thread | 1 to 65 536 | 32 | 1: a host that
    /// waits for every request
    queue_depth: u32,
        in (1.0..=65_536.0, "must be from 1 to 65536; 1 is a host that waits for every request, 32 a busy one");
}

table! {
    /// The `[run]` table.
    RunText, RunKeys, "run";
    /// how the device is prepared before measuring (below) | `"auto"`, `"none"`, `"fill"`,
    /// `"steady"`, `"workload"` | `"auto"`
    precondition: Precondition = Precondition::Auto;
    /// share of the capacity that holds data when measuring begins, under `"fill"` and `"steady"`:
    /// the pages that the workload reads or writes, and the lowest others | above 0, at most 1, or
    /// `"80%"`; no less than the workload touches | all | a device that is partly full has more
    /// room, so its collections copy less
    #[serde(deserialize_with = "optional_share")]
    in_use: f64;
    /// memory that the runs may use, estimated before it is allocated (below) | a size | 80 % of
    /// what is available | more is refused with the number
    memory_limit: Bytes;
    /// requests at the beginning that are served but not measured: a warm-up under the workload
    /// itself | 0 to less than there are requests | 0 | utilisation and load are of the whole run;
    /// all else begins afterwards
    skip: u64 = 0;
    /// split the time of requests by what they waited for (below) | true, false | true | off: a run
    /// is faster; no other result changes
    waiting: bool = true;
    /// points of the time series | 1 to 100 000 | 200 | at most one a request
    samples: u32 = 200,
        in (1.0..=100_000.0, "must be from 1 to 100000 points of the time series; 200 draw a smooth line");
    /// years over which the results tell drive writes a day ([endurance](endurance.md)) | 0.01 to
    /// 100 | 5 | changes no other result
    warranty_years: f64 = 5.0, in (0.01..=100.0, "must be from 0.01 to 100; makers of drives give 3 or 5");
    /// run under the oracle (below) | true, false | false | the same operations at the same times
    /// (equal event hash), at some ten times the memory
    verify: bool = false;
    /// tell latency of flash operations by class, waiting and service apart (below) | true, false |
    /// false | slows a run by a third or so, hence not always on; changes no result
    classes: bool = false;
    /// a stretch of virtual time whose flash operations are told one by one; `ftlkit run --timeline
    /// t.html` draws them | two times, `"10ms..12ms"`, from the beginning of the measurement | none
    /// | the first 20 000 operations or so: a window that holds more ends earlier, and says so
    timeline: Window;
    /// a stretch of virtual time whose requests are traced down to each page of flash; [the
    /// player](player.md) shows it | two times, as for `timeline` | none | at most 100 000
    /// operations and 262 144 pages of flash: it ends earlier, or is refused
    flash_trace: Window;
}
