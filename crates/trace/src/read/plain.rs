//! The formats whose lines are plain columns: a row for each.

use host::HostOp;

use super::fields::{Blanks, Separated, Walk};
use super::layout::{Layout, Parsed};
use super::request::{Numbers, Request};
use super::source::{Fault, Raw};
use crate::columns::Column;
use crate::devices::Devices;
use crate::format::{Format, TimeUnit};
use crate::units::SECTOR;

/// A column, and what errors call it.
type Titled = (&'static str, Column);

/// MSR Cambridge. Times are Windows file times. A device is a host's disk, named as the traces are:
/// host `hm`, disk 0 is `hm_0`. The response time is the traced device's and says nothing about a
/// simulated one; it must be there, as a line without it is cut short.
const MSR: &[Titled] = &[
    ("the timestamp", Column::Time(TimeUnit::HundredNs)),
    ("the host name", Column::DeviceWith("the disk number")),
    ("the type", Column::Op(Vec::new())),
    ("the offset", Column::Offset(1)),
    ("the size", Column::Size(1)),
    ("the response time", Column::Whole),
];

/// SPC. The LBA counts sectors within an application storage unit (ASU), the device. Lines may have
/// further fields, not all of them the same number. Equal times are common.
const SPC: &[Titled] = &[
    ("the ASU", Column::DeviceNumber),
    ("the LBA", Column::Offset(SECTOR)),
    ("the size", Column::Size(1)),
    ("the opcode", Column::Op(Vec::new())),
    ("the timestamp", Column::Time(TimeUnit::S)),
];

/// Systor '17, virtual desktops. Times are those of Unix. Where no response was seen, the response
/// time and the type may be blank, and such lines are no requests.
const SYSTOR17: &[Titled] = &[
    ("the timestamp", Column::Time(TimeUnit::S)),
    ("the response time", Column::DurationOrBlank),
    ("the type", Column::OpOrBlank),
    ("the LUN", Column::Device),
    ("the offset", Column::Offset(1)),
    ("the size", Column::Size(1)),
];

/// Alibaba block traces. One file holds a thousand virtual disks.
const ALIBABA: &[Titled] = &[
    ("the device", Column::Device),
    ("the opcode", Column::Op(Vec::new())),
    ("the offset", Column::Offset(1)),
    ("the length", Column::Size(1)),
    ("the timestamp", Column::Time(TimeUnit::Us)),
];

/// Tencent block storage. Times are whole seconds, so many requests share one; **0 is a read, 1 a
/// write**, the reverse of what the simulators' formats mean by them.
const TENCENT: &[Titled] = &[
    ("the timestamp", Column::Time(TimeUnit::S)),
    ("the offset", Column::Offset(SECTOR)),
    ("the size", Column::Size(SECTOR)),
    ("the type", Column::Digit { read: b'0', write: b'1' }),
    ("the volume", Column::Device),
];

/// `DiskSim` ASCII. Of the flags bit 0 set is a **read**; the others (synchronous, urgent, …)
/// do not matter here.
const DISKSIM: &[Titled] = &[
    ("the time", Column::Time(TimeUnit::Ms)),
    ("the device", Column::DeviceNumber),
    ("the block", Column::Offset(SECTOR)),
    ("the size", Column::Size(SECTOR)),
    ("the flags field", Column::Flags),
];

/// `SSDsim` and `MQSim` ASCII, alike in layout and meaning: 1 is a read and 0 a write
/// (`ASCIITraceReadCode` in `MQSim`'s source). They remain two formats because their users know
/// their files by these names. Files in this layout with times in microseconds are about; nothing
/// in them says so, and `--time-unit us` does. `DiskSim` has the same five columns too; which one a
/// file of whole numbers has must be said.
const SIMULATOR: &[Titled] = &[
    ("the time", Column::WholeTime),
    ("the device", Column::DeviceNumber),
    ("the sector", Column::Offset(SECTOR)),
    ("the size", Column::Size(SECTOR)),
    ("the operation", Column::Digit { read: b'1', write: b'0' }),
];

/// The CSV of `libCacheSim`, a `CloudPhysics` trace in text: operations are SCSI codes. One device.
const LIBCACHESIM: &[Titled] = &[
    ("the version", Column::Version),
    ("the time", Column::Time(TimeUnit::S)),
    ("the op", Column::ScsiCode),
    ("the size", Column::Size(1)),
    ("the lbn", Column::Offset(SECTOR)),
];

/// A format of plain columns, counting time in a given unit.
pub(super) struct Plain {
    format: Format,
    list: &'static [Titled],
    numbers: Numbers,
}

impl Plain {
    /// The format, if it is one of plain columns.
    pub(super) fn of(format: Format, unit: TimeUnit) -> Option<Self> {
        let list = match format {
            Format::Msr => MSR,
            Format::Spc => SPC,
            Format::Systor17 => SYSTOR17,
            Format::Alibaba => ALIBABA,
            Format::Tencent => TENCENT,
            Format::Disksim => DISKSIM,
            Format::Ssdsim | Format::Mqsim => SIMULATOR,
            Format::LibcachesimCsv => LIBCACHESIM,
            _ => return None,
        };
        Some(Self { format, list, numbers: Numbers { unit, is_exact: true, decimal_comma: false } })
    }

    #[inline]
    fn request<'a>(&self, mut fields: impl Walk<'a>, is_open: bool, devices: &mut Devices) -> Result<Parsed, Fault> {
        let mut request = Request::new(Raw::new(0, HostOp::Read, 0, 0, 0));
        for (name, column) in self.list {
            request.take(name, column, &mut fields, self.numbers)?;
        }
        if !is_open {
            let pairs = self.list.iter().filter(|(_, column)| matches!(column, Column::DeviceWith(_)));
            fields.end(self.list.len() + pairs.count())?;
        }
        request.finish(devices)
    }
}

