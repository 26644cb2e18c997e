//! A request as the columns of its line say it, whether a format or its user names them.
//!
//! Nothing is allocated for a line, and a device gets its number only when the rest of its line was
//! understood.

use host::HostOp;

use super::fields::{Walk, hex, scaled, ticks, time, whole};
use super::layout::{Parsed, device, read_or_write, read_or_write_digit, scsi_operation, too_many_devices};
use super::rwbs::Rwbs;
use super::source::{Fault, Raw};
use crate::columns::Column;
use crate::devices::{Devices, plain};
use crate::format::TimeUnit;

/// How numbers are written.
#[derive(Clone, Copy)]
pub(super) struct Numbers {
    /// What times are counted in.
    pub(super) unit: TimeUnit,
    /// Addresses are never hexadecimal.
    pub(super) is_exact: bool,
    /// Numbers have a decimal comma, and points between thousands.
    pub(super) decimal_comma: bool,
}

/// What a line asks for.
enum Asked {
    Data(HostOp),
    Words(Rwbs),
    /// No request, but this kind of line.
    Nothing(&'static str),
}

/// What the columns of a line have said so far.
pub(super) struct Request<'a> {
    raw: Raw,
    asked: Asked,
    device: Option<Device<'a>>,
    latency_ns: Option<u64>,
    /// The fault of an address or size: none of a request without data.
    fault: Option<Fault>,
    /// Which of the user's words says what it does.
    pub(super) word: Option<usize>,
}

/// How a line writes a device.
enum Device<'a> {
    Whole(&'a [u8]),
    /// In two fields with their sign between them.
    Pair(&'a [u8]),
}

impl<'a> Request<'a> {
    /// A request that is `raw` where no column says otherwise.
    #[inline]
    pub(super) const fn new(raw: Raw) -> Self {
        Self { raw, asked: Asked::Data(raw.op), device: None, latency_ns: None, fault: None, word: None }
    }

    /// Takes what a column says from the fields.
    #[inline]
    pub(super) fn take(
        &mut self,
        name: &str,
        column: &Column,
        fields: &mut impl Walk<'a>,
        numbers: Numbers,
    ) -> Result<(), Fault> {
        match column {
            Column::Time(_) => self.raw.time_ns = numbers.duration(name, fields.next(name)?, numbers.unit)?,
            Column::WholeTime => self.raw.time_ns = ticks(name, fields.whole(name)?, numbers.unit)?,
            Column::Latency(unit) => self.latency_ns = Some(numbers.duration(name, fields.next(name)?, *unit)?),
            Column::Device => self.device = Some(Device::Whole(fields.next(name)?)),
            Column::DeviceNumber => self.device = Some(Device::Whole(fields.numeral(name)?)),
            Column::DeviceWith(second) => self.device = Some(Device::Pair(pair(fields, name, second)?)),
            Column::Offset(unit) => self.raw.offset = self.bytes(name, numbers.whole(name, fields), *unit),
            Column::Size(unit) => self.raw.length = self.bytes(name, numbers.whole(name, fields), *unit),
            Column::Op(words) => {
                let field = fields.next(name)?;
                let (op, word) =
                    if numbers.is_exact { (read_or_write(name, field)?, None) } else { op(name, words, field)? };
                (self.asked, self.word) = (Asked::Data(op), word);
            }
            _ => self.take_rare(name, column, fields)?,
        }
        Ok(())
    }

    /// An address or size in bytes. One that is none is a fault only of a request with data, which
    /// the line may yet turn out not to be.
    #[inline]
    fn bytes(&mut self, name: &str, number: Result<u64, Fault>, unit: u64) -> u64 {
        number.and_then(|number| scaled(name, number, unit)).unwrap_or_else(|fault| {
            self.fault.get_or_insert(fault);
            u64::MAX
        })
    }

    /// The same for what few formats have.
    #[inline]
    fn take_rare(&mut self, name: &str, column: &Column, fields: &mut impl Walk<'a>) -> Result<(), Fault> {
        match *column {
            Column::Digit { read, write } => {
                self.asked = Asked::Data(read_or_write_digit(name, fields.next(name)?, read, write)?);
            }
            Column::Flags => {
                self.asked = Asked::Data(if fields.hex(name)? & 1 == 1 { HostOp::Read } else { HostOp::Write });
            }
            Column::ScsiCode => {
                self.asked = scsi_operation(fields.hex(name)?).map_or(Asked::Nothing("non-data command"), Asked::Data);
            }
            Column::Rwbs => self.asked = Asked::Words(Rwbs::of(fields.next(name)?)?),
            Column::OpOrBlank => {
                self.asked = match fields.next(name)? {
                    [] => Asked::Nothing("untyped request"),
                    field => Asked::Data(read_or_write(name, field)?),
                };
            }
            Column::Whole => {
                fields.whole(name)?;
            }
            Column::DurationOrBlank => {
                fields.read(name, |field| if field.is_empty() { Ok(0) } else { time(field, TimeUnit::S) })?;
            }
            Column::Version => {
                fields.read(name, |field| if matches!(field, b"1" | b"2") { Ok(()) } else { Err("1 or 2") })?;
            }
            _ => {
                fields.next_if_any();
            }
        }
        Ok(())
    }

    /// What the line says as a whole.
    #[inline]
    pub(super) fn finish(self, devices: &mut Devices) -> Result<Parsed, Fault> {
        if let Asked::Nothing(kind) = self.asked {
            return Ok(Parsed::Other(kind));
        }
        let mut raw = self.raw;
        raw.device = match self.device {
            None => device(devices, b"0")?,
            Some(Device::Whole(key)) => device(devices, key)?,
            Some(Device::Pair(key)) => {
                devices.number(key, |key| plain(key).replace(',', "_")).ok_or_else(too_many_devices)?
            }
        };
        if let Some(latency_ns) = self.latency_ns {
            raw = raw.arriving(latency_ns)?;
        }
        match self.asked {
            Asked::Words(words) => words.requests(raw.as_flush(), || match self.fault {
                _ if raw.length == 0 => Ok(None),
                Some(fault) => Err(fault),
                None => Ok(Some((raw.offset, raw.length))),
            }),
            Asked::Data(HostOp::Flush) => Ok(Parsed::Request(raw.as_flush())),
            Asked::Data(op) => self.fault.map_or(Ok(Parsed::Request(Raw { op, ..raw })), Err),
            Asked::Nothing(kind) => Ok(Parsed::Other(kind)),
        }
    }
}

/// The next two fields as they stand, with the sign between them, neither of them empty.
#[inline]
fn pair<'a>(fields: &mut impl Walk<'a>, first: &str, second: &str) -> Result<&'a [u8], Fault> {
    let rest = fields.left().unwrap_or_default();
    for name in [first, second] {
        if fields.next(name)?.is_empty() {
            return Err(Fault::field(name, b"", "a name or number"));
        }
    }
    Ok(&rest[..rest.len() - fields.left().map_or(0, |left| left.len() + 1)])
}

