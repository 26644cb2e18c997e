//! The header of an image: what device it is and which translation layer writes it, told once and
//! never changed.
//!
//! Fixed bytes in front, so that any version can be told from any other, then a JSON text. There
//! are two copies, at the beginning and at the end of the file, since without it nothing else can
//! be found. What may change (wear, counts, content) lies elsewhere.
//!
//! The translation layer with its settings is one text, a *stack* with a version of its own:
//! `dftl:cmt=64KiB:checkpoint=none+owl:bat=256`.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use flash::{CellMode, CellType, ChipOptions, Flash, Geometry, PastEndurance, ProgramOrder, Shape};
use ftl::{Layout, Stack, registry};
use serde::{Deserialize, Serialize};
use sim::study::{DeviceText, Group, Key};
use sim::{Abilities, EventTiming, FrontEnd, Latencies, Model, Superblocks, Units};

use super::file::ImageFile;
use super::stack::StackText;
use crate::LiveError;

/// The first bytes of every image.
pub(crate) const MAGIC: [u8; 8] = *b"FTLKIMG\n";
/// The version that this crate reads and writes.
pub(crate) const VERSION: u32 = 2;
/// Bytes set aside for each copy of the header.
pub(crate) const HEADER_BYTES: u64 = 8192;
/// Magic, version, length of the text and CRC in front of the text.
pub(crate) const FIXED_BYTES: usize = 20;

/// What an image is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Description {
    /// The translation layer, with every parameter of every part.
    pub stack: Stack,
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
    /// What host link and controller take.
    #[serde(default)]
    pub front_end: FrontEnd,
    /// Which pages wait for others until they are programmed at once.
    #[serde(default, skip_serializing_if = "Gathering::is_none")]
    pub gathering: Gathering,
}

/// The most that an image may say of `program_buffers`.
const MOST_BUFFERS: u32 = 64;

/// The most pages that a program buffer holds: 64 GiB of 512 bytes.
const MOST_BUFFERED: u64 = 1 << 27;

/// Which pages wait in the controller until they are programmed at once. A page is what the
/// translation layer maps, so it may be a part of a page of the flash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gathering {
    /// What a page of the image is of the flash's pages, and what is programmed at once.
    pub units: Units,
    /// How many of what is programmed at once the program buffer holds for each die, in an image
    /// that does not say its pages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program_buffers: Option<u32>,
    /// Pages that the program buffer holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub buffered_pages: Option<u64>,
    /// Blocks of the flash in a block of the image.
    #[serde(default, skip_serializing_if = "Superblocks::are_blocks")]
    pub superblocks: Superblocks,
    /// Whether the planes of a superblock work together.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub multi_plane: bool,
}

impl Default for Gathering {
    fn default() -> Self {
        Self {
            units: Units::PAGES,
            program_buffers: None,
            buffered_pages: None,
            superblocks: Superblocks::BLOCKS,
            multi_plane: false,
        }
    }
}

impl Gathering {
    /// Of a device that an image is made for.
    pub fn of(device: &sim::Device) -> Self {
        let Abilities { superblocks, multi_plane, .. } = device.abilities;
        let multi_plane = multi_plane && superblocks.planes > 1;
        let (units, buffered_pages) = (device.units, device.buffered_units);
        Self { units, program_buffers: None, buffered_pages, superblocks, multi_plane }
    }

    /// What an image's time knows beyond the plain model.
    fn abilities(self) -> Abilities {
        let Self { superblocks, multi_plane, .. } = self;
        Abilities { superblocks, multi_plane, ..Abilities::default() }
    }

    /// Pages that the program buffer of a device holds.
    fn pages(self, geometry: &Geometry, cell: CellType) -> Option<u64> {
        let at_once = self.units.programmed_at_once(cell, CellMode::Native);
        // Where each is programmed by itself, the number said nothing.
        let per_die = self.program_buffers.filter(|_| at_once > 1).map(|buffers| buffers * at_once);
        self.buffered_pages.or_else(|| Some(u64::from(per_die?) * u64::from(geometry.dies())))
    }

    fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// Whether a header's device can have it.
    fn check(self, described: &Description) -> Result<(), String> {
        if self.is_none() {
            return Ok(());
        }
        let Description { geometry, latencies, program_order, .. } = described;
        let Superblocks { planes, dies } = self.superblocks;
        let is_possible = [planes, dies].iter().all(|number| (1..=Superblocks::MOST).contains(number));
        if !is_possible || geometry.pages_per_block % (planes * dies) != 0 {
            return Err(format!(
                "superblocks of {planes} planes of {dies} dies, and {} pages per block",
                geometry.pages_per_block
            ));
        }
        if dies > 1 && geometry.channels != 1
            || described.pricing == Model::Serial && self.superblocks != Superblocks::BLOCKS
        {
            return Err(format!("superblocks of {dies} dies on {} channels, or on a serial device", geometry.channels));
        }
        let pages_per_block = geometry.pages_per_block / (planes * dies);
        self.units.check(Shape { pages_per_block, ..*geometry }, latencies).map_err(|error| error.to_string())?;
        if let Some(buffers) = self.program_buffers.filter(|buffers| !(1..=MOST_BUFFERS).contains(buffers)) {
            return Err(format!("{buffers} buffers per die"));
        }
        if let Some(pages) = self.buffered_pages.filter(|pages| !(1..=MOST_BUFFERED).contains(pages)) {
            return Err(format!("a program buffer of {pages} pages"));
        }
        let at_once = self.abilities().programmed_at_once(self.units, latencies.cell, CellMode::Native);
        if at_once > Units::MOST_AT_ONCE {
            return Err(format!(
                "{at_once} pages that are programmed at once, and at most {} are",
                Units::MOST_AT_ONCE
            ));
        }
        if at_once > 1 && *program_order != ProgramOrder::Strict {
            return Err("pages that are programmed at once, and not in strict order".into());
        }
        Ok(())
    }
}

/// Keys of what a device does beyond the plain model of time that an image does not keep, each with
/// its value; none where its preset has the same, which is left out as well.
fn keys_not_kept(device: &sim::Device) -> Result<Vec<String>, LiveError> {
    let plain = |device: &sim::Device| {
        let Abilities { superblocks, multi_plane, .. } = device.abilities;
        let multi_plane = multi_plane && superblocks.planes == 1;
        Abilities { superblocks: Superblocks::BLOCKS, multi_plane, ..device.abilities }
    };
    let text = DeviceText { preset: device.keys.preset.clone(), ..DeviceText::default() };
    let preset = sim::Device::resolve(&text, device.seed)?;
    if [Abilities::default(), plain(&preset)].contains(&plain(device)) {
        return Ok(Vec::new());
    }
    let value = |text: &DeviceText| serde_json::to_value(text).map_err(|error| LiveError::Bug(error.to_string()));
    let (own, usual) = (value(&device.keys)?, value(&preset.keys)?);
    let is_kept =
        |key: &Key| ["superblock", "multi_plane"].contains(&key.name) && device.abilities.superblocks.planes > 1;
    let of_time =
        |key: &&Key| key.group == Some(Group::Ability) || ["suspend_latency", "resume_latency"].contains(&key.name);
    let keys = DeviceText::KEYS.iter().filter(of_time).filter(|key| !is_kept(key) && own[key.name] != usual[key.name]);
    Ok(keys.map(|key| format!("device.{} = {}", key.name, own[key.name])).collect())
}