impl Layout for Plain {
    fn read(&mut self, line: &[u8], devices: &mut Devices) -> Result<Parsed, Fault> {
        match self.format {
            Format::Disksim | Format::Ssdsim | Format::Mqsim => self.request(Blanks::new(line), false, devices),
            format => self.request(Separated::by_commas(line), format == Format::Spc, devices),
        }
    }

    /// The names between commas, without those that may follow.
    fn header(&self) -> Option<&'static str> {
        self.format.columns().split('[').next().filter(|columns| columns.contains(','))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{error, record, records, trace};
    use super::*;
    use crate::format::Format::{Alibaba, Disksim, LibcachesimCsv, Mqsim, Msr, Spc, Ssdsim, Systor17, Tencent};
    use crate::record::Record;
    use HostOp::{Flush, Read, Write};

    const SYSTOR17_TEXT: &str = "Timestamp,Response,IOType,LUN,Offset,Size\n\
        1455592511.002033000,0.000422000,W,2,25770000384,4096\n\
        1455592511.002041000,,,2,1024,4096\n\
        1455592511.502041000,0.0005,R,5,512,8192\n";

    const LIBCACHESIM_TEXT: &str =
        "version,time,op,size,lbn\n1,500,2a,512,1000\n1,500,12,36,0\n1,502,28,4096,2000\n1,503,35,0,0\n";

    /// What each format counts in, how it tells reads from writes, and what it calls devices.
    #[test]
    fn units_operations_and_devices_are_those_of_the_format() {
        for (format, text, devices, expected) in [
            (
                Msr,
                "128166372003061629,web,0,Read,7014609920,24576,41286\n128166372016382155,web,1,Write,1317441536,8192,1963\n\
                 128166372026382245,web,0,Write,2436440064,4096,1835\n",
                &["web_0", "web_1"][..],
                vec![
                    record(0, Read, 7_014_609_920, 24576),
                    on(1, 1_332_052_600, Write, 1_317_441_536, 8192),
                    record(2_332_061_600, Write, 2_436_440_064, 4096),
                ],
            ),
            (
                Spc,
                "0,303567,3584,w,0.000000\n1,55590,3072,R,0.026214,7,x\n0,8,512,r,0.026214\n",
                &["0", "1"],
                vec![
                    record(0, Write, 303_567 * 512, 3584),
                    on(1, 26_214_000, Read, 55_590 * 512, 3072),
                    record(26_214_000, Read, 4096, 512),
                ],
            ),
            (
                Systor17,
                SYSTOR17_TEXT,
                &["2", "5"],
                vec![record(0, Write, 25_770_000_384, 4096), on(1, 500_008_000, Read, 512, 8192)],
            ),
            (
                Alibaba,
                "419,W,8792731648,16384,1577808000000046\n725,R,59110326272,360448,1577808000000060\n",
                &["419", "725"],
                vec![record(0, Write, 8_792_731_648, 16384), on(1, 14_000, Read, 59_110_326_272, 360_448)],
            ),
            (
                Tencent,
                "1538323200,12910952,128,0,1063\n1538323201,6338688,8,1,1627\n",
                &["1063", "1627"],
                vec![record(0, Read, 12_910_952 * 512, 65536), on(1, 1_000_000_000, Write, 6_338_688 * 512, 4096)],
            ),
        ] {
            reads_as(format, text, devices, expected);
        }
    }

    #[test]
    fn digits_flags_and_codes_tell_reads_from_writes() {
        let simulators = "1000 4 264719034 16 0\n26214000 0 303574 7 1\n";
        let of_simulators =
            vec![record(0, Write, 264_719_034 * 512, 8192), on(1, 26_213_000, Read, 303_574 * 512, 3584)];
        for (format, text, devices, expected) in [
            (
                Disksim,
                "13.191135\t30\t0\t5\t1\n17.829285\t20\t576560\t6\t1a\n18 30 8 8 0x3\n",
                &["30", "20"][..],
                vec![
                    record(0, Read, 0, 2560),
                    on(1, 4_638_150, Write, 576_560 * 512, 3072),
                    record(4_808_865, Read, 4096, 4096),
                ],
            ),
            (Ssdsim, simulators, &["4", "0"], of_simulators.clone()),
            (Mqsim, simulators, &["4", "0"], of_simulators),
            (
                LibcachesimCsv,
                LIBCACHESIM_TEXT,
                &["0"],
                vec![
                    record(0, Write, 512_000, 512),
                    record(2_000_000_000, Read, 1_024_000, 4096),
                    record(3_000_000_000, Flush, 0, 0),
                ],
            ),
        ] {
            reads_as(format, text, devices, expected);
        }
    }

