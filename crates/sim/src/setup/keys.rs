//! The table of keys: everything that a study may say of its device, its workload, its host and its
//! run, a row for each key.
//!
//! A row has the key's type, the default that it has where neither a study nor a preset gives it,
//! the group that it belongs to, and the limits of its value with what is said beyond them. Above
//! it stands its row of `docs/study.md`, which is compared with it: meaning | range | default. From
//! these rows come the tables of a study as it was given, every key of it optional, and the same
//! with defaults.

use flash::{CellType, ProgramOrder};
use ftl::MOST_RETRIES;
use serde::{Deserialize, Serialize};
use trace::generate::GeneratorSpec;
use trace::units::{Bytes, BytesPerSecond, Nanoseconds, optional_bytes_per_day, optional_count, optional_share};
use trace::{Columns, Conditions, DeviceChoice, Format, TimeBackwards, TimeUnit};

use super::values::{
    Addresses, Amount, BitErrorsText, Capacity, Clock, DieOrder, Durations, InUse, LoopText, Precondition, SliceText,
};
use crate::error::SimError;
use crate::latencies::Latencies;
use crate::observe::timeline::Window;
use crate::timing::engine::Model;
use crate::timing::scheduling::Suspend;
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
    /// What its value is, as a type.
    pub kind: &'static str,
    /// Its row of the manual, in lines: meaning | range | default.
    pub manual: &'static str,
}

