//! What every format that traces are written in can do.

use std::fs::File;
use std::io::{self, BufWriter};

use crate::record::Record;

/// Something that takes records and makes a file of them.
pub(super) trait Sink {
    fn write(&mut self, record: &Record, devices: &[String]) -> io::Result<()>;
    fn finish(self: Box<Self>, devices: &[String]) -> io::Result<BufWriter<File>>;
}
