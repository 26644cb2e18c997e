//! The requests of a file workload, one after another.

use analyzer::{Analyzer, Interval};
use trace::Record;

use crate::personality::Programs;
use crate::spec::{FileSpec, SpecError};
use crate::volume::{Volume, VolumeError};

/// Why a workload cannot begin.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The description cannot be carried out.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// The volume cannot be made.
    #[error(transparent)]
    Volume(#[from] VolumeError),
}

/// The requests of a file workload in the order of their arrival, from the formatting of the volume
/// to the last page written back.
pub struct FileWorkload {
    programs: Programs,
    /// Files that have yet to be created at the start.
    first: u32,
    operations: u64,
    done: u64,
    ns_per_operation: f64,
    is_over: bool,
}

impl FileWorkload {
    /// A workload that has not begun. Equal arguments give equal requests.
    pub fn new(spec: &FileSpec, seed: u64) -> Result<Self, StartError> {
        let spec = spec.clone().check()?;
        let analyzer = Analyzer::new(spec.analyzer).map_err(SpecError::from)?;
        let volume = Volume::new(&spec, analyzer)?;
        let (operations, ns_per_operation) = (spec.operations, 1e9 / spec.operations_per_second);
        let programs = Programs::new(spec, volume, seed);
        let first = programs.first_files();
        Ok(Self { programs, first, operations, done: 0, ns_per_operation, is_over: false })
    }

    /// Intervals of the analyzer that have ended so far, with the figures of all types of files.
    pub fn intervals(&self) -> &[Interval] {
        self.programs.volume().intervals()
    }

    /// Operations done so far, without the files that are there at the start.
    pub fn done(&self) -> u64 {
        self.done
    }

    /// The files that there are: path on the volume, and bytes.
    pub fn files(&self) -> impl Iterator<Item = (&str, u32)> {
        self.programs.files()
    }

    #[cfg(test)]
    pub(crate) fn volume(&self) -> &Volume {
        self.programs.volume()
    }

    fn step(&mut self) -> Result<(), VolumeError> {
        if self.first > 0 {
            self.first -= 1;
            return self.programs.create(false);
        }
        if self.done == self.operations {
            self.is_over = true;
            return self.programs.volume_mut().unmount();
        }
        let now_ns = (self.done as f64 * self.ns_per_operation) as u64;
        self.programs.volume_mut().cache().set_time(now_ns);
        self.done += 1;
        self.programs.step()
    }
}

impl Iterator for FileWorkload {
    type Item = Result<Record, VolumeError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(record) = self.programs.volume_mut().cache().next() {
                return Some(Ok(record));
            }
            if self.is_over {
                return None;
            }
            if let Err(error) = self.step() {
                self.is_over = true;
                return Some(Err(error));
            }
        }
    }
}
