//! Whether what a positional format makes of a trace can be: units of addresses are nowhere in it.
//!
//! A line of five numbers reads as sectors or as bytes, and either way gives a result. So the guess
//! of a format is doubted where the numbers look like the other unit, and refused with both
//! readings. So are times that would be dates of another century. A format that the user names is
//! never doubted.

use std::collections::BTreeSet;

use host::HostOp;

use crate::format::{Format, Template, TimeUnit};
use crate::record::Record;
use crate::units::{SECTOR, rounded as size};

/// Fewest requests of which "all are multiples of 512" says anything: one sector number in 512 is
/// one by chance.
const ENOUGH: usize = 8;

/// A mean size beyond this is doubted, bytes. Hosts split requests at 512 KiB to 1.25 MiB; the
/// largest mean of the published traces in docs/trace-formats.md is 128 KiB.
const LARGEST_MEAN: u64 = 1 << 20;

/// An address beyond this is doubted, bytes: twice the largest drive that is sold.
const LARGEST_DEVICE: u64 = 1 << 48;

/// A share of requests earlier than the one before from which on a column is hardly the time. A
/// trace merged from several queues goes back now and then.
const GOING_BACK: f64 = 0.25;

/// Fewest requests of which a share says anything.
const ENOUGH_STEPS: usize = 4;

/// Why a reading is doubted, and the other one.
pub(crate) struct Doubt {
    /// The reason, as a clause of a sentence.
    pub(crate) why: String,
    /// What would read it in the other unit.
    pub(crate) other: Other,
}

/// What reads a trace in another unit.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Other {
    /// Other columns, which fit the numbers.
    Columns(String),
    /// The same format with times in this unit.
    TimeUnit(TimeUnit),
}

/// Whether requests that were read as `format` with times in `unit` are doubted.
pub(crate) fn doubt(format: Format, unit: TimeUnit, requests: &[Record], shift_bytes: u64) -> Option<Doubt> {
    let Template::Guessed(columns) = format.template() else { return None };
    let [in_sectors, has_size_in_sectors] = ["offset:sector", "size:sector"].map(|column| columns.contains(column));
    let requests: Vec<&Record> = requests.iter().filter(|record| record.op != HostOp::Flush).collect();
    if requests.is_empty() {
        return None;
    }
    let mean = requests.iter().map(|record| u64::from(record.length)).sum::<u64>() / requests.len() as u64;
    let end = requests.iter().map(|record| record.end() - shift_bytes).max()?;
    let numbers = SECTOR * SECTOR;
    let in_bytes = |record: &&Record| {
        (record.offset - shift_bytes).is_multiple_of(numbers)
            && (!has_size_in_sectors || u64::from(record.length).is_multiple_of(numbers))
    };
    let why = if in_sectors && requests.len() >= ENOUGH && end > numbers && requests.iter().all(in_bytes) {
        let what = if has_size_in_sectors { "address and size" } else { "address" };
        format!(
            "every {what} of its first {} requests is a multiple of 512, as numbers of bytes are and numbers of sectors are not",
            requests.len()
        )
    } else if in_sectors && mean > LARGEST_MEAN {
        format!("its requests would be of {} on average", size(mean))
    } else if !in_sectors
        && mean < SECTOR
        && requests.iter().all(|record| !u64::from(record.length).is_multiple_of(SECTOR))
    {
        format!("its requests would be of {mean} bytes on average, less than a sector")
    } else if in_sectors && end > LARGEST_DEVICE {
        format!("it would reach to {}, beyond any device", size(end))
    } else {
        return None;
    };
    let (this, other) = if in_sectors { (":sector", ":B") } else { (":B", ":sector") };
    Some(Doubt { why, other: Other::Columns(columns.replace(this, other).replace("TIME", unit.name())) })
}

/// Why the columns can hardly be those of a format that no line tells: a clause. No unit mends it.
pub(crate) fn unlikely(format: Format, requests: &[Record]) -> Option<String> {
    let Template::Guessed(columns) = format.template() else { return None };
    let has_bytes = columns.contains("offset:sector") && columns.contains("size:B");
    let sized: Vec<u64> = requests.iter().map(|record| u64::from(record.length)).filter(|&length| length > 0).collect();
    if has_bytes && !sized.is_empty() && sized.iter().all(|length| !length.is_multiple_of(SECTOR)) {
        let mean = sized.iter().sum::<u64>() / sized.len() as u64;
        if mean < SECTOR {
            return Some(format!("sizes would be of {mean} bytes on average"));
        }
    }
    let steps = requests.len().saturating_sub(1);
    let back = requests.windows(2).filter(|pair| pair[1].time_ns < pair[0].time_ns).count();
    if requests.len() >= ENOUGH_STEPS && back as f64 > GOING_BACK * steps as f64 {
        return Some(format!("times would go back in {back} of {steps} steps"));
    }
    // Where a trace counts from an epoch, small numbers are another column, or another clock.
    let first_s = requests.first().map_or(0, |first| first.time_ns / 1_000_000_000);
    if format == Format::Tencent && first_s < (YEARS.start - UNIX_EPOCH) * SECONDS_A_YEAR {
        return Some(format!("its first request would be of the year {}", UNIX_EPOCH + first_s / SECONDS_A_YEAR));
    }
    // Of formats whose lines begin with the device, a time in its place is one.
    let begins_with_device = matches!(format, Format::Alibaba | Format::Spc);
    let has_one_time = requests.iter().all(|record| record.time_ns == requests[0].time_ns);
    let devices: BTreeSet<u32> = requests.iter().map(|record| record.device).collect();
    (begins_with_device && has_one_time && devices.len() > 1 && devices.len() == requests.len())
        .then(|| "every request would have a device of its own at one time".to_owned())
}