impl Description {
    /// The device of a `[device]` table under a translation layer.
    pub fn new(device: &sim::Device, stack: &Stack) -> Result<Self, LiveError> {
        let stack = registry::resolve(stack)?.filled();
        let unkept = keys_not_kept(device)?;
        if !unkept.is_empty() {
            return Err(LiveError::user(format!(
                "{}: for simulations; an image's modelled latency does not know these keys. Leave them out: \
                 `ftlkit image create IMAGE --device {}`",
                unkept.join(", "),
                device.keys.preset.as_deref().unwrap_or(sim::DEFAULT_PRESET)
            )));
        }
        if device.chip.exposure.is_some() {
            return Err(LiveError::user(
                "device.power_loss_protection = false is for simulations; a page of an image is safe when its \
                 program has ended. Leave it out",
            ));
        }
        if device.reliability.is_some() || device.keys.initial_erases.is_some() {
            return Err(LiveError::user(
                "device: bit_errors, and initial_erases with it, are for simulations; an image keeps neither the reads of \
                 its blocks nor when their pages were programmed. Leave them out",
            ));
        }
        if let Some(key) = sim::pslc_setting(&stack) {
            return Err(LiveError::user(format!(
                "{}: {key}: an image does not keep which blocks are in pSLC mode; leave {key} out",
                stack.mapping.name
            )));
        }
        Ok(Self {
            stack,
            geometry: device.geometry.shape(),
            logical_pages: device.logical_pages,
            program_order: device.chip.program_order,
            endurance: device.chip.endurance.unwrap_or(u32::MAX),
            seed: device.seed,
            preset: device.keys.preset.clone().unwrap_or_default(),
            // No block is ever in pSLC mode, so nothing takes these times.
            latencies: Latencies { pslc: None, ..device.latencies },
            pricing: device.model,
            front_end: device.front_end,
            gathering: Gathering::of(device),
        })
    }

    /// The checked shape. Fails when the header was written by hand, or by another program.
    pub fn checked_geometry(&self) -> Result<Geometry, LiveError> {
        let geometry = Geometry::new(self.geometry).map_err(|error| LiveError::user(error.to_string()))?;
        if self.logical_pages == 0 || self.logical_pages >= geometry.pages() {
            return Err(LiveError::user(format!(
                "the header says {} logical pages on {} physical ones; there must be at least one, and fewer than physical ones. \
                 Create a new image with `ftlkit image create`",
                self.logical_pages,
                geometry.pages()
            )));
        }
        let times = self.latencies.check().and_then(|()| self.front_end.check());
        times.and_then(|()| self.gathering.check(self)).map_err(|why| {
            LiveError::user(format!("the header says {why}. Create a new image with `ftlkit image create`"))
        })?;
        registry::resolve(&self.stack)
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
            past_endurance: PastEndurance::Fails,
            bad_blocks: Vec::new(),
            ..ChipOptions::default()
        }
    }

    /// What the translation layer may know of the device.
    pub(crate) fn layout(&self, chip: &impl Flash) -> Layout {
        let Gathering { units, .. } = self.gathering;
        let abilities = self.gathering.abilities();
        let programmed_at_once = abilities.programmed_at_once(units, self.latencies.cell, CellMode::Native);
        Layout {
            programmed_at_once,
            units_per_page: units.per_page(),
            ..Layout::of(chip, self.logical_pages, self.seed)
        }
    }

    /// What keeps the time of the device that is switched on with a chip.
    pub(crate) fn timing(&self, chip: &impl Flash) -> EventTiming {
        let (geometry, latencies, model) = (chip.geometry(), self.latencies, self.pricing);
        let timing =
            EventTiming::of_units(geometry, self.gathering.units, latencies, model, self.gathering.abilities());
        let places = self.gathering.pages(geometry, latencies.cell);
        let mut timing = timing.buffering(geometry, places).behind(self.front_end);
        timing.start_on(chip);
        timing
    }
}

/// The text of a header.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Text {
    stack: StackText,
    geometry: Shape,
    logical_pages: u32,
    program_order: ProgramOrder,
    endurance: u32,
    seed: u64,
    preset: String,
    latencies: Latencies,
    pricing: Model,
    /// Absent in images that were made before links were kept.
    #[serde(default)]
    front_end: FrontEnd,
    /// Absent where no page waits for others.
    #[serde(default, skip_serializing_if = "Gathering::is_none")]
    gathering: Gathering,
}

