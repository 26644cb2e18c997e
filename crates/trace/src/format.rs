//! The trace formats that are known here: the one list from which names, help and errors are made.
//!
//! A format is a layout of columns together with what they mean: units of time and address, and
//! which value of the operation is a read. Two formats may share a layout and differ in meaning,
//! which is why a format is never silently chosen among several that fit (see `detect_format.rs`).

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use Template::{Guessed, Sure};

/// Description of a format: all but the parsing of a line, which is its reader's (`read/`).
struct About {
    name: &'static str,
    columns: &'static str,
    time: TimeUnit,
    template: Template,
}

/// The columns of a format as a user would describe them, the unit of times left open (`TIME`);
/// empty where no such description reads it.
#[derive(Clone, Copy)]
pub(crate) enum Template {
    /// Lines tell the format, so nobody mistakes bytes for sectors.
    Sure(&'static str),
    /// Lines of plain numbers.
    Guessed(&'static str),
}

/// Five numbers, as the simulators have them.
const FIVE_NUMBERS: Template = Guessed("time:TIME, device, offset:sector, size:sector, op:1=read");

/// The list: a row for each format, first those that files can have.
macro_rules! formats {
    (files: { $($(#[doc = $doc:literal])+ $file:ident = $about:expr;)+ } others: { $($(#[doc = $else:literal])+ $other:ident = $rest:expr;)+ }) => {
        /// A trace format.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case")]
        pub enum Format {
            $($(#[doc = $doc])+ $file,)+
            $($(#[doc = $else])+ $other,)+
        }

        impl Format {
            /// Every format that a file can have.
            pub const ALL: &[Self] = &[$(Self::$file),+];

            const fn about(self) -> About {
                match self {
                    $(Self::$file => $about,)+
                    $(Self::$other => $rest,)+
                }
            }
        }
    };
}

formats! {
    files: {
        /// MSR Cambridge.
        Msr = About {
            name: "msr",
            columns: "Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime",
            time: TimeUnit::HundredNs,
            template: Guessed("time:TIME, -, device, op, offset:B, size:B, ..."),
        };
        /// SPC, as the `UMass` repository has it.
        Spc = About {
            name: "spc",
            columns: "ASU,LBA,Size,Opcode,Timestamp[,…]",
            time: TimeUnit::S,
            template: Guessed("device, offset:sector, size:B, op, time:TIME, ..."),
        };
        /// Systor '17 (enterprise VDI).
        Systor17 = About {
            name: "systor17",
            columns: "Timestamp,Response,IOType,LUN,Offset,Size",
            time: TimeUnit::S,
            template: Guessed("time:TIME, -, op, device, offset:B, size:B"),
        };
        /// Alibaba block traces.
        Alibaba = About {
            name: "alibaba",
            columns: "device_id,opcode,offset,length,timestamp",
            time: TimeUnit::Us,
            template: Guessed("device, op, offset:B, size:B, time:TIME"),
        };
        /// Tencent block storage.
        Tencent = About {
            name: "tencent",
            columns: "Timestamp,Offset,Size,IOType,VolumeID",
            time: TimeUnit::S,
            template: Guessed("time:TIME, offset:sector, size:sector, op:0=read, device"),
        };
        /// FIU (Florida International University).
        Fiu = About {
            name: "fiu",
            columns: "ts pid process lba size rw major minor md5",
            time: TimeUnit::Ns,
            template: Guessed("time:TIME, -, -, offset:sector, size:sector, op, -, -, -"),
        };
        /// Event Tracing for Windows as text (SNIA: Exchange, `DevDiv`, TPC-E).
        Etw = About {
            name: "etw",
            columns: "DiskRead|DiskWrite, TimeStamp, Process (PID), TID, Irp, ByteOffset, IOSize, ElapsedTime, DiskNum, …",
            time: TimeUnit::Us,
            template: Sure(""),
        };
        /// `CloudPhysics` vscsi, versions 1 and 2, binary.
        Vscsi = About {
            name: "vscsi",
            columns: "binary records of 32 (version 1) or 40 (version 2) bytes",
            time: TimeUnit::Us,
            template: Sure(""),
        };
        /// Text output of blkparse.
        Blkparse = About {
            name: "blkparse",
            columns: "maj,min cpu seq time pid action rwbs sector + sectors [process]",
            time: TimeUnit::S,
            template: Sure(""),
        };
        /// Events of the kernel in text: perf script, trace-cmd, ftrace.
        Ftrace = About {
            name: "ftrace",
            columns: "process pid [cpu] seconds: event: fields",
            time: TimeUnit::S,
            template: Sure(""),
        };
        /// Output of biosnoop, of bcc.
        Biosnoop = About {
            name: "biosnoop",
            columns: "TIME(s) COMM PID DISK T SECTOR BYTES LAT(ms)",
            time: TimeUnit::S,
            template: Sure("time:TIME, -, -, device, op:rwbs, offset:sector, size:B, latency:ms"),
        };
        /// fio iolog, versions 2 and 3.
        Fio = About {
            name: "fio",
            columns: "file action offset length (version 2) or time file action offset length (version 3)",
            time: TimeUnit::Us,
            template: Sure(""),
        };
        /// `DiskSim` ASCII.
        Disksim = About {
            name: "disksim",
            columns: "time device block blocks flags",
            time: TimeUnit::Ms,
            template: FIVE_NUMBERS,
        };
        /// `SSDsim`.
        Ssdsim = About {
            name: "ssdsim",
            columns: "time device sector sectors operation",
            time: TimeUnit::Ns,
            template: FIVE_NUMBERS,
        };
        /// `MQSim` ASCII.
        Mqsim = About {
            name: "mqsim",
            columns: "time device sector sectors type",
            time: TimeUnit::Ns,
            template: FIVE_NUMBERS,
        };
        /// The CSV of `libCacheSim`.
        LibcachesimCsv = About {
            name: "libcachesim-csv",
            columns: "version,time,op,size,lbn",
            time: TimeUnit::S,
            template: Sure("-, time:s, op:28=read|2a=write, size:B, offset:sector"),
        };
        /// Our own, as text: what `convert` writes.
        Csv = About {
            name: "csv",
            columns: "time_ns,op,offset,length,stream,device",
            time: TimeUnit::Ns,
            template: Sure("time:ns, op, offset:B, size:B, -, device"),
        };
        /// Our own, as columns: what `convert` writes.
        Parquet = About {
            name: "parquet",
            columns: "columns time_ns, op, offset, length and, optionally, device, stream, temperature and file_type",
            time: TimeUnit::Ns,
            template: Sure(""),
        };
    }
    others: {
        /// Delimited text whose columns the user names.
        Columns =
            About { name: "columns", columns: "the columns that were named", time: TimeUnit::Ns, template: Sure("") };
        /// Not a file: made by a generator.
        Generated = About { name: "generated", columns: "no columns", time: TimeUnit::Ns, template: Sure("") };
    }
}

impl Format {
    /// The name, as `--format` takes it.
    pub const fn name(self) -> &'static str {
        self.about().name
    }

    /// What a record of it looks like, for help and errors.
    pub const fn columns(self) -> &'static str {
        self.about().columns
    }

    /// The unit of its times unless `--time-unit` says otherwise.
    pub const fn time_unit(self) -> TimeUnit {
        self.about().time
    }

    /// Its columns as a user would describe them.
    pub(crate) const fn template(self) -> Template {
        self.about().template
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Format {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        Self::ALL
            .iter()
            .copied()
            .find(|format| format.name() == name)
            .ok_or_else(|| format!("unknown trace format {name:?}; known are {}", list()))
    }
}

/// All formats in a sentence.
pub(crate) fn list() -> String {
    Format::ALL.iter().map(|format| format.name()).collect::<Vec<_>>().join(", ")
}

/// The unit in which a trace counts time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TimeUnit {
    /// Nanoseconds.
    #[serde(rename = "ns")]
    Ns,
    /// 100 ns, the tick of Windows file times.
    #[serde(rename = "100ns")]
    HundredNs,
    /// Microseconds.
    #[serde(rename = "us")]
    Us,
    /// Milliseconds.
    #[serde(rename = "ms")]
    Ms,
    /// Seconds.
    #[serde(rename = "s")]
    S,
}

impl TimeUnit {
    pub(crate) const ALL: [Self; 5] = [Self::Ns, Self::HundredNs, Self::Us, Self::Ms, Self::S];

    /// Name and nanoseconds of each.
    const ABOUT: [(&'static str, u64); 5] =
        [("ns", 1), ("100ns", 100), ("us", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000)];

    /// Nanoseconds in one of it.
    pub const fn ns(self) -> u64 {
        Self::ABOUT[self as usize].1
    }

    /// The name, as `--time-unit` takes it.
    pub const fn name(self) -> &'static str {
        Self::ABOUT[self as usize].0
    }
}

impl fmt::Display for TimeUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for TimeUnit {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|unit| unit.name() == name)
            .ok_or_else(|| format!("unknown time unit {name:?}; known are {}", Self::ALL.map(Self::name).join(", ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_go_both_ways_and_serde_agrees_with_them() {
        for &format in Format::ALL {
            assert_eq!(format.name().parse::<Format>(), Ok(format));
            assert_eq!(serde_json::to_value(format).unwrap(), format.name());
        }
        for unit in TimeUnit::ALL {
            assert_eq!(unit.name().parse::<TimeUnit>(), Ok(unit));
            assert_eq!(serde_json::to_value(unit).unwrap(), unit.name());
        }
    }

    #[test]
    fn unknown_names_are_answered_with_the_known_ones() {
        let error = "msrc".parse::<Format>().unwrap_err();
        assert!(error.contains("\"msrc\"") && error.contains("msr, spc"), "{error}");
        assert!("minutes".parse::<TimeUnit>().unwrap_err().contains("ns, 100ns, us, ms, s"));
    }
}
