//! What the programs do, one operation after another.

use random::SeededRng;

use crate::population::{For, Population};
use crate::spec::{FileSpec, Personality};
use crate::volume::{Volume, VolumeError, WritePosition};

/// Sizes of postmark's files in bytes, and the most that one grows to (Katcher 1997, the defaults).
const POSTMARK_BYTES: (u32, u32) = (500, 10_000);

/// Files that webserver reads for each time that it appends to its log.
const READS_PER_LOG: u32 = 10;

/// Webserver's log among its files, of which none is ever deleted: the one that was created first.
const LOG: usize = 0;

/// The log begins anew beyond this; filebench lets it grow for ever, beyond what FAT has room for
/// in a file.
const MOST_LOG_BYTES: u32 = 1 << 20;

/// Files, the volume that they lie on, and the rng.
pub(crate) struct Programs {
    spec: FileSpec,
    files: Population,
    volume: Volume,
    rng: SeededRng,
}

impl Programs {
    pub(crate) fn new(spec: FileSpec, volume: Volume, seed: u64) -> Self {
        let (files, rng) = (Population::new(&spec), SeededRng::named(seed, "files"));
        Self { spec, files, volume, rng }
    }

    pub(crate) fn volume(&self) -> &Volume {
        &self.volume
    }

    pub(crate) fn volume_mut(&mut self) -> &mut Volume {
        &mut self.volume
    }

    /// Files at the start.
    pub(crate) fn first_files(&self) -> u32 {
        match self.spec.personality {
            Personality::Postmark | Personality::Webserver => self.spec.files - 1,
            // filebench's prealloc = 80.
            Personality::Fileserver | Personality::Varmail => (u64::from(self.spec.files) * 4 / 5) as u32,
        }
    }

    /// One operation: a transaction of postmark, a round of the others.
    pub(crate) fn step(&mut self) -> Result<(), VolumeError> {
        match self.spec.personality {
            Personality::Postmark => self.postmark(),
            Personality::Fileserver => self.fileserver(),
            Personality::Varmail => self.varmail(),
            Personality::Webserver => self.webserver(),
        }
    }

    /// Reads or appends to a file, then creates or deletes one.
    fn postmark(&mut self) -> Result<(), VolumeError> {
        if self.coin() {
            self.read();
        } else {
            self.write(false)?;
        }
        if self.coin() { self.create(false) } else { self.delete() }
    }

    fn fileserver(&mut self) -> Result<(), VolumeError> {
        self.create(false)?;
        self.write(false)?;
        self.read();
        self.delete()
    }

    fn varmail(&mut self) -> Result<(), VolumeError> {
        self.delete()?;
        self.create(true)?;
        self.read();
        self.write(true)?;
        self.read();
        Ok(())
    }

    fn webserver(&mut self) -> Result<(), VolumeError> {
        (0..READS_PER_LOG).for_each(|_| self.read());
        let log = self.files.at(LOG);
        if log.bytes > MOST_LOG_BYTES {
            self.volume.delete(log)?;
            log.bytes = 0;
            self.volume.create(log)?;
        }
        let bytes = 1 + self.rng.below(self.spec.append_bytes.into()) as u32;
        self.write_to(LOG, bytes, false)
    }

    /// Creates a file and writes it whole, if there is room for another.
    pub(crate) fn create(&mut self, safe: bool) -> Result<(), VolumeError> {
        let bytes = self.first_bytes();
        let Some(entry) = self.files.arrive(&mut self.rng) else { return Ok(()) };
        entry.bytes = bytes;
        self.volume.create(entry)?;
        self.volume.write(entry, WritePosition::End, bytes)?;
        if safe {
            self.volume.sync(entry);
        }
        Ok(())
    }

    /// Opens a file and appends to it, or writes over a part of it if its type is rewritten.
    fn write(&mut self, safe: bool) -> Result<(), VolumeError> {
        let Some(place) = self.files.draw(&mut self.rng, For::Writing) else { return Ok(()) };
        let most = match self.spec.personality {
            Personality::Postmark => POSTMARK_BYTES.1.saturating_sub(self.files.at(place).bytes),
            _ => self.spec.append_bytes,
        };
        if most == 0 {
            return Ok(());
        }
        let bytes = 1 + self.rng.below(most.into()) as u32;
        self.write_to(place, bytes, safe)
    }

    fn write_to(&mut self, place: usize, bytes: u32, safe: bool) -> Result<(), VolumeError> {
        let entry = self.files.at(place);
        self.volume.open(entry);
        if entry.kind.rewritten && entry.bytes > 0 {
            let bytes = bytes.min(entry.bytes);
            let at = self.rng.below(u64::from(entry.bytes - bytes) + 1) as u32;
            self.volume.write(entry, WritePosition::At(at), bytes)?;
        } else {
            self.volume.write(entry, WritePosition::End, bytes)?;
            entry.bytes = entry.bytes.saturating_add(bytes);
        }
        if safe {
            self.volume.sync(entry);
        }
        Ok(())
    }

    fn read(&mut self) {
        if let Some(place) = self.files.draw(&mut self.rng, For::Reading) {
            let entry = self.files.at(place);
            self.volume.open(entry);
            self.volume.read(entry);
        }
    }

    fn delete(&mut self) -> Result<(), VolumeError> {
        let Some(place) = self.files.draw(&mut self.rng, For::Deletion) else { return Ok(()) };
        let gone = self.files.leave(place);
        self.volume.delete(&gone)
    }

    fn coin(&mut self) -> bool {
        self.rng.below(2) == 0
    }

    /// The size of a new file: even between postmark's bounds, or gamma distributed with shape 1.5
    /// as filebench's are. An exponential variate and half the square of a normal one add up to
    /// that; its mean is 1.5.
    fn first_bytes(&mut self) -> u32 {
        let (least, most) = POSTMARK_BYTES;
        if self.spec.personality == Personality::Postmark {
            return least + self.rng.below(u64::from(most - least) + 1) as u32;
        }
        let cosine = libm::cos(2.0 * std::f64::consts::PI * self.rng.unit_interval());
        let gamma = self.rng.exponential() + self.rng.exponential() * cosine * cosine;
        (gamma / 1.5 * f64::from(self.spec.mean_bytes)).max(1.0) as u32
    }

    /// The names and sizes of all files, for tests.
    pub(crate) fn files(&self) -> impl Iterator<Item = (&str, u32)> {
        self.files.iter().map(|entry| (entry.path.as_str(), entry.bytes))
    }
}
