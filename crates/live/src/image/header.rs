//! The header of an image: what device it is and which translation layer writes it, told once and never changed.
//!
//! Fixed bytes in front, so that any version can be told from any other, then a JSON text. There are two copies, since without it
//! nothing else can be found. What may change (wear, counts, content) lies elsewhere.

use std::collections::BTreeMap;
use std::io;
use std::os::unix::fs::FileExt;

use flash::{ChipOptions, Geometry, ProgramOrder, Shape};
use ftl::{Layout, Values, registry};
use serde::{Deserialize, Serialize};
use sim::{Abilities, Latencies, Model, Pricing};

use crate::LiveError;

/// The first bytes of every image.
pub(crate) const MAGIC: [u8; 8] = *b"FTLKIMG\n";
/// The version that this crate reads and writes.
pub(crate) const VERSION: u32 = 1;
/// Bytes set aside for each copy of the header.
pub(crate) const HEADER_BYTES: u64 = 8192;
/// Copies, one behind the other.
pub(crate) const COPIES: u64 = 2;
/// Magic, version, length of the text and CRC in front of the text.
const FIXED_BYTES: usize = 20;

/// What an image is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Description {
    /// Name of the translation layer in the registry.
    pub ftl: String,
    /// Every parameter of it, with its value.
    pub settings: BTreeMap<String, String>,
    /// Shape of the flash.
    pub geometry: Shape,
    /// Pages that the host sees.
    pub logical_pages: u32,
    /// Order of programs within a block.
    pub program_order: ProgramOrder,
    /// Erases that a block survives.
    pub endurance: u32,
    /// Seed of what the translation layer draws at random.
    pub seed: u64,
    /// Name of the device preset that it was made from.
    pub preset: String,
    /// What operations take.
    pub latencies: Latencies,
    /// Whether they overlap.
    pub pricing: Model,
}

impl Description {
    /// The device of a `[device]` table under a translation layer with its settings.
    pub fn new(device: &sim::Device, ftl: &str, settings: &BTreeMap<String, String>) -> Result<Self, LiveError> {
        let entry = registry::entry(ftl)?;
        Values::check(entry.name, entry.parameters, settings)?;
        if device.abilities != Abilities::default() {
            return Err(LiveError::user(
                "device: copy_back, multi_plane, suspend, gc_channels and gc_yields are for simulations; an image's modelled latency does not \
                 know them. Leave them out",
            ));
        }
        let value = |name: &str, default: &str| settings.get(name).cloned().unwrap_or_else(|| default.into());
        Ok(Self {
            ftl: entry.name.into(),
            settings: entry.parameters.iter().map(|p| (p.name.to_owned(), value(p.name, p.default))).collect(),
            geometry: device.geometry.shape(),
            logical_pages: device.logical_pages,
            program_order: device.chip.program_order,
            endurance: device.chip.endurance.unwrap_or(u32::MAX),
            seed: device.seed,
            preset: device.keys.preset.clone().unwrap_or_default(),
            latencies: device.latencies,
            pricing: device.model,
        })
    }

    /// The checked shape. Fails when the header was written by hand, or by another program.
    pub fn checked_geometry(&self) -> Result<Geometry, LiveError> {
        let geometry = Geometry::new(self.geometry).map_err(|error| LiveError::user(error.to_string()))?;
        if self.logical_pages == 0 || self.logical_pages >= geometry.pages() {
            return Err(LiveError::user(format!(
                "the header says {} logical pages on {} physical ones; there must be at least one, and fewer than physical ones. \
                 Create the image anew with `ftlkit image create`",
                self.logical_pages,
                geometry.pages()
            )));
        }
        let entry = registry::entry(&self.ftl)
            .map_err(|error| LiveError::user(format!("the image was made by another ftlkit: {error}")))?;
        Values::check(entry.name, entry.parameters, &self.settings)
            .map_err(|error| LiveError::user(format!("the image was made by another ftlkit: {error}")))?;
        Ok(geometry)
    }

    /// Bytes that the host sees.
    pub fn logical_bytes(&self) -> u64 {
        u64::from(self.logical_pages) * u64::from(self.geometry.page_size_bytes)
    }

