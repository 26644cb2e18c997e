//! Times as FAT keeps them: two seconds, from 1980 to 2107, without a zone; here always UTC.

/// A date and a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Stamp {
    /// Years since 1980, month and day.
    pub(crate) date: u16,
    /// Hours, minutes and half the seconds.
    pub(crate) time: u16,
}

const DAY: i64 = 86_400;
/// Days from 1970 to 1980.
const FIRST_DAY: i64 = 3_652;
/// The last moment that fits: the end of 2107.
const LAST: i64 = 4_354_819_198;

impl Stamp {
    /// The stamp of a moment in seconds since 1970, the nearest one that FAT has.
    pub fn of_unix(seconds: i64) -> Self {
        let seconds = seconds.clamp(FIRST_DAY * DAY, LAST);
        let (days, rest) = (seconds.div_euclid(DAY), seconds.rem_euclid(DAY));
        let (year, month, day) = civil(days);
        Self {
            date: ((year - 1980) << 9 | month << 5 | day) as u16,
            time: ((rest / 3600) << 11 | (rest / 60 % 60) << 5 | (rest % 60 / 2)) as u16,
        }
    }

    /// Seconds since 1970. A stamp that is none, such as zero, is the beginning of 1980.
    pub fn unix(self) -> i64 {
        let (date, time) = (i64::from(self.date), i64::from(self.time));
        let (year, month, day) = (1980 + (date >> 9), date >> 5 & 15, date & 31);
        if !(1..=12).contains(&month) || day == 0 {
            return FIRST_DAY * DAY;
        }
        days(year, month, day) * DAY + (time >> 11) * 3600 + (time >> 5 & 63) * 60 + (time & 31) * 2
    }
}

/// Days since 1970 of a date, and back (Howard Hinnant, *chrono-compatible low-level date
/// algorithms*): years begin in March.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    year.div_euclid(400) * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

fn civil(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let of_era = days.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * of_year + 2) / 153;
    let (day, month) = (of_year - (153 * month + 2) / 5 + 1, if month < 10 { month + 3 } else { month - 9 });
    (days.div_euclid(146_097) * 400 + year_of_era + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_come_back_to_two_seconds_and_others_are_the_nearest() {
        for seconds in (315_532_800..LAST).step_by(12_345_678) {
            let even = seconds / 2 * 2;
            assert_eq!(Stamp::of_unix(seconds).unix(), even, "{seconds}");
        }
        // date -u -d '2024-02-29 12:34:56' +%s
        assert_eq!(Stamp::of_unix(1_709_210_096), Stamp { date: 0x585D, time: 0x645C });
        assert_eq!(Stamp::of_unix(0).unix(), 315_532_800);
        assert_eq!(Stamp::of_unix(i64::MAX).unix(), LAST);
        assert_eq!(Stamp { date: 0, time: 0 }.unix(), 315_532_800);
        assert_eq!(Stamp { date: u16::MAX, time: u16::MAX }.unix(), 315_532_800, "month 15");
    }
}
