//! Makes a volume on a device, and opens one that is there.

use analyzer::{Analyzer, Parameters};
use fat::{CodePage, FatError, FormatOptions, LEAST_VOLUME_BYTES, PAGE_BYTES, Shape, Volume};
use live::LiveError;

use crate::cache::{Cache, JOURNAL_ROOM};
use crate::device::{Device, DeviceError};
use crate::error::FileError;
use crate::journal::Journal;
use crate::tree::Tree;

/// What tells volumes of ours from others; nothing depends on it.
const SERIAL: u32 = 0x4654_4C4B;

/// Makes an empty volume with a journal behind it; whatever the device held is gone.
pub fn format<V: Device>(device: V) -> Result<V, LiveError> {
    let bytes = device.bytes();
    // An entry of the table has four bytes at most, and there is one for each page.
    let room = JOURNAL_ROOM + (bytes / PAGE_BYTES as u64 * 4).div_ceil(PAGE_BYTES as u64) as usize + 1;
    let volume_bytes = bytes.saturating_sub(Journal::bytes(room)) / PAGE_BYTES as u64 * PAGE_BYTES as u64;
    if volume_bytes < LEAST_VOLUME_BYTES {
        return Err(LiveError::user(format!(
            "a FAT volume needs at least {} bytes, its journal included, and the device has {bytes}; make a larger one: ftlkit image create \
             --capacity 32MiB",
            LEAST_VOLUME_BYTES + Journal::bytes(room)
        )));
    }
    let mut cache = Cache::new(device);
    let options = FormatOptions { bytes: volume_bytes, tables: 1, serial: SERIAL };
    let shape = fat::format(&mut cache, options).map_err(|error| failed("format the device", error.into()))?;
    let make = |cache: &mut Cache<V>| -> Result<(), DeviceError> {
        cache.commit()?;
        Journal::create(cache.device_mut(), shape.bytes, room)?;
        cache.device_mut().flush()
    };
    make(&mut cache).map_err(|error| failed("format the device", error.into()))?;
    Ok(cache.into_device())
}

/// The files of the volume that a device holds, for reading alone if the device takes no writes.
/// What its journal has is put in place first.
pub fn open<V: Device>(
    device: V,
    parameters: Parameters,
    streams: u8,
    code_page: CodePage,
) -> Result<Tree<V>, LiveError> {
    let mut analyzer = Analyzer::new(parameters).map_err(|error| LiveError::user(error.to_string()))?;
    let open = move || -> Result<Tree<V>, FileError> {
        let mut cache = Cache::new(device);
        let shape = Shape::read(&mut cache)?;
        cache.set_data(shape.data);
        match Journal::find(cache.device_mut(), shape.bytes)? {
            Some(journal) => drop(cache.use_journal(journal)?),
            None => cache.try_writing()?,
        }
        cache.types().for_each(|extension| analyzer.know(extension));
        Tree::new(Volume::open(cache)?.with_code_page(code_page), analyzer, streams)
    };
    open().map_err(|error| failed("mount the volume", error))
}

fn failed(what: &str, error: FileError) -> LiveError {
    match error {
        FileError::Fat(FatError::NotFat(why)) => LiveError::user(format!(
            "the image holds no FAT file system: {why}. A new image is formatted with --format; one that holds something else can be served with \
             `ftlkit serve` to whatever wrote it"
        )),
        FileError::Fat(FatError::Unserved(why)) => LiveError::user(format!(
            "the image holds a FAT file system that `ftlkit mount` does not serve: {why}. Serve it over NBD, and mount it with your system's own \
             driver: ftlkit serve IMAGE"
        )),
        FileError::Device(DeviceError::Unreadable) => LiveError::user(format!(
            "cannot {what}: a page of the flash that it needs cannot be read. `ftlkit image check` says which pages are damaged"
        )),
        error => LiveError::user(format!("cannot {what}: {error}")),
    }
}