    /// What a chip is built from; its bad blocks are in the image's block table.
    pub(crate) fn chip_options(&self) -> ChipOptions {
        ChipOptions {
            program_order: self.program_order,
            endurance: Some(self.endurance),
            bad_blocks: Vec::new(),
            ..ChipOptions::default()
        }
    }

    /// What the translation layer may know of the device.
    pub(crate) fn layout(&self, chip: &impl flash::Flash) -> Layout {
        Layout::of(chip, self.logical_pages, self.seed)
    }

    /// Idle timelines.
    pub(crate) fn pricing(&self) -> Pricing {
        Pricing::new(self.pricing, self.geometry.channels, self.geometry.dies_per_channel, self.latencies)
    }
}

/// A header as found.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) description: Description,
    /// What is wrong with the other copy, if anything is.
    pub(crate) damage: Option<String>,
}

/// Writes both copies.
pub(crate) fn write(file: &impl FileExt, description: &Description) -> Result<(), LiveError> {
    let text = serde_json::to_vec(description)
        .map_err(|error| LiveError::Bug(format!("a header cannot be written as JSON: {error}")))?;
    if text.len() + FIXED_BYTES > HEADER_BYTES as usize {
        return Err(LiveError::user(format!(
            "the description of the image takes {} bytes, but a header has room for {}; shorten the settings",
            text.len(),
            HEADER_BYTES as usize - FIXED_BYTES
        )));
    }
    let mut bytes = Vec::with_capacity(FIXED_BYTES + text.len());
    bytes.extend(MAGIC);
    bytes.extend(VERSION.to_le_bytes());
    bytes.extend((text.len() as u32).to_le_bytes());
    bytes.extend(crc32c::crc32c(&text).to_le_bytes());
    bytes.extend(text);
    (0..COPIES)
        .try_for_each(|copy| file.write_all_at(&bytes, copy * HEADER_BYTES))
        .map_err(|error| LiveError::user(format!("cannot write the image's header: {error}")))
}

/// Reads the first copy that can be believed.
pub(crate) fn read(file: &impl FileExt) -> Result<Found, LiveError> {
    let [first, second] = [0, 1].map(|copy| read_copy(file, copy));
    match (first, second) {
        (Ok(description), second) => {
            Ok(Found { description, damage: second.err().map(|why| format!("second copy of the header: {why}")) })
        }
        (Err(why), Ok(description)) => {
            Ok(Found { description, damage: Some(format!("first copy of the header: {why}; the second one is used")) })
        }
        (Err(why), Err(_)) => Err(LiveError::User(why)),
    }
}

fn read_copy(file: &impl FileExt, copy: u64) -> Result<Description, String> {
    let mut bytes = vec![0; HEADER_BYTES as usize];
    let length = read_up_to(file, &mut bytes, copy * HEADER_BYTES).map_err(|error| error.to_string())?;
    let word = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    if length < FIXED_BYTES || bytes[..8] != MAGIC {
        return Err("not a flash image: it does not begin with FTLKIMG. `ftlkit image create` makes one".into());
    }
    if word(8) != VERSION {
        return Err(format!(
            "image of version {}, but this ftlkit reads version {VERSION}; serve it with the ftlkit that made it, and copy its data over \
             with nbdcopy",
            word(8)
        ));
    }
    let end = FIXED_BYTES.saturating_add(word(12) as usize);
    if end > length || crc32c::crc32c(&bytes[FIXED_BYTES..end]) != word(16) {
        return Err("the header is damaged: its checksum is wrong. Restore the image from a copy".into());
    }
    serde_json::from_slice(&bytes[FIXED_BYTES..end]).map_err(|error| {
        format!("the header was written by another ftlkit: {error}. Serve it with the ftlkit that made it")
    })
}

/// Reads until the buffer is full or the file ends; returns how much.
pub(crate) fn read_up_to(file: &impl FileExt, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    let mut length = 0;
    while length < buffer.len() {
        match file.read_at(&mut buffer[length..], offset + length as u64) {
            Ok(0) => break,
            Ok(more) => length += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(length)
}
