//! State of a device, like the SMART page of a drive: requests, their cost, wear, remaining life.

use std::fmt::Write;
use std::sync::atomic::Ordering;

use flash::Flash;
use ftl::{Cause, FlashOp, Note, Spares};
use serde::Serialize;
use sim::Responses;

use super::shared::{FilesStat, Shared, TypeStat};
use crate::drive::{HostCounts, LiveDrive};
use crate::image::Counters;

/// How a device is.
#[derive(Clone, Debug, Serialize)]
pub struct Stat {
    /// Name of the translation layer.
    pub ftl: String,
    /// Bytes that the host sees.
    pub logical_bytes: u64,
    /// Size of a page.
    pub page_bytes: usize,
    /// Logical pages that may hold data: those that were written and not trimmed since.
    pub valid_pages: u64,
    /// Whether the flash has power.
    pub has_power: bool,
    /// Whether it is served for reading alone.
    pub is_read_only: bool,
    /// Time since the server started, in seconds.
    pub uptime_s: f64,
    /// Clients that are connected now.
    pub clients: usize,
    /// Clients so far.
    pub clients_served: u64,
    /// Requests, and pieces of long ones, that had their turn since the server started.
    pub turns: u64,
    /// The most turns of other clients that any client waited for its own, since the server
    /// started.
    pub turns_waited_max: u64,
    /// What hosts asked for since the power came on.
    pub host: HostCounts,
    /// Bytes programmed ÷ bytes that hosts wrote, since then, as SMART counts; none before the
    /// first write.
    pub write_amplification: Option<f64>,
    /// Pages programmed ÷ pages that hosts' writes touched, since then; none before the first
    /// write.
    pub page_write_amplification: Option<f64>,
    /// Flash operations since then, by cause.
    pub operations: Vec<CausedOperations>,
    /// Events inside the translation layer since then.
    pub notes: Vec<(&'static str, u64)>,
    /// Hits ÷ look-ups of the mapping cache since then; none where there is none.
    pub mapping_hit_ratio: Option<f64>,
    /// Pages written that replaced a version that waited in the write buffer, of all that came into
    /// it; none without one.
    pub buffer_hit_ratio: Option<f64>,
    /// Numbers of the scheme's own.
    pub gauges: Vec<(&'static str, f64)>,
    /// Erases of good blocks over the device's life.
    pub erases: sim::Erases,
    /// The most erases of a block in each of at most 64 stretches of neighbouring good blocks.
    pub wear_map: Vec<u32>,
    /// Erases that a block survives.
    pub endurance: u32,
    /// The most worn block's erases ÷ endurance.
    pub wear: f64,
    /// Blocks that are bad.
    pub bad_blocks: u32,
    /// Blocks that may fail before the device becomes read-only.
    pub spares: Spares,
    /// Reads that needed correction since the server started.
    pub corrected_reads: u64,
    /// How much later replies left than the modelled device would have answered, since the server
    /// started; none without modelled latency.
    pub lateness_ns: Option<Responses>,
    /// Bytes of RAM that a controller would need for the mapping.
    pub mapping_ram_bytes: u64,
    /// Counts over the device's life.
    pub life: Counters,
    /// The files of the mounted file system; none where the image is not mounted.
    pub files: Option<FilesStat>,
}

/// The most erases in each stretch of blocks.
fn wear_map(erases: &[u32]) -> Vec<u32> {
    const MOST_STRETCHES: usize = 64;
    let most = |blocks: &[u32]| blocks.iter().copied().max().unwrap_or(0);
    erases.chunks(erases.len().div_ceil(MOST_STRETCHES).max(1)).map(most).collect()
}

/// Flash operations of one kind for one cause.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct CausedOperations {
    /// The name of the cause.
    pub cause: &'static str,
    /// `read`, `program` or `erase`.
    pub op: &'static str,
    /// How many operations.
    pub count: u64,
}

impl Stat {
    pub(crate) fn of(drive: &LiveDrive, shared: &Shared, is_dark: bool, turns: [u64; 2]) -> Self {
        let [turns, turns_waited_max] = turns;
        let (flash, chip) = (drive.flash(), drive.chip());
        let tally = flash.tally();
        let (programs, counts) = (tally.total(FlashOp::Program), drive.erase_counts());
        let erases = sim::erases(&vec![0; counts.len()], &counts);
        let every = Cause::ALL.iter().flat_map(|&cause| FlashOp::ALL.iter().map(move |&op| (cause, op)));
        let operations = every.map(|(cause, op)| CausedOperations {
            cause: cause.name(),
            op: op.name(),
            count: tally.count(cause, op),
        });
        let endurance = drive.description().endurance;
        Self {
            ftl: drive.description().stack.names(),
            logical_bytes: drive.len(),
            page_bytes: drive.page_bytes(),
            valid_pages: drive.valid_pages(),
            has_power: drive.is_powered() && !is_dark,
            is_read_only: shared.export.is_read_only,
            uptime_s: shared.clock().0 as f64 / 1e9,
            clients: shared.client_count(),
            clients_served: shared.served_clients.load(Ordering::Relaxed),
            turns,
            turns_waited_max,
            host: *drive.counts(),
            write_amplification: sim::write_amplification(
                programs,
                drive.page_bytes() as u32,
                drive.counts().bytes_written,
            ),
            page_write_amplification: sim::page_write_amplification(programs, drive.counts().pages_written),
            operations: operations.filter(|operation| operation.count > 0).collect(),
            notes: Note::ALL
                .iter()
                .map(|&note| (note.name(), tally.note(note)))
                .filter(|(_, count)| *count > 0)
                .collect(),
            mapping_hit_ratio: sim::mapping_hit_ratio(tally),
            buffer_hit_ratio: sim::buffer_hit_ratio(tally),
            gauges: drive.ftl().gauges().into_iter().map(|gauge| (gauge.name, gauge.value)).collect(),
            wear: f64::from(erases.max) / f64::from(endurance),
            wear_map: wear_map(&counts),
            erases,
            endurance,
            bad_blocks: chip.geometry().blocks() - counts.len() as u32,
            spares: drive.ftl().spares(),
            corrected_reads: chip.corrected_reads(),
            lateness_ns: Some(shared.lateness()).filter(|late| late.count > 0),
            mapping_ram_bytes: drive.ftl().footprint().ram_bytes(),
            life: drive.life(),
            files: shared.files(),
        }
    }

