//! Systor '17, virtual desktops: `Timestamp,Response,IOType,LUN,Offset,Size`.
//!
//! Timestamps are Unix seconds with a fraction; offset and size are bytes; the type is R or W, or
//! blank where no response was seen, and such lines are no requests. The response time may be blank
//! too and is not used.

use super::fields::{Commas, time};
use super::layout::{Layout, Parsed, device, read_or_write};
use super::source::{Fault, Raw};
use crate::devices::Devices;
use crate::format::{Format, TimeUnit};

/// The layout, counting time in a given unit.
pub(super) struct Systor17 {
    unit: TimeUnit,
}

impl Systor17 {
    pub(super) fn new(unit: TimeUnit) -> Self {
        Self { unit }
    }
}

impl Layout for Systor17 {
    fn read(&mut self, line: &[u8], devices: &mut Devices) -> Result<Parsed, Fault> {
        let mut fields = Commas::new(line);
        let time_ns = fields.time("the timestamp", self.unit)?;
        let response = fields.next("the response time")?;
        if !response.is_empty() {
            time(response, TimeUnit::S).map_err(|expected| Fault::field("the response time", response, expected))?;
        }
        let kind = fields.next("the type")?;
        let lun = fields.next("the LUN")?;
        let offset = fields.whole("the offset")?;
        let size = fields.whole("the size")?;
        fields.end(6)?;
        if kind.is_empty() {
            return Ok(Parsed::Other("untyped request"));
        }
        let op = read_or_write("the type", kind)?;
        Ok(Parsed::Request(Raw::new(time_ns, op, offset, size, device(devices, lun)?)))
    }

    fn header(&self) -> Option<&'static str> {
        Some(Format::Systor17.columns())
    }
}

#[cfg(test)]
mod tests {
    use host::HostOp;

    use super::super::testing::{error, record, records, trace};
    use crate::format::Format::Systor17;
    use crate::record::Record;

    const TEXT: &str = "Timestamp,Response,IOType,LUN,Offset,Size\n\
        1455592511.002033000,0.000422000,W,2,25770000384,4096\n\
        1455592511.002041000,,,2,1024,4096\n\
        1455592511.502041000,0.0005,R,5,512,8192\n";

    #[test]
    fn unix_seconds_bytes_and_luns() {
        let (records, devices) = records(Systor17, TEXT);
        assert_eq!(devices, ["2", "5"]);
        assert_eq!(records[0], record(0, HostOp::Write, 25_770_000_384, 4096));
        assert_eq!(records[1], Record { device: 1, ..record(500_008_000, HostOp::Read, 512, 8192) });
    }

    #[test]
    fn requests_without_a_type_are_counted_and_left_out() {
        let mut trace = trace(Systor17, TEXT.as_bytes());
        assert_eq!(trace.by_ref().count(), 2);
        assert_eq!(trace.left_out()["untyped request"], 1);
        assert_eq!(trace.left_out()["header line"], 1);
        assert_eq!(trace.skipped(), 0);
    }

    #[test]
    fn what_is_wrong_is_named() {
        assert!(error(Systor17, "1.5,0.1,X,0,0,512").contains("the type is `X`"));
        assert!(error(Systor17, "1.5,0.1,R,,0,512").contains("the device is empty"));
        assert!(error(Systor17, "1.5,fast,R,0,0,512").contains("the response time is `fast`"));
    }
}