/// A mean step between requests below which times of a guess in milliseconds are doubted: a million
/// requests per second.
const SHORTEST_STEP_NS: u64 = 1_000;

/// Whether times are doubted: a format of whole units has fractions of one, dates are of another
/// century, or a guess in milliseconds has requests of no known load.
pub(crate) fn doubt_times(format: Format, unit: TimeUnit, requests: &[Record]) -> Option<Doubt> {
    let is_whole = matches!(format, Format::Msr | Format::Alibaba | Format::Etw);
    let has_fraction = is_whole && requests.iter().any(|record| !record.time_ns.is_multiple_of(unit.ns()));
    let fraction = has_fraction.then(|| Doubt {
        why: format!("its times have fractions of {unit}, and {format} counts whole ones"),
        other: Other::TimeUnit(TimeUnit::S),
    });
    doubt_date(format, unit, requests).or(fraction).or_else(|| doubt_steps(format, unit, requests))
}

/// Whether the requests of a guess in milliseconds come too fast, as those of seconds read so do.
fn doubt_steps(format: Format, unit: TimeUnit, requests: &[Record]) -> Option<Doubt> {
    let [first, .., last] = requests else { return None };
    let steps = requests.len() as u64 - 1;
    let span_ns = last.time_ns.saturating_sub(first.time_ns);
    let is_guessed = matches!(format.template(), Template::Guessed(_)) && unit == TimeUnit::Ms;
    (is_guessed && requests.len() >= ENOUGH && span_ns > 0 && span_ns < steps * SHORTEST_STEP_NS).then(|| Doubt {
        why: format!("its first {} requests would come within {span_ns} ns", requests.len()),
        other: Other::TimeUnit(TimeUnit::S),
    })
}

/// Years in which a block trace may have been recorded.
const YEARS: std::ops::Range<u64> = 1990..2050;

const UNIX_EPOCH: u64 = 1970;

const SECONDS_A_YEAR: u64 = 31_556_952;

/// Where Windows counts from.
const WINDOWS_EPOCH: u64 = 1601;

/// Whether the times of a format that counts from an epoch are doubted: as read they are no date of
/// ours, in another unit they are. Times from another origin are no date in any unit.
fn doubt_date(format: Format, unit: TimeUnit, requests: &[Record]) -> Option<Doubt> {
    let epoch = match format {
        Format::Msr => WINDOWS_EPOCH,
        Format::Alibaba | Format::Systor17 | Format::Tencent => UNIX_EPOCH,
        _ => return None,
    };
    let time_ns = u128::from(requests.first()?.time_ns);
    let year = |epoch: u64, other: TimeUnit| {
        let time_s = time_ns * u128::from(other.ns()) / u128::from(unit.ns()) / 1_000_000_000;
        let years = time_s / u128::from(SECONDS_A_YEAR);
        u64::try_from(years).map_or(u64::MAX, |years| years.saturating_add(epoch))
    };
    let as_read = year(epoch, unit);
    let dates = TimeUnit::ALL.map(|other| (other, year(epoch, other)));
    // Files in the layout of msr have been made with times since 1970 as well. In coarser units
    // such numbers may as well be hours from another origin.
    let since_1970 = [TimeUnit::Us, TimeUnit::Ns].map(|other| (other, year(UNIX_EPOCH, other)));
    let (other, date) = dates.into_iter().chain(since_1970).find(|(_, date)| YEARS.contains(date))?;
    let why = format!("its first request would be of the year {as_read}, and with times in {other} of {date}");
    (!YEARS.contains(&as_read)).then_some(Doubt { why, other: Other::TimeUnit(other) })
}

/// How far requests reach and how long they are, as a clause.
pub(crate) fn extent(requests: &[Record]) -> String {
    let end = requests.iter().map(Record::end).max().unwrap_or(0);
    let sum: u64 = requests.iter().map(|record| u64::from(record.length)).sum();
    format!("addresses reach to {}, the mean size is {}", size(end), size(sum / requests.len().max(1) as u64))
}

#[cfg(test)]
mod tests {
    use host::Hint;

    use super::*;

