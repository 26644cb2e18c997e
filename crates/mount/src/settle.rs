//! Serves an image whose volume has a journal that is not in place yet: after a kill, or since the
//! flash takes no more writes. Other drivers do not know the journal, so it goes to its place
//! before they come, or is shown there.

use std::collections::HashMap;

use bytes::Bytes;
use fat::{FatError, Page, Shape};
use ftl::Hint;
use live::{LiveDrive, LiveError, Piece, ServeOptions, Server};

use crate::cache::Cache;
use crate::device::{Device, DeviceError, is_nearly_worn_out, of_io};
use crate::journal::Journal;

/// A server of an image. What the journal of its volume holds is in its place, or shown there.
pub fn serve(options: &ServeOptions) -> Result<Server, LiveError> {
    Server::start_prepared(options, |drive| prepare(drive, options.read_only))
}

/// Puts in place what the journal of a volume holds, or shows it there, before clients come.
/// Returns what there is to say of it.
pub fn prepare(drive: &mut LiveDrive, is_read_only: bool) -> Result<Option<String>, LiveError> {
    let settled = loop {
        match settle(SwitchedOn { drive: &mut *drive, is_read_only }) {
            // A planned cut; what was safe before it still is.
            Err(DeviceError::NoPower) if drive.disk_failure().is_none() => drive.restore_power(drive.now())?,
            settled => break settled,
        }
    };
    let pages = match settled {
        Ok(Some(pages)) => pages,
        // A caller that asks for an unreadable page gets an error.
        Ok(None) | Err(DeviceError::Unreadable) => return Ok(None),
        Err(error) => return Err(failed(&error)),
    };
    if pages.is_empty() {
        return Ok(Some("the last changes of its files were in their journal, and are in place now".into()));
    }
    for (number, page) in &pages {
        drive.show(number * page.len() as u64, &page[..]).map_err(|error| failed(&error.into()))?;
    }
    Ok(Some(format!(
        "the last changes of its files are in their journal alone: {} pages are shown in their places, for \
         reading alone",
        pages.len()
    )))
}

fn failed(error: &DeviceError) -> LiveError {
    LiveError::user(format!("cannot put the journal of its files in place: {error}; serve the image again"))
}

/// Puts in place what the journal of a volume holds. Returns the pages that the device does not
/// take, by their numbers; nothing where no journal holds any.
pub fn settle(device: impl Device) -> Result<Option<HashMap<u64, Box<Page>>>, DeviceError> {
    let mut cache = Cache::new(device);
    let shape = match Shape::read(&mut cache) {
        Ok(shape) => shape,
        Err(FatError::Disk(error)) => return Err(of_io(&error)),
        // What holds no such volume has no journal.
        Err(_) => return Ok(None),
    };
    let Some(journal) = Journal::find(cache.device_mut(), shape.bytes)? else { return Ok(None) };
    let held_any = cache.use_journal(journal)?;
    Ok(held_any.then(|| cache.into_ahead()))
}

/// A drive that no client has yet.
struct SwitchedOn<'a> {
    drive: &'a mut LiveDrive,
    is_read_only: bool,
}

impl Device for SwitchedOn<'_> {
    fn bytes(&self) -> u64 {
        self.drive.len()
    }

    fn is_read_only(&self) -> bool {
        self.is_read_only
    }

    fn is_nearly_worn_out(&self) -> bool {
        is_nearly_worn_out(self.drive.ftl().spares())
    }

    fn read(&mut self, offset: u64, into: &mut [u8]) -> Result<(), DeviceError> {
        Piece::gather(&self.drive.peek(offset, into.len() as u32)?, into);
        Ok(())
    }

    fn write(&mut self, offset: u64, data: Bytes, hint: Hint) -> Result<(), DeviceError> {
        Ok(self.drive.write_hinted(offset, &data, hint)?)
    }

    fn rename(&mut self, ranges: Vec<(u64, u64)>, hint: Hint) {
        self.drive.rename(&ranges, hint);
    }

    fn trim(&mut self, offset: u64, bytes: u32) -> Result<(), DeviceError> {
        Ok(self.drive.trim(offset, bytes)?)
    }

    fn write_zeroes(&mut self, offset: u64, bytes: u32) -> Result<(), DeviceError> {
        Ok(self.drive.write_zeroes(offset, bytes, true)?)
    }

    fn flush(&mut self) -> Result<(), DeviceError> {
        Ok(self.drive.flush()?)
    }
}