impl From<&Description> for Text {
    fn from(described: &Description) -> Self {
        let Description {
            geometry,
            logical_pages,
            program_order,
            endurance,
            seed,
            latencies,
            pricing,
            front_end,
            gathering,
            ..
        } = *described;
        Self {
            stack: StackText::of(&described.stack),
            geometry,
            logical_pages,
            program_order,
            endurance,
            seed,
            preset: described.preset.clone(),
            latencies,
            pricing,
            front_end,
            gathering,
        }
    }
}

impl Text {
    fn describe(self) -> Result<Description, String> {
        let stack = self.stack.read()?;
        let Self { geometry, logical_pages, program_order, endurance, seed, preset, latencies, pricing, .. } = self;
        let (front_end, gathering) = (self.front_end, self.gathering);
        Ok(Description {
            stack,
            geometry,
            logical_pages,
            program_order,
            endurance,
            seed,
            preset,
            latencies,
            pricing,
            front_end,
            gathering,
        })
    }
}

/// A header as found.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) description: Description,
    /// What is wrong with the other copy, if anything is.
    pub(crate) damage: Option<String>,
}

/// Writes both copies of a file whose length is that of the whole image.
pub(crate) fn write(file: &mut ImageFile, description: &Description, end: u64) -> Result<(), LiveError> {
    let text = serde_json::to_vec(&Text::from(description))
        .map_err(|error| LiveError::Bug(format!("a header cannot be written as JSON: {error}")))?;
    if text.len() + FIXED_BYTES > HEADER_BYTES as usize {
        return Err(LiveError::user(format!(
            "the description of the image takes {} bytes, but a header has room for {}; shorten the settings",
            text.len(),
            HEADER_BYTES as usize - FIXED_BYTES
        )));
    }
    let bytes = framed(VERSION, &text);
    [0, end - HEADER_BYTES]
        .into_iter()
        .try_for_each(|offset| file.write(&bytes, offset))
        .map_err(|error| LiveError::user(format!("cannot write the image's header: {error}")))
}

/// A text behind the fixed bytes of a header.
pub(crate) fn framed(version: u32, text: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(FIXED_BYTES + text.len());
    bytes.extend(MAGIC);
    bytes.extend(version.to_le_bytes());
    bytes.extend((text.len() as u32).to_le_bytes());
    bytes.extend(crc32c::crc32c(text).to_le_bytes());
    bytes.extend(text);
    bytes
}

/// Reads the first copy that can be believed.
pub(crate) fn read(file: &File) -> Result<Found, LiveError> {
    let length = file.metadata().map_err(|error| LiveError::user(error.to_string()))?.len();
    let first = read_copy(file, 0);
    let last = length.checked_sub(HEADER_BYTES).filter(|&at| at >= HEADER_BYTES);
    let second = last.map_or_else(|| Err("the file ends before it".to_owned()), |at| read_copy(file, at));
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

fn read_copy(file: &File, offset: u64) -> Result<Description, String> {
    let text: Text = serde_json::from_slice(&read_text(file, offset, VERSION)?).map_err(|error| {
        format!("the header was written by another ftlkit: {error}. Serve it with the ftlkit that made it")
    })?;
    text.describe()
}

/// The text of a header of a version that lies at an offset.
pub(crate) fn read_text(file: &File, offset: u64, version: u32) -> Result<Vec<u8>, String> {
    let mut bytes = vec![0; HEADER_BYTES as usize];
    let length = read_up_to(file, &mut bytes, offset).map_err(|error| error.to_string())?;
    let word = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    if length < FIXED_BYTES || bytes[..8] != MAGIC {
        return Err("not a flash image: it does not begin with FTLKIMG. `ftlkit image create` makes one".into());
    }
    if word(8) != version {
        return Err(format!(
            "image of version {}, but this ftlkit reads version {version}; serve it with the ftlkit that made it, and copy its data over \
             with nbdcopy",
            word(8)
        ));
    }
    let end = FIXED_BYTES.saturating_add(word(12) as usize);
    if end > length || crc32c::crc32c(&bytes[FIXED_BYTES..end]) != word(16) {
        return Err("the header is damaged: its checksum is wrong. Restore the image from a copy".into());
    }
    Ok(bytes[FIXED_BYTES..end].to_vec())
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