    pub(crate) fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_else(|error| {
            super::control::refusal(&crate::LiveError::Bug(format!("a report cannot be written as JSON: {error}")))
        })
    }

    /// Ratios of counts: name, meaning, and value where there is one.
    fn ratios(&self) -> [(&'static str, &'static str, Option<f64>); 4] {
        [
            ("write_amplification", "Bytes programmed per byte written by hosts.", self.write_amplification),
            (
                "page_write_amplification",
                "Pages programmed per page touched by writes of hosts.",
                self.page_write_amplification,
            ),
            ("mapping_hit_ratio", "Hits per look-up of the mapping cache.", self.mapping_hit_ratio),
            ("buffer_hit_ratio", "Pages that replaced one that waited, per page written.", self.buffer_hit_ratio),
        ]
    }

    /// The same for Prometheus, in its text format.
    pub(crate) fn to_prometheus(&self) -> String {
        let mut text = String::new();
        let mut metric = |name: &str, kind: &str, help: &str, values: &[(String, f64)]| {
            // Writing to a string does not fail.
            let _ = writeln!(text, "# HELP ftlkit_{name} {help}\n# TYPE ftlkit_{name} {kind}");
            for (labels, value) in values {
                let _ = writeln!(text, "ftlkit_{name}{labels} {value}");
            }
        };
        let one = |value: f64| vec![(String::new(), value)];
        let host = self.host;
        let by_kind = |pairs: &[(&str, u64)]| -> Vec<(String, f64)> {
            pairs.iter().map(|(kind, count)| (format!("{{kind=\"{kind}\"}}"), *count as f64)).collect()
        };
        metric("up", "gauge", "Whether the flash has power.", &one(f64::from(u8::from(self.has_power))));
        metric("valid_pages", "gauge", "Logical pages that may hold data.", &one(self.valid_pages as f64));
        metric("clients", "gauge", "Clients connected.", &one(self.clients as f64));
        metric("turns_total", "counter", "Requests and pieces of long ones.", &one(self.turns as f64));
        let waited = one(self.turns_waited_max as f64);
        metric("turns_waited_max", "gauge", "Most turns of others that a client waited for its own.", &waited);
        let requests = [("read", host.reads), ("write", host.writes), ("trim", host.trims), ("flush", host.flushes)];
        metric("host_requests_total", "counter", "Requests of hosts.", &by_kind(&requests));
        let bytes = [("read", host.bytes_read), ("write", host.bytes_written)];
        metric("host_bytes_total", "counter", "Bytes that hosts read and wrote.", &by_kind(&bytes));
        metric(
            "host_pages_written_total",
            "counter",
            "Pages touched by writes of hosts.",
            &one(host.pages_written as f64),
        );
        let operations: Vec<_> = self
            .operations
            .iter()
            .map(|CausedOperations { cause, op, count }| (format!("{{cause=\"{cause}\",op=\"{op}\"}}"), *count as f64))
            .collect();
        metric("flash_operations_total", "counter", "Flash operations by cause.", &operations);
        metric("events_total", "counter", "Events inside the translation layer.", &by_kind(&self.notes));
        for (name, meaning, ratio) in self.ratios() {
            if let Some(ratio) = ratio {
                metric(name, "gauge", meaning, &one(ratio));
            }
        }
        metric("block_erases_max", "gauge", "Erases of the most worn block.", &one(self.erases.max.into()));
        metric("block_erases_mean", "gauge", "Erases of a block, on average.", &one(self.erases.mean));
        metric("wear_ratio", "gauge", "Erases of the most worn block per erase that it survives.", &one(self.wear));
        metric("bad_blocks", "gauge", "Blocks that are bad.", &one(self.bad_blocks.into()));
        let spares = [("total", u64::from(self.spares.total)), ("used", u64::from(self.spares.used))];
        metric("spare_blocks", "gauge", "Blocks that may fail, and that have.", &by_kind(&spares));
        if let Some(late) = &self.lateness_ns {
            let quantiles = [("0.5", late.p50), ("0.9", late.p90), ("0.99", late.p99), ("1", late.max)];
            let seconds =
                |(quantile, ns): (&str, Option<u64>)| Some((format!("{{quantile=\"{quantile}\"}}"), ns? as f64 / 1e9));
            let late: Vec<_> = quantiles.into_iter().filter_map(seconds).collect();
            metric("reply_lateness_seconds", "gauge", "How much later replies left than was modelled.", &late);
        }
        if let Some(files) = &self.files {
            metric("file_type_degree", "gauge", "Degree of a type of files in the last interval.", &degrees(files));
        }
        metric("corrected_reads_total", "counter", "Reads that needed correction.", &one(self.corrected_reads as f64));
        text
    }
}

/// Degrees by type, with labels of Prometheus.
fn degrees(files: &FilesStat) -> Vec<(String, f64)> {
    let escaped = |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    let degree = |found: &TypeStat| (format!("{{type=\"{}\"}}", escaped(&found.file_type)), f64::from(found.degree));
    files.types.iter().map(degree).collect()
}