impl Numbers {
    /// A time in nanoseconds.
    #[inline]
    fn duration(self, name: &str, field: &[u8], unit: TimeUnit) -> Result<u64, Fault> {
        self.read(name, field, |digits| time(digits, unit))
    }

    /// An address or a size.
    #[inline]
    fn whole<'a>(self, name: &str, fields: &mut impl Walk<'a>) -> Result<u64, Fault> {
        if let Some(value) = fields.digits() {
            return Ok(value);
        }
        let field = fields.next(name)?;
        let is_hex = !self.is_exact && (field.starts_with(b"0x") || field.starts_with(b"0X"));
        self.read(name, field, if is_hex { hex } else { whole })
    }

    #[inline]
    fn read<T>(self, name: &str, field: &[u8], read: impl Fn(&[u8]) -> Result<T, &'static str>) -> Result<T, Fault> {
        let found = if self.decimal_comma { read(&with_point(name, field)?) } else { read(field) };
        found.map_err(|expected| Fault::field(name, field, expected))
    }
}

/// A number with a decimal point in place of its comma, and nothing between thousands.
fn with_point(name: &str, field: &[u8]) -> Result<Vec<u8>, Fault> {
    if !has_points_between_thousands(field) {
        return Err(Fault::new(format!(
            "{name} is `{}`, whose point is not between thousands; leave decimal=comma out where points are decimal",
            field.escape_ascii()
        )));
    }
    let digits = field.iter().filter(|&&byte| byte != b'.');
    Ok(digits.map(|&byte| if byte == b',' { b'.' } else { byte }).collect())
}

/// Whether three digits follow each point of a number with a decimal comma, if it has points.
fn has_points_between_thousands(field: &[u8]) -> bool {
    let (whole, fraction) = field.split_at(field.iter().position(|&byte| byte == b',').unwrap_or(field.len()));
    !fraction.contains(&b'.') && whole.split(|&byte| byte == b'.').skip(1).all(|group| group.len() == 3)
}

/// What a field says of an operation, and which of the user's words it is, if one.
fn op(name: &str, words: &[(String, HostOp)], field: &[u8]) -> Result<(HostOp, Option<usize>), Fault> {
    if let Some(place) = words.iter().position(|(word, _)| field.eq_ignore_ascii_case(word.as_bytes())) {
        return Ok((words[place].1, Some(place)));
    }
    if matches!(field, b"0" | b"1") {
        return Err(Fault::new(format!(
            "{name} is {}, and nothing says whether that is a read; write op:1=read or op:0=read in the columns",
            field[0] as char
        )));
    }
    let others = [(&b"trim"[..], HostOp::Trim), (b"discard", HostOp::Trim), (b"flush", HostOp::Flush)];
    let op = match others.iter().find(|(word, _)| field.eq_ignore_ascii_case(word)) {
        Some((_, op)) => *op,
        None if words.is_empty() => read_or_write(name, field).map_err(|fault| {
            // Every word of the kernel is one that `blk_fill_rwbs` can write.
            let is_kernels = field.iter().all(|letter| b"RWDENFZASM".contains(letter)) && Rwbs::of(field).is_ok();
            if is_kernels {
                Fault::field(name, field, "R or W; op:rwbs in the columns takes the kernel's words")
            } else {
                fault
            }
        })?,
        None => read_or_write(name, field).map_err(|_| {
            let words: Vec<&str> = words.iter().map(|(word, _)| word.as_str()).collect();
            Fault::field(name, field, &format!("{}, or R or W (Read or Write)", words.join(", ")))
        })?,
    };
    Ok((op, None))
}
