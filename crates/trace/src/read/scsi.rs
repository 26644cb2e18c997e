//! SCSI operation codes, as far as they move data.

use host::HostOp;

/// What a command does to the medium; none for those that neither read, write nor flush it
/// (inquiries, reservations, …). An UNMAP names its ranges in data that traces do not carry, so it
/// is none too.
pub(super) fn operation(code: u64) -> Option<HostOp> {
    match code {
        0x08 | 0x28 | 0x88 | 0xa8 => Some(HostOp::Read),
        0x0a | 0x2a | 0x8a | 0xaa => Some(HostOp::Write),
        0x35 | 0x91 => Some(HostOp::Flush),
        _ => None,
    }
}
