//! SPC, as the `UMass` repository publishes Financial and `WebSearch`:
//! `ASU,LBA,Size,Opcode,Timestamp[,…]`.
//!
//! LBA counts 512 B sectors **within** an application storage unit (ASU), which is the device; size
//! is in bytes; the opcode is r or w in any case; timestamps are seconds since the start. Lines may
//! carry further fields, not all of them the same number, which are left alone. Equal timestamps
//! are common.

use super::fields::{Commas, sectors, whole};
use super::layout::{Layout, Parsed, device, read_or_write};
use super::source::{Fault, Raw};
use crate::devices::Devices;
use crate::format::TimeUnit;

/// The layout, counting time in a given unit.
pub(super) struct Spc {
    unit: TimeUnit,
}

impl Spc {
    pub(super) fn new(unit: TimeUnit) -> Self {
        Self { unit }
    }
}

impl Layout for Spc {
    fn read(&mut self, line: &[u8], devices: &mut Devices) -> Result<Parsed, Fault> {
        let mut fields = Commas::new(line);
        let unit = fields.next("the ASU")?;
        whole(unit).map_err(|expected| Fault::field("the ASU", unit, expected))?;
        let lba = fields.whole("the LBA")?;
        let size = fields.whole("the size")?;
        let op = read_or_write("the opcode", fields.next("the opcode")?)?;
        let time_ns = fields.time("the timestamp", self.unit)?;
        let request = Raw::new(time_ns, op, sectors("the LBA", lba)?, size, device(devices, unit)?);
        Ok(Parsed::Request(request))
    }

    fn header(&self) -> Option<&'static str> {
        Some("ASU,LBA,Size,Opcode,Timestamp")
    }
}

#[cfg(test)]
mod tests {
    use host::HostOp;

    use super::super::testing::{error, record, records};
    use crate::format::Format::Spc;
    use crate::record::Record;

    #[test]
    fn sectors_bytes_seconds_and_optional_fields() {
        let (records, devices) =
            records(Spc, "0,303567,3584,w,0.000000\n1,55590,3072,R,0.026214,7,x\n0,8,512,r,0.026214\n");
        assert_eq!(devices, ["0", "1"]);
        assert_eq!(records[0], record(0, HostOp::Write, 303_567 * 512, 3584));
        assert_eq!(records[1], Record { device: 1, ..record(26_214_000, HostOp::Read, 55_590 * 512, 3072) });
        assert_eq!(records[2], record(26_214_000, HostOp::Read, 4096, 512));
    }

    #[test]
    fn what_is_wrong_is_named() {
        assert!(error(Spc, "0,36028797018963968,512,w,0").contains("the LBA is 36028797018963968 sectors"));
        assert!(error(Spc, "0,1,512,x,0").contains("the opcode is `x`"));
        assert!(error(Spc, "0,1,512,w,-0.5").contains("the timestamp is `-0.5`"));
        assert!(error(Spc, "a,1,512,w,0").contains("the ASU is `a`"));
        assert!(error(Spc, "0,1,512,w").contains("ends before the timestamp"));
    }
}