    fn requests(count: u64, offset: u64, length: u32) -> Vec<Record> {
        let record = |index| Record {
            time_ns: index,
            op: HostOp::Read,
            offset: index * offset,
            length,
            device: 0,
            hint: Hint::NONE,
        };
        (0..count).map(record).collect()
    }

    fn why(format: Format, requests: &[Record]) -> Option<String> {
        doubt(format, TimeUnit::Ms, requests, 0).map(|doubt| doubt.why)
    }

    #[test]
    fn bytes_read_as_sectors_are_doubted_and_sectors_are_not() {
        let as_bytes = requests(8, 4096 * 512, 512 * 512);
        assert!(why(Format::Disksim, &as_bytes).unwrap().contains("multiple of 512"));
        assert_eq!(why(Format::Disksim, &as_bytes[..7]), None, "too few to say so");
        assert_eq!(why(Format::Ssdsim, &requests(400, 4096, 8192)), None);
        assert!(why(Format::Mqsim, &requests(3, 4096, 2 << 20)).unwrap().contains("2.0 MiB on average"));
        assert!(why(Format::Spc, &requests(9, 4096 * 512, 4096)).unwrap().contains("every address of"));
        assert!(why(Format::Tencent, &requests(3, 1 << 48, 4096)).unwrap().contains("beyond any device"));
    }

    #[test]
    fn sectors_read_as_bytes_are_doubted() {
        let reason = doubt(Format::Msr, TimeUnit::HundredNs, &requests(3, 8, 8), 0).unwrap();
        assert!(reason.why.contains("less than a sector"));
        let columns = "time:100ns, -, device, op, offset:sector, size:sector, ...";
        assert_eq!(reason.other, Other::Columns(columns.to_owned()));
        assert_eq!(why(Format::Msr, &requests(3, 512, 512)), None);
        assert_eq!(why(Format::Vscsi, &requests(3, 8, 8)), None);
    }

    #[test]
    fn times_since_1970_that_are_of_1970_make_a_guess_unlikely() {
        let at = |time_s: u64| Record { time_ns: time_s * 1_000_000_000, ..requests(1, 0, 4096)[0] };
        assert_eq!(unlikely(Format::Tencent, &[at(1_538_323_200)]), None);
        assert!(unlikely(Format::Tencent, &[at(274)]).unwrap().contains("of the year 1970"));
    }

    #[test]
    fn a_guess_in_milliseconds_of_over_a_million_requests_per_second_is_doubted() {
        let other = |format, unit, step_ns: u64, count: u64| {
            let slower = |record: Record| Record { time_ns: record.time_ns * step_ns, ..record };
            let requests: Vec<Record> = requests(count, 4096, 4096).into_iter().map(slower).collect();
            doubt_times(format, unit, &requests).map(|doubt| doubt.other)
        };
        assert_eq!(other(Format::Disksim, TimeUnit::Ms, 500, 100), Some(Other::TimeUnit(TimeUnit::S)));
        assert_eq!(other(Format::Disksim, TimeUnit::Ms, 1_000, 100), None);
        assert_eq!(other(Format::Disksim, TimeUnit::Ms, 0, 100), None, "all at once is told elsewhere");
        assert_eq!(other(Format::Disksim, TimeUnit::Ms, 500, 7), None, "too few to say so");
        assert_eq!(other(Format::Disksim, TimeUnit::S, 500, 100), None, "not by default");
    }

    #[test]
    fn dates_of_another_century_are_doubted_and_other_origins_are_not() {
        let other = |format, unit: TimeUnit, ticks: u64| {
            let record = Record { time_ns: ticks * unit.ns(), ..requests(1, 0, 4096)[0] };
            doubt_date(format, unit, &[record]).map(|doubt| doubt.other)
        };
        let (s, ms, us) = (1_577_808_000, 1_577_808_000_000, 1_577_808_000_000_000);
        assert_eq!(other(Format::Alibaba, TimeUnit::Us, us), None);
        assert_eq!(other(Format::Alibaba, TimeUnit::Us, ms), Some(Other::TimeUnit(TimeUnit::Ms)));
        assert_eq!(other(Format::Alibaba, TimeUnit::Us, 0), None, "from another origin");
        assert_eq!(other(Format::Tencent, TimeUnit::S, s), None);
        assert_eq!(other(Format::Alibaba, TimeUnit::Us, s), Some(Other::TimeUnit(TimeUnit::S)));
        assert_eq!(other(Format::Msr, TimeUnit::HundredNs, 128_166_385_295_514_663), None);
        assert_eq!(
            other(Format::Msr, TimeUnit::HundredNs, 12_816_638_529_551_466),
            Some(Other::TimeUnit(TimeUnit::Us))
        );
        assert_eq!(other(Format::Msr, TimeUnit::HundredNs, us), Some(Other::TimeUnit(TimeUnit::Us)), "since 1970");
        assert_eq!(other(Format::Msr, TimeUnit::HundredNs, ms), None, "44 hours from another origin");
        assert_eq!(other(Format::Disksim, TimeUnit::Ms, 5), None);
    }
}