impl Key {
    /// Its row of `docs/study.md`.
    pub fn manual_row(&self) -> String {
        let text = self.manual.split_whitespace().collect::<Vec<_>>().join(" ");
        let mut cells: Vec<_> = text.split('|').map(str::trim).collect();
        cells.resize(3, "");
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
                kind: stringify!($type),
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
    /// the device to start from | a name | `client-tlc`
    preset: String;
    /// logical bytes; scales `blocks_per_plane`; rounded up to whole pages | 1 B to 2³² − 2 pages,
    /// or `"auto"` | the flash's, given `preset` or `blocks_per_plane`; else `"auto"`
    capacity: Capacity, for Size;
    /// logical bytes simulated for the whole ([slices](device.md#slices)) | a size, `"auto"` or
    /// `"all"` | `"all"`
    slice: SliceText, for Size;
    /// share of physical pages hidden from the host; utilisation ρ is 1 − `spare`; near 0, GC
    /// copies almost everything | above 0, below 1
    #[serde(deserialize_with = "optional_share")]
    spare: f64 = 0.07, for Size,
        in (f64::MIN_POSITIVE..1.0, "must be above 0 and below 1. It is the share of physical pages that the host does not see (utilisation is 1 − spare); without any, no page could be rewritten. 0.07 is usual");
    /// spare as over-provisioning: `spare` ÷ (1 − `spare`) | above 0; not beside `spare`
    #[serde(deserialize_with = "optional_share")]
    op: f64, for Size,
        in (f64::MIN_POSITIVE..=f64::MAX, "must be above 0. It is the flash that the host does not see ÷ what it sees; 0.07 is usual, and 0.28 for many writes");
    /// independent buses | 1 to 65 536, also times `dies_per_channel`
    #[serde(deserialize_with = "optional_count")]
    channels: u32 = 1;
    /// parallel dies per bus | 1 or more
    #[serde(deserialize_with = "optional_count")]
    dies_per_channel: u32 = 1;
    /// planes, parallel only with `multi_plane` | 1 or more
    #[serde(deserialize_with = "optional_count")]
    planes_per_die: u32 = 1;
    /// erase blocks per plane; with `capacity`, the spare follows from both, a given `spare` is a
    /// lower bound | 1 or more | scaled to `capacity`
    #[serde(deserialize_with = "optional_count")]
    blocks_per_plane: u32 = 1024, for Size;
    /// pages per block, not only powers of two; large blocks: cheap erases, costly merges | 1 or
    /// more
    #[serde(deserialize_with = "optional_count")]
    pages_per_block: u32 = 64;
    /// data bytes per page; larger than requests: mostly read-modify-write | multiples of 512 B up
    /// to 1 MiB
    page_size: Bytes = Bytes(4096), in (..=MIB, "at most 1 MiB is possible; 4KiB and 16KiB are usual");
    /// bytes per map entry ([units](device.md#units-and-word-lines)); large: read-modify-write;
    /// small: large maps | `page_size` ÷ n or × 2ⁿ, 512 B to 1 MiB | `page_size`
    mapping_unit: Bytes, in (..=MIB, "at most 1 MiB is possible; 4KiB and 16KiB are usual");
    /// `"shadow"` programs pages, `"one_shot"` word lines, in one `program_latency` | `"one_shot"`:
    /// `cell` above SLC | `"shadow"`
    programming: Programming = Programming::Shadow;
    /// a capacitor saves buffered units and finishes programs
    /// ([without](device.md#without-a-capacitor)); false with frequent flushes: mostly padding |  |
    /// true
    power_loss_protection: bool;
    /// RAM for acknowledged data that wait for programs ([units](device.md#units-and-word-lines));
    /// larger: longer bursts at link speed | at least a program unit per die; capacitor, parallel
    /// pricing | two program units per die where these have several units; else none
    program_buffer: Bytes, in (..=64.0 * 1024.0 * MIB, "at most 64 GiB is possible; drives of today have some MiB");
    /// `"slc"`, `"mlc"`, `"tlc"`, `"qlc"`; sets the [type of each page](device.md#types-of-page)
    cell: CellType = CellType::Slc;
    /// sensing a page (tR): one time, or one per page type
    read_latency: Durations = Durations(vec![Nanoseconds(0)]), in MOST;
    /// programming a page (tPROG), likewise
    program_latency: Durations = Durations(vec![Nanoseconds(0)]), in MOST;
    /// erasing a block (tBERS)
    erase_latency: Nanoseconds = Nanoseconds(0), in MOST;
    /// moving a page and its command over the channel; 0: channels never limit
    transfer_latency: Nanoseconds = Nanoseconds(0), in MOST;
    /// `"parallel"` dies and channels; `"serial"`: one resource, latency plus transfer, as in
    /// `FlashSim`
    pricing: Model = Model::Parallel;
    /// a page read and programmed in one plane is not transferred; one of the [priced
    /// options](device.md#priced-options) |  | false
    copy_back: bool = false, for Ability;
    /// operations of one kind on several planes of a die run side by side; only if ready when the
    /// first begins | `planes_per_die` above 1 | false
    multi_plane: bool = false, for Ability;
    /// blocks managed [together](device.md#superblocks): `"plane"`, `"die"`, `"group"`; few large
    /// ones take much spare |  | `"plane"`
    superblock: Superblock = Superblock::Plane, for Ability;
    /// planes read and program together only at equal page numbers | with `multi_plane` | false
    aligned_planes: bool = false, for Ability;
    /// a die senses the next pages during a transfer; back-to-back reads take the longer of sensing
    /// and transfer |  | false
    cache_read: bool = false, for Ability;
    /// the next pages are transferred during a program |  | false
    cache_program: bool = false, for Ability;
    /// suspended by host reads: `"off"`, `"erase"`, `"program"`, `"both"` |  | `"off"`
    suspend: Suspend = Suspend::Off, for Ability;
    /// until the die can read; not suspended if less is left; one time, or a program's and an
    /// erase's | with `suspend` | 0
    suspend_latency: Durations = Durations(vec![Nanoseconds(0)]), in MOST;
    /// cost of resuming, which cannot be suspended; likewise | with `suspend` | 0
    resume_latency: Durations = Durations(vec![Nanoseconds(0)]), in MOST;
    /// most suspensions per operation | 1 or more; with `suspend` | unlimited
    #[serde(deserialize_with = "optional_count")]
    suspensions: u32, for Ability, in (1.0.., "must be 1 or more; leave suspend out to suspend nothing");
    /// host reads go first; writes wait while reads keep coming |  | false
    reads_first: bool = false, for Ability;
    /// [classes](timing.md#who-goes-first) that go before others, as `"host_read/host_write"` | not
    /// beside `reads_first`, `gc_yields` | by readiness
    die_order: DieOrder, for Ability;
    /// most times that an operation is overtaken; low: reads wait, high: writes starve | 1 or more
    /// | unlimited
    #[serde(deserialize_with = "optional_count")]
    overtakes: u32, for Ability,
        in (1.0.., "must be 1 or more; without die_order, reads_first, gc_yields and suspend nothing is overtaken");
    /// channels that may collect at one time; 1: collections queue, and writes that need their
    /// blocks | 1 to `channels` | all
    #[serde(deserialize_with = "optional_count")]
    gc_channels: u32, for Ability;
    /// host reads pass collections; a die that is always read does not collect |  | false
    gc_yields: bool = false, for Ability;
    /// rate of the host link, each way | 1 kB/s or more, as `"3.5GB/s"` | the preset's, or
    /// unlimited
    link_bandwidth: BytesPerSecond,
        in (1000.0.., "must be 1000 B/s or more; give a rate such as \"3.5GB/s\", or leave it out for a link that takes no time");
    /// link time per command, holding nothing |  | 0
    link_latency: Nanoseconds = Nanoseconds(0), in MOST;
    /// commands processed at one time | 1 to 1024; with `controller_latency` | one per command
    #[serde(deserialize_with = "optional_count")]
    controller_cores: u32, in (1.0..=1024.0, "must be from 1 to 1024; leave it out for a core for every command");
    /// controller time per command; at most cores ÷ latency commands per second |  | 0
    controller_latency: Nanoseconds = Nanoseconds(0), in MOST;
    /// programs in a block: `"ascending"` (gaps allowed), `"strict"` (no gaps), `"any"`; MLC and
    /// TLC need `"strict"`; schemes that leave gaps refuse it |  | `"ascending"`; `"strict"` where
    /// a program takes several units
    program_order: ProgramOrder = ProgramOrder::Ascending;
    /// erases until a block [fails](device.md#wearing-out) | 1 or more
    #[serde(deserialize_with = "optional_count")]
    endurance: u32 = 3000,
        in (1.0.., "a block must survive at least one erase; 3000 (TLC) to 100000 (SLC) are usual");
    /// share of factory-bad blocks, from the spare | 0 or more, below `spare` | 0
    #[serde(deserialize_with = "optional_share")]
    bad_blocks: f64 = 0.0, for Size;
    /// sensing a page in [pSLC mode](device.md#pslc) | `cell` above SLC | a lower page's
    pslc_read_latency: Nanoseconds, for Pslc, in MOST;
    /// programming such a page | `cell` above SLC | a lower page's; `"one_shot"`: a word line's ÷
    /// bits
    pslc_program_latency: Nanoseconds, for Pslc, in MOST;
    /// erases per block in pSLC mode; mixed use: a block fails when its shares of both add to 1 |
    /// `cell` above SLC | ten times `endurance`
    #[serde(deserialize_with = "optional_count")]
    pslc_endurance: u32, for Pslc, in (1.0.., "a block must survive at least one erase; 30000 to 100000 are usual");
    /// [decay](device.md#bit-errors): `"none"`, `"tlc-72l"` (72 layers), `"mlc-2y"` (20 to 24 nm) |
    /// | `"none"`
    bit_errors: BitErrorsText = BitErrorsText::None;
    /// highest share of wrong bits that one read corrects | above 0, at most 0.5 | 0.005 (assumed)
    #[serde(deserialize_with = "optional_share")]
    ecc_limit: f64 = 0.005, for BitErrors,
        in (f64::MIN_POSITIVE..=0.5, "must be above 0 and at most 0.5. It is the share of wrong bits that one read corrects; 0.005 is usual for LDPC codes");
    /// most retries per read | 0 to 15 | 5 (assumed)
    #[serde(deserialize_with = "optional_count")]
    read_retries: u32 = 5, for BitErrors,
        in (..=MOST_RETRIES as f64, "must be from 0 to 15; drives try some five times");
    /// pause before a retry |  | 0
    read_retry_latency: Nanoseconds = Nanoseconds(0), for BitErrors, in MOST;
    /// share of `ecc_limit` above which a block is refreshed; 0: never; above 1: after the first
    /// retries | 0 to 100 | 0.8 (assumed)
    #[serde(deserialize_with = "optional_share")]
    refresh_at: f64 = 0.8, for BitErrors, in (0.0..=100.0, "must be from 0 to 100; 0 refreshes nothing");
    /// erases of each block before the run | 0 or more, below `endurance` | 0
    #[serde(deserialize_with = "optional_count")]
    initial_erases: u32 = 0, for Size;
    /// age of the data when measuring begins | 0 to 36 500 | 0
    retention_days: f64 = 0.0, for BitErrors,
        in (0.0..=36_500.0, "must be from 0 to 36500; 365 is a year on the shelf");
    /// ageing relative to simulated time; 86 400: a day per second; 0: none | 0 to 10⁹ | 1
    retention_speedup: f64 = 1.0, for BitErrors,
        in (0.0..=1e9, "must be from 0 to 1000000000; 86400 lets a day pass in a second");
}

table! {
    /// The `[workload]` table: exactly one of `trace`, `preset` and `generator`.
    WorkloadText, WorkloadKeys, "workload";
    /// path of a trace file, relative to the study; gzip, zstd, xz and bz2 too
    trace: String;
    /// a ready workload, a [look-alike](look-alikes.md) of a published trace | a name
    preset: String;
    /// a table that describes a [workload](workloads.md)
    generator: GeneratorSpec;
    /// bytes that a preset spans; requests, sizes and gaps stay | multiples of the preset's `unit`
    /// | the preset's
    span: Bytes;
    /// the trace's format | `ftlkit trace info --help` | guessed; ambiguous content is refused
    format: Format, for Trace;
    /// columns of a delimited text, instead of a format: `"time:ms, device, offset:B, size:B,
    /// op:1=read"` ([more](trace-formats.md))
    columns: Columns, for Trace;
    /// rows to take: `"type=D"`, or a list of conditions that must all hold
    /// ([more](trace-formats.md#some-rows-of-a-text)) |  | all
    r#where: Conditions, for Trace;
    /// unit of its times | `"ns"`, `"100ns"`, `"us"`, `"ms"`, `"s"` | the format's
    time_unit: TimeUnit, for Trace;
    /// leave unusable records out and count them |  | false: stop at the first
    skip_bad: bool = false, for Trace;
    /// a device's name, or `"stacked"`: all, one after another |  | the only one; several are
    /// refused and listed
    trace_device: DeviceChoice, for Trace;
    /// decreasing times: `"refuse"`, `"clamp"` to the latest, `"sort:N"` within N requests | N from
    /// 1 to 1 048 576 | `"refuse"`
    time_backwards: TimeBackwards = TimeBackwards::Refuse, for Trace;
    /// blkparse action that counts as a request | one letter | `"Q"`
    blkparse_action: char, for Trace;
    /// spread requests of one time over this long, at most until the next time | 1 ns to 1 h |
    /// none: they arrive together
    tick: Nanoseconds, for Trace;
    /// first N of the trace, or number to generate | 1 or more | all of the trace; the preset's or
    /// generator's number
    #[serde(deserialize_with = "optional_count")]
    requests: u64, in (1.0.., "must be at least 1; leave it out to take all");
    /// serve the trace N times, one mean gap apart; `requests` counts all; flatters caches and
    /// forecasts | 1 or more | 1
    #[serde(deserialize_with = "optional_count")]
    repeat: u64 = 1, in (1.0.., "must be at least 1; leave it out to serve a trace once");
    /// beyond the device: `"refuse"`; `"dense"`: renumber pages by first access, may lose locality;
    /// `"wrap"`: modulo the capacity, invents overwrites |  | `"refuse"`
    addresses: Addresses = Addresses::Refuse;
    /// factor on the arrival rate; open loop only | above 0 | 1
    speedup: f64 = 1.0,
        in (f64::MIN_POSITIVE..=f64::MAX, "must be above 0; 2 makes requests arrive twice as fast, 0.5 half as fast");
    /// bytes added to every address; 512 realigns a partition at sector 63; results suggest it | 0
    /// or more | 0
    align_offset: Bytes = Bytes(0);
}

table! {
    /// The `[host]` table.
    HostText, HostKeys, "host";
    /// `"open"`: requests begin at arrival; `"closed"`: `queue_depth` outstanding; `"threads"`:
    /// open, at most that many per stream |  | `"open"`
    r#loop: LoopText = LoopText::Open;
    /// outstanding requests, in all or per thread | 1 to 65 536 | 32
    #[serde(deserialize_with = "optional_count")]
    queue_depth: u32,
        in (1.0..=65_536.0, "must be from 1 to 65536; 1 is a host that waits for every request, 32 a busy one");
}

table! {
    /// The `[run]` table.
    RunText, RunKeys, "run";
    /// [preparation](#preconditions) before measuring | `"auto"`, `"none"`, `"fill"`, `"steady"`,
    /// `"workload"` | `"auto"`
    precondition: Precondition = Precondition::Auto;
    /// share of the capacity that holds data after `"fill"` or `"steady"`, or a size; partly full
    /// devices collect more cheaply | above 0, at most 1; no less than the workload touches | all
    in_use: InUse;
    /// memory of the runs, [estimated](#the-oracle-and-the-memory) beforehand; more is refused with
    /// the number | a size | 80 % of the available
    memory_limit: Bytes;
    /// warm-up: first requests, not measured; utilisation and load still cover the whole run | 0 to
    /// less than all requests | 0
    #[serde(deserialize_with = "optional_count")]
    skip: u64 = 0;
    /// split request times by [cause of waiting](#what-requests-waited-for); false: faster, no
    /// other result changes |  | true
    waiting: bool = true;
    /// simulate time; false: [counts alone](performance.md#without-a-clock); `"auto"`: where needed
    /// | | true
    clock: Clock = Clock::On;
    /// points of the time series | 1 to 100 000 | 200
    #[serde(deserialize_with = "optional_count")]
    samples: u32 = 200,
        in (1.0..=100_000.0, "must be from 1 to 100000 points of the time series; 200 draw a smooth line");
    /// years for drive writes per day ([endurance](endurance.md)) | 0.01 to 100 | 5
    warranty_years: f64 = 5.0, in (0.01..=100.0, "must be from 0.01 to 100; makers of drives give 3 or 5");
    /// bytes written per day, for years of life: a size, or a rate such as `"12MB/s"` | 1 kB or
    /// more | the workload's own; closed loop: one drive write
    #[serde(deserialize_with = "optional_bytes_per_day")]
    daily_writes: Bytes, in (1000.0.., "must be 1 kB or more; give the writes per day, for example \"200GB\"");
    /// run under the [oracle](#the-oracle-and-the-memory); same event hash, ten times the memory |
    /// | false
    verify: bool = false;
    /// [latency by class](#latency-by-class-and-timelines) of operation; a third slower |  | false
    classes: bool = false;
    /// [window](#latency-by-class-and-timelines) whose flash operations are recorded; ends early
    /// after some 20 000 operations, and says so | two times, `"10ms..12ms"` | none
    timeline: Window;
    /// window traced down to flash pages for [the player](player.md); at most 100 000 operations
    /// and 262 144 flash pages: ends early, or is refused | as `timeline` | none
    flash_trace: Window;
}
