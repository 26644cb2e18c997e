//! What one line of a text format says, and the fields that many formats write alike.

use host::HostOp;

use super::source::{Fault, Raw};
use crate::devices::{Devices, plain};
use crate::units::several;

/// What a line of a text format says.
pub(crate) enum Parsed {
    /// The line is a request.
    Request(Raw),
    /// The line is several requests, one after the other, such as a write between two flushes.
    Requests([Option<Raw>; 3]),
    /// Something that the format provides for and that is no request, by kind.
    Other(&'static str),
}

/// Whether a line is like that.
pub(crate) type IsLike<'a> = dyn FnMut(&[u8]) -> bool + 'a;

/// Whether any line of a file is like that.
pub(crate) type AnyLine<'a> = dyn FnMut(&mut IsLike<'_>) -> bool + 'a;

/// One text format: how a line reads.
pub(crate) trait Layout: Send {
    /// Reads a line that is not blank. `devices` numbers the devices it names.
    fn read(&mut self, line: &[u8], devices: &mut Devices) -> Result<Parsed, Fault>;

    /// Looks ahead where the meaning of a line depends on others: the argument says whether any
    /// line of the file is like that.
    fn prepare(&mut self, _any_line: &mut AnyLine<'_>) {}

    /// A line that may stand first and names the columns.
    fn header(&self) -> Option<&'static str> {
        None
    }

    /// The names of its columns in order, where they are not those of the format.
    fn names(&self) -> Option<Vec<String>> {
        None
    }

    /// What a line that is no row calls the columns, perhaps nothing; none for a row. Asked up to
    /// the first row.
    fn heading(&self, _line: &[u8]) -> Option<Vec<String>> {
        None
    }

    /// The fields of a line, one for each column, where they do not stand as the format's
    /// description has it.
    fn fields<'a>(&self, _line: &'a [u8]) -> Option<Vec<&'a [u8]>> {
        None
    }

    /// Whether a line, the last one and without its end, is only the beginning of a record: whoever
    /// wrote the file was interrupted.
    fn is_cut(&self, _line: &[u8]) -> bool {
        false
    }

    /// What its user says of values that no row has had so far: clauses.
    fn unmatched(&self) -> Vec<String> {
        Vec::new()
    }

    /// Why a trace that was read to its end may have held no request, and what to do: a clause
    /// starting with punctuation.
    fn remark(&self) -> Option<String> {
        None
    }
}

/// The device that a line writes as `key`, named as it is written.
#[inline]
pub(super) fn device(devices: &mut Devices, key: &[u8]) -> Result<u32, Fault> {
    if key.is_empty() {
        return Err(Fault::field("the device", key, "its name or number"));
    }
    devices.number(key, plain).ok_or_else(too_many_devices)
}

/// Why events of an action that the text has gave no request: a clause starting with punctuation.
pub(super) fn without_data(action: u8, events: u64) -> String {
    let (action, events) = (action as char, several(events, "event"));
    format!(
        ": {events} of action {action}, and none moves data (no operation, N, or a command of administration). Record the trace \
         while a workload runs, or take another action (--blkparse-action)"
    )
}

/// What times are where an action of the kernel's events is that of completions: a clause.
pub(super) fn of_completions(action: u8) -> Option<String> {
    let clause = "its times are completions (action C), whose arrivals were earlier; take dispatched or queued requests if it has them \
                  (--blkparse-action D or Q)";
    (action == b'C').then(|| clause.to_owned())
}

#[cold]
pub(super) fn too_many_devices() -> Fault {
    Fault::new(
        "this is the 1048577th device, but a trace has at most 1048576; its device column is probably another one",
    )
}

/// `R`, `W` and their words, in any case.
#[inline]
pub(super) fn read_or_write(name: &str, field: &[u8]) -> Result<HostOp, Fault> {
    match field {
        b"R" | b"r" => Ok(HostOp::Read),
        b"W" | b"w" => Ok(HostOp::Write),
        _ if field.eq_ignore_ascii_case(b"Read") => Ok(HostOp::Read),
        _ if field.eq_ignore_ascii_case(b"Write") => Ok(HostOp::Write),
        _ => Err(Fault::field(name, field, "R or W (Read or Write)")),
    }
}

/// A digit that says read or write.
#[inline]
pub(super) fn read_or_write_digit(name: &str, field: &[u8], read: u8, write: u8) -> Result<HostOp, Fault> {
    match field {
        [digit] if *digit == read => Ok(HostOp::Read),
        [digit] if *digit == write => Ok(HostOp::Write),
        _ => Err(Fault::field(name, field, &format!("{} (read) or {} (write)", read as char, write as char))),
    }
}

/// What a SCSI command does to the medium, by its operation code; none for those that neither read,
/// write nor flush it (inquiries, reservations, …). An UNMAP names its ranges in data that traces
/// do not carry, so it is none too.
pub(super) fn scsi_operation(code: u64) -> Option<HostOp> {
    match code {
        0x08 | 0x28 | 0x88 | 0xa8 => Some(HostOp::Read),
        0x0a | 0x2a | 0x8a | 0xaa => Some(HostOp::Write),
        0x35 | 0x91 => Some(HostOp::Flush),
        _ => None,
    }
}
