//! Serves an image whose volume has a journal that is not in place yet: after a kill, or since the
//! flash takes no more writes. Other drivers do not know the journal, so it goes to its place
//! before they come, or is shown there.

use bytes::Bytes;
use fat::Shape;
use ftl::Hint;
use live::{LiveDrive, LiveError, Piece, ServeOptions, Server};

use crate::cache::Cache;
use crate::device::{Device, DeviceError, is_nearly_worn_out};
use crate::journal::{Journal, NumberedPage};

/// A server of an image. What the journal of its volume holds is in its place, or shown there.
pub fn serve(options: &ServeOptions) -> Result<Server, LiveError> {
    Server::start_prepared(options, |drive| prepare(drive, options.read_only))
}

fn prepare(drive: &mut LiveDrive, is_read_only: bool) -> Result<Option<String>, LiveError> {
    let shown = match settle(SwitchedOn { drive, is_read_only }) {
        Ok(Some(pages)) => pages,
        // Whoever asks for a page that cannot be read is told.
        Ok(None) | Err(DeviceError::Unreadable) => return Ok(None),
        Err(error) => {
            return Err(LiveError::user(format!(
                "cannot put the journal of its files in place: {error}; serve the image again"
            )));
        }
    };
    if shown.is_empty() {
        return Ok(Some("the last changes of its files were in their journal, and are in place now".into()));
    }
    for (number, page) in &shown {
        drive.show(number * page.len() as u64, &page[..]).map_err(|error| LiveError::user(format!("{error:?}")))?;
    }
    Ok(Some(format!(
        "the last changes of its files are in their journal alone: {} pages are shown in their places, and it is served for reading alone",
        shown.len()
    )))
}

/// Puts in place what the journal of a volume holds. Returns the pages that the device does not
/// take, with their numbers; nothing where no journal holds any.
pub fn settle(device: impl Device) -> Result<Option<Vec<NumberedPage>>, DeviceError> {
    let mut cache = Cache::new(device);
    // What holds no such volume is nobody's journal.
    let Ok(shape) = Shape::read(&mut cache) else { return Ok(None) };
    let Some(journal) = Journal::find(cache.device_mut(), shape.bytes)? else { return Ok(None) };
    let pages = journal.read(cache.device_mut())?;
    if pages.is_empty() {
        return Ok(None);
    }
    cache.use_journal(journal)?;
    Ok(Some(if cache.is_read_only() { pages } else { Vec::new() }))
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
