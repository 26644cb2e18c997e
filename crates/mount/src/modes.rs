//! The modes that files and folders are shown with. Of a mode FAT keeps whether a file may be
//! written; the rest comes from the mount.

use live::LiveError;

use crate::tree::Attributes;

/// The permission bits for writing: owner, group and others.
const WRITE_BITS: u16 = 0o222;
/// Permission bits.
const ALL_BITS: u16 = 0o777;
/// What `chmod` may ask of a file beside them.
const SPECIAL_BITS: u32 = 0o7000;

/// The modes of a mount.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Modes {
    umask: u16,
    is_executable: bool,
}

impl Modes {
    /// Without the bits of an octal mask, 022 where none is given; files can be executed if
    /// `is_executable`.
    pub(crate) fn check(umask: Option<&str>, is_executable: bool) -> Result<Self, LiveError> {
        let text = umask.unwrap_or("022");
        let umask = u16::from_str_radix(text, 8).ok().filter(|umask| *umask <= ALL_BITS);
        let umask = umask.ok_or_else(|| {
            LiveError::user(format!(
                "--umask {text}: must be octal, from 000 to 777: the permissions that files and folders are shown \
                 without; 022 without it"
            ))
        })?;
        Ok(Self { umask, is_executable })
    }

    /// What is shown of a file or folder.
    pub(crate) fn of(self, found: &Attributes) -> u16 {
        let writable = self.writable(found.is_folder);
        if found.is_read_only && !found.is_folder { writable & !WRITE_BITS } else { writable }
    }

    /// Whether a mode, apart from what the mask takes away, would be shown as it was asked for.
    pub(crate) fn keeps(self, is_folder: bool, asked: u32) -> bool {
        let shown = asked as u16 & ALL_BITS & !self.umask;
        let writable = self.writable(is_folder);
        asked & SPECIAL_BITS == 0 && (shown == writable || !is_folder && shown == writable & !WRITE_BITS)
    }

    fn writable(self, is_folder: bool) -> u16 {
        (if is_folder || self.is_executable { 0o777 } else { 0o666 }) & !self.umask
    }
}

/// Whether a mode lets nobody write.
pub(crate) fn is_read_only(mode: u32) -> bool {
    mode as u16 & WRITE_BITS == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_are_kept_that_differ_in_writing_alone() {
        for (umask, is_executable, kept, refused) in [
            (None, false, [0o644, 0o666, 0o444], [0o755, 0o600, 0o4644]),
            (Some("022"), true, [0o755, 0o777, 0o555], [0o644, 0o700, 0o1755]),
            (Some("077"), false, [0o600, 0o644, 0o400], [0o700, 0o000, 0o200]),
        ] {
            let modes = Modes::check(umask, is_executable).expect("octal");
            assert!(kept.iter().all(|&mode| modes.keeps(false, mode)), "{umask:?}");
            assert!(!refused.iter().any(|&mode| modes.keeps(false, mode)), "{umask:?}");
            assert!(modes.keeps(true, 0o777) && !modes.keeps(true, 0o555));
        }
        for umask in ["8", "1000", "", "-2", "rw"] {
            let error = Modes::check(Some(umask), false).expect_err(umask).to_string();
            assert!(error.starts_with(&format!("--umask {umask}: must be octal")), "{error}");
        }
    }
}
