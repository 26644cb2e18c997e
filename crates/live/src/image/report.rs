//! What can be said of an image that nobody serves: what it is, and what is wrong with it.
//!
//! A check changes nothing. It looks at every byte that means something, then recovers the
//! translation layer as for a device that is only read, checks its invariants, and says which
//! logical pages could not be read.

use std::fs::{File, TryLockError};
use std::path::Path;

use flash::{Chip, FaultPlan, FaultyChip, Geometry, Lpn, PageData};
use ftl::{AnyDevice, FlashPort, Request, Untimed, registry};
use serde::Serialize;

use super::file::ImageFile;
use super::header::Found;
use super::header::{self, Description};
use super::image_layout::ImageLayout;
use super::life::{Counters, LifeSlots};
use super::load::{Loaded, Purpose, load};
use super::open::{geometry_in, open_file};
use super::store::PageState;
use crate::LiveError;

/// Unreadable logical pages that are told one by one.
const TOLD_PAGES: usize = 64;

/// What an image is, from its header and its life.
#[derive(Clone, Debug, Serialize)]
pub struct ImageInfo {
    /// What it was made as.
    pub description: Description,
    /// Bytes that the host sees.
    pub logical_bytes: u64,
    /// Bytes of the flash.
    pub physical_bytes: u64,
    /// Length of the file.
    pub file_bytes: u64,
    /// Bytes that the file takes on its disk.
    pub disk_bytes: u64,
    /// Whether somebody serves it.
    pub is_served: bool,
    /// Whether it was left in good order; one that was not is recovered when it is served.
    pub is_clean: bool,
    /// How often it was served.
    pub starts: u64,
    /// Counts over its life, up to the last flush.
    pub life: Counters,
}

/// What a check found.
#[derive(Clone, Debug, Default, Serialize)]
pub struct CheckReport {
    /// Whether nothing is damaged.
    pub is_sound: bool,
    /// Pages that hold something.
    pub programmed_pages: u64,
    /// Pages that an interrupted or failed operation left unusable until their block is erased: no
    /// damage.
    pub torn_pages: u64,
    /// Blocks that are bad.
    pub bad_blocks: u64,
    /// What is wrong, in sentences.
    pub problems: Vec<String>,
    /// What a host that lost power leaves, in sentences: no damage, and gone with the next start.
    pub host_loss: Vec<String>,
    /// Logical pages that cannot be read; of many the first.
    pub unreadable_pages: Vec<u32>,
    /// How many logical pages cannot be read.
    pub unreadable_count: u64,
}

/// Reads an image's header and life. May be asked while it is being served.
pub fn info(path: &Path) -> Result<ImageInfo, LiveError> {
    let file = open_file(path, false)?;
    let (found, geometry) = describe(&file, path)?;
    let metadata = file.metadata().map_err(|error| LiveError::file("look at", path, &error))?;
    let life = LifeSlots::read(&file, ImageLayout::of(&geometry).life).life.unwrap_or_default();
    let is_served = matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock));
    Ok(ImageInfo {
        logical_bytes: found.description.logical_bytes(),
        description: found.description,
        physical_bytes: geometry.bytes(),
        file_bytes: metadata.len(),
        disk_bytes: std::os::unix::fs::MetadataExt::blocks(&metadata) * 512,
        is_served,
        is_clean: life.is_clean && !is_served,
        starts: life.starts,
        life: life.counters,
    })
}

fn describe(file: &File, path: &Path) -> Result<(Found, Geometry), LiveError> {
    let named = |error: LiveError| LiveError::user(format!("{}: {error}", path.display()));
    let found = header::read(file).map_err(named)?;
    let length = file.metadata().map_err(|error| LiveError::file("look at", path, &error))?.len();
    let geometry = geometry_in(&found.description, length).map_err(named)?;
    Ok((found, geometry))
}

/// Checks an image that nobody serves. A file that is no image, or one of another version, is an
/// error; whatever else is wrong is in the report.
pub fn check(path: &Path) -> Result<CheckReport, LiveError> {
    let file = open_file(path, false)?;
    let (found, geometry) = describe(&file, path)?;
    if let Err(TryLockError::WouldBlock) = file.try_lock_shared() {
        return Err(LiveError::user(format!(
            "{path} is being served, so it changes while it would be checked; stop the server first",
            path = path.display()
        )));
    }
    let length = file.metadata().map_err(|error| LiveError::file("look at", path, &error))?.len();
    let end = ImageLayout::of(&geometry).end;
    let missing = end.saturating_sub(length);
    let mut report = CheckReport::default();
    if missing > 0 {
        report.problems.push(format!("the file is truncated: its last {missing} bytes are missing"));
    }
    report.problems.extend(found.damage);
    let loaded = load(ImageFile::read_only(file, end), &geometry, found.description.logical_pages, Purpose::Check)
        .map_err(|error| LiveError::file("read", path, &error))?;
    report.problems.extend(loaded.findings.damage());
    report.host_loss = loaded.findings.host_loss();
    report.count(&loaded);
    report.recover(loaded, &found.description, geometry);
    report.is_sound = report.problems.is_empty();
    Ok(report)
}

impl CheckReport {
    fn count(&mut self, loaded: &Loaded) {
        let states = &loaded.store.pages.states;
        let is_programmed =
            |state: &&PageState| matches!(state, PageState::Data | PageState::Empty | PageState::Own | PageState::Lost);
        self.programmed_pages = states.iter().filter(is_programmed).count() as u64;
        self.torn_pages =
            states.iter().filter(|state| matches!(state, PageState::Torn | PageState::Unstable)).count() as u64;
        self.bad_blocks = loaded.blocks.iter().filter(|block| block.is_bad).count() as u64;
    }

    /// Recovers the translation layer, and reads every logical page.
    fn recover(&mut self, loaded: Loaded, description: &Description, geometry: Geometry) {
        let chip = Chip::resume(geometry, &description.chip_options(), loaded.store, loaded.blocks);
        let chip = FaultyChip::new(chip, FaultPlan::default());
        let layout = description.layout(&chip).in_use();
        let mut flash = FlashPort::new(AnyDevice::new(chip, Untimed));
        let ftl = match registry::recover(&description.stack, &layout, &mut flash) {
            Ok(ftl) => ftl,
            Err(error) => {
                self.problems.push(format!("{} cannot be recovered: {error}", description.stack.names()));
                return;
            }
        };
        if let Err(broken) = ftl.check(&flash) {
            self.problems.push(format!("after recovery {broken}"));
        }
        let mut ftl = ftl;
        for lpn in 0..description.logical_pages {
            if ftl.read(&mut flash, &Request::new(Lpn::new(lpn), 1), &mut [PageData::default()]).is_err() {
                self.unreadable_count += 1;
                if self.unreadable_pages.len() < TOLD_PAGES {
                    self.unreadable_pages.push(lpn);
                }
            }
        }
        if self.unreadable_count > 0 {
            self.problems.push(format!("{} logical pages cannot be read", self.unreadable_count));
        }
    }
}