    fn reads_as(format: Format, text: &str, devices: &[&str], expected: Vec<Record>) {
        let devices = devices.iter().map(|&name| name.to_owned()).collect();
        assert_eq!(records(format, text), (expected, devices), "{format}");
    }

    /// A record of another device than the first.
    fn on(device: u32, time_ns: u64, op: HostOp, offset: u64, length: u32) -> Record {
        Record { device, ..record(time_ns, op, offset, length) }
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (format, line, part) in [
            (Msr, "1,h,0,Trim,0,512,1", "the type is `Trim`; expected R or W"),
            (Msr, "1,h,0,Read,-5,512,1", "the offset is `-5`; expected a whole number"),
            (Msr, "1,h,0,Read,0,99999999999999999999,1", "the size is `99999999999999999999`"),
            (Msr, "1,h,0,Read,0,512", "the record ends before the response time"),
            (Msr, "1,h,0,Read,0,512,1,2", "goes on after its 7 fields with `2`"),
            (Msr, "300000000000000000,h,0,Read,0,512,1", "the timestamp is `300000000000000000`"),
            (Msr, "1,h,0,Read,18446744073709551615,512,1", "ends beyond 2^64-1"),
            (Msr, "1,h,0,Read,0,0,1", "the size is 0"),
            (Msr, "1,h,,Read,0,512,1", "the disk number is empty"),
            (Spc, "0,36028797018963968,512,w,0", "the LBA is 36028797018963968 sectors"),
            (Spc, "0,1,512,x,0", "the opcode is `x`"),
            (Spc, "0,1,512,w,-0.5", "the timestamp is `-0.5`"),
            (Spc, "a,1,512,w,0", "the ASU is `a`"),
            (Spc, "0,1,512,w", "ends before the timestamp"),
            (Systor17, "1.5,0.1,X,0,0,512", "the type is `X`"),
            (Systor17, "1.5,0.1,R,,0,512", "the device is empty"),
            (Systor17, "1.5,fast,R,0,0,512", "the response time is `fast`"),
            (Alibaba, "1,2,0,512,0", "the opcode is `2`"),
            (Alibaba, ",R,0,512,0", "the device is empty"),
            (Alibaba, "1,R,0,512,18446744073709552", "the timestamp is `18446744073709552`"),
            (Tencent, "1,0,8,2,1", "the type is `2`; expected 0 (read) or 1 (write)"),
            (Tencent, "1,0,36028797018963968,0,1", "the size is 36028797018963968 sectors"),
            (Tencent, "1,0,8388608,0,1", "the size is 4294967296 bytes"),
            (Disksim, "1.0 0 5 8 R", "the flags field is `R`; expected a hexadecimal number"),
            (Disksim, "1.0 0 5.5 8 1", "the block is `5.5`"),
            (Disksim, "1.0 disk 5 8 1", "the device is `disk`"),
            (Ssdsim, "0 0 1 8 2", "the operation is `2`; expected 1 (read) or 0 (write)"),
            (Mqsim, "0.5 0 1 8 1", "the time is `0.5`; expected a whole number"),
            (Ssdsim, "0 0 1 8", "ends before the operation"),
            (Mqsim, "0 0 1 8 1 1", "goes on after its 5 fields"),
            (LibcachesimCsv, "7,500,2a,512,1000", "the version is `7`; expected 1 or 2"),
            (LibcachesimCsv, "1,500,write,512,1000", "the op is `write`"),
        ] {
            let error = error(format, line);
            assert!(error.contains(part) && error.contains("test, line 1"), "{format}: {error}");
        }
    }

    #[test]
    fn lines_that_are_no_requests_are_counted_and_left_out() {
        for (format, text, requests, kind) in
            [(Systor17, SYSTOR17_TEXT, 2, "untyped request"), (LibcachesimCsv, LIBCACHESIM_TEXT, 3, "non-data command")]
        {
            let mut trace = trace(format, text.as_bytes());
            assert_eq!(trace.by_ref().count(), requests);
            assert_eq!((trace.left_out()[kind], trace.left_out()["header line"], trace.skipped()), (1, 1, 0));
        }
    }

    #[test]
    fn rows_count_time_as_their_format_does() {
        for &format in Format::ALL {
            let list = Plain::of(format, format.time_unit()).map_or(&[][..], |plain| plain.list);
            let units =
                list.iter().filter_map(|(_, column)| if let Column::Time(unit) = column { Some(*unit) } else { None });
            units.for_each(|unit| assert_eq!(unit, format.time_unit(), "{format}"));
        }
    }

    #[test]
    fn a_header_may_stand_first_and_only_there() {
        let header = Msr.columns();
        assert_eq!(records(Msr, &format!("{header}\n1,h,0,Read,0,512,1\n")).0.len(), 1);
        assert!(error(Msr, &format!("1,h,0,Read,0,512,1\n{header}\n")).contains("line 2"));
    }
}
