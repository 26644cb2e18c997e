//! Long requests in pieces, so that others need not wait for their end.

use bytes::Bytes;
use ftl::Hint;

use crate::drive::{DriveError, LiveDrive, Piece};
use crate::nbd::Command;

/// Bytes that are read or written at once, if pages are not larger.
const DATA_BYTES: u64 = 256 << 10;
/// Pages that are trimmed at once: a trim moves no data.
const TRIMMED_PAGES: u64 = 4096;

/// Bytes of a request's next piece, from a byte of the device on, when so many are left. Pieces end
/// where pages do.
pub(crate) fn next(command: Command, at: u64, left: u32, page_bytes: usize) -> u32 {
    let page_bytes = page_bytes as u64;
    let most = match command {
        Command::Read { .. } | Command::Write { .. } | Command::WriteZeroes { may_leave_holes: false, .. } => {
            DATA_BYTES.max(page_bytes)
        }
        Command::Trim { .. } | Command::WriteZeroes { .. } => TRIMMED_PAGES * page_bytes,
        Command::Flush | Command::Cache | Command::BlockStatus { .. } | Command::Disconnect => return left,
    };
    if u64::from(left) <= most {
        return left;
    }
    // No longer than what is left, which is more than `most`.
    ((at + most) / page_bytes * page_bytes - at) as u32
}

/// Does a piece of what is asked, so many bytes from one of the device on; what is read is added to
/// `read`.
pub(crate) fn perform(
    drive: &mut LiveDrive,
    command: Command,
    (at, length): (u64, u32),
    (data, hint): (&Bytes, Hint),
    read: &mut Vec<Piece>,
) -> Result<(), DriveError> {
    match command {
        Command::Read { .. } => read.extend(drive.read(at, length)?),
        Command::Write { .. } => drive.write_hinted(at, data, hint)?,
        Command::Trim { .. } => drive.trim(at, length)?,
        Command::WriteZeroes { may_leave_holes, .. } => drive.write_zeroes(at, length, may_leave_holes)?,
        Command::Flush => drive.flush()?,
        // Nothing would be read any faster for a cache; and a status is told in one go, when it is
        // due.
        Command::Cache | Command::BlockStatus { .. } | Command::Disconnect => {}
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const READ: Command = Command::Read { in_one_piece: true };

    #[test]
    fn pieces_are_bounded_and_end_where_pages_do() {
        let mut at = 100;
        let mut left = 1_000_000_u32;
        let mut lengths = Vec::new();
        while left > 0 {
            let length = next(READ, at, left, 4096);
            (at, left) = (at + u64::from(length), left - length);
            assert!(left == 0 || at.is_multiple_of(4096));
            lengths.push(length);
        }
        assert_eq!(lengths, [262_044, 262_144, 262_144, 213_668]);
        assert_eq!(next(Command::Trim { fua: true }, 0, u32::MAX, 4096), 16 << 20);
        assert_eq!(next(Command::Trim { fua: false }, 5, 9, 4096), 9);
        assert_eq!(next(Command::Flush, u64::MAX, u32::MAX, 4096), u32::MAX);
        assert_eq!(next(Command::BlockStatus { one_run: false }, 0, u32::MAX, 4096), u32::MAX);
        // A page is never cut.
        assert_eq!(next(READ, 1 << 20, 4 << 20, 1 << 20), 1 << 20);
    }
}
