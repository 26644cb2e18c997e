//! The trace formats that are known here: the one list from which names, help and errors are made.
//!
//! A format is a layout of columns together with what they mean: units of time and address, and which value of the
//! operation is a read. Two formats may share a layout and differ in meaning, which is why a format is never silently
//! chosen among several that fit (see [`crate::guess`]).

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A trace format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// MSR Cambridge.
    Msr,
    /// SPC, as the `UMass` repository has it.
    Spc,
    /// Systor '17 (enterprise VDI).
    Systor17,
    /// Alibaba block traces.
    Alibaba,
    /// Tencent block storage.
    Tencent,
    /// FIU (Florida International University).
    Fiu,
    /// Event Tracing for Windows as text (SNIA: Exchange, `DevDiv`, TPC-E).
    Etw,
    /// `CloudPhysics` vscsi, versions 1 and 2, binary.
    Vscsi,
    /// Text output of blkparse.
    Blkparse,
    /// fio iolog, versions 2 and 3.
    Fio,
    /// `DiskSim` ASCII.
    Disksim,
    /// `SSDsim`.
    Ssdsim,
    /// `MQSim` ASCII.
    Mqsim,
    /// The CSV of `libCacheSim`.
    LibcachesimCsv,
    /// Delimited text whose columns the user names.
    Columns,
    /// Our own, as text: what `convert` writes.
    Csv,
    /// Our own, as columns: what `convert` writes.
    Parquet,
    /// Not a file: made by a generator.
    Generated,
}

impl Format {
    /// Every format that a file can have.
    pub const ALL: [Self; 16] = [
        Self::Msr,
        Self::Spc,
        Self::Systor17,
        Self::Alibaba,
        Self::Tencent,
        Self::Fiu,
        Self::Etw,
        Self::Vscsi,
        Self::Blkparse,
        Self::Fio,
        Self::Disksim,
        Self::Ssdsim,
        Self::Mqsim,
        Self::LibcachesimCsv,
        Self::Csv,
        Self::Parquet,
    ];

    /// The name, as `--format` takes it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Msr => "msr",
            Self::Spc => "spc",
            Self::Systor17 => "systor17",
            Self::Alibaba => "alibaba",
            Self::Tencent => "tencent",
            Self::Fiu => "fiu",
            Self::Etw => "etw",
            Self::Vscsi => "vscsi",
            Self::Blkparse => "blkparse",
            Self::Fio => "fio",
            Self::Disksim => "disksim",
            Self::Ssdsim => "ssdsim",
            Self::Mqsim => "mqsim",
            Self::LibcachesimCsv => "libcachesim-csv",
            Self::Columns => "columns",
            Self::Csv => "csv",
            Self::Parquet => "parquet",
            Self::Generated => "generated",
        }
    }

    /// What a record of it looks like, for help and errors.
    pub const fn columns(self) -> &'static str {
        match self {
            Self::Msr => "Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime",
            Self::Spc => "ASU,LBA,Size,Opcode,Timestamp[,…]",
            Self::Systor17 => "Timestamp,Response,IOType,LUN,Offset,Size",
            Self::Alibaba => "device_id,opcode,offset,length,timestamp",
            Self::Tencent => "Timestamp,Offset,Size,IOType,VolumeID",
            Self::Fiu => "ts pid process lba size rw major minor md5",
            Self::Etw => {
                "DiskRead|DiskWrite, TimeStamp, Process (PID), TID, Irp, ByteOffset, IOSize, ElapsedTime, DiskNum, …"
            }
            Self::Vscsi => "binary records of 32 (version 1) or 40 (version 2) bytes",
            Self::Blkparse => "maj,min cpu seq time pid action rwbs sector + sectors [process]",
            Self::Fio => "file action offset length (version 2) or time file action offset length (version 3)",
            Self::Disksim => "time device block blocks flags",
            Self::Ssdsim => "time device sector sectors operation",
            Self::Mqsim => "time device sector sectors type",
            Self::LibcachesimCsv => "version,time,op,size,lbn",
            Self::Columns => "the columns that were named",
            Self::Csv => "time_ns,op,offset,length,stream,device",
            Self::Parquet => "columns time_ns, op, offset, length and, optionally, device and stream",
            Self::Generated => "no columns",
        }
    }

    /// The unit of its times unless `--time-unit` says otherwise.
    pub const fn time_unit(self) -> TimeUnit {
        match self {
            Self::Msr => TimeUnit::HundredNs,
            Self::Spc | Self::Systor17 | Self::Tencent | Self::Blkparse | Self::LibcachesimCsv => TimeUnit::S,
            Self::Alibaba | Self::Etw | Self::Vscsi | Self::Fio => TimeUnit::Us,
            Self::Disksim => TimeUnit::Ms,
            Self::Fiu | Self::Ssdsim | Self::Mqsim | Self::Columns | Self::Csv | Self::Parquet | Self::Generated => {
                TimeUnit::Ns
            }
        }
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
            .into_iter()
            .find(|format| format.name() == name)
            .ok_or_else(|| format!("unknown trace format {name:?}; known are {}", list()))
    }
}

/// All formats in a sentence.
pub(crate) fn list() -> String {
    Format::ALL.map(Format::name).join(", ")
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
    const ALL: [Self; 5] = [Self::Ns, Self::HundredNs, Self::Us, Self::Ms, Self::S];

    /// Nanoseconds in one of it.
    pub const fn ns(self) -> u64 {
        match self {
            Self::Ns => 1,
            Self::HundredNs => 100,
            Self::Us => 1_000,
            Self::Ms => 1_000_000,
            Self::S => 1_000_000_000,
        }
    }

    /// The name, as `--time-unit` takes it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ns => "ns",
            Self::HundredNs => "100ns",
            Self::Us => "us",
            Self::Ms => "ms",
            Self::S => "s",
        }
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
        for format in Format::ALL {
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
