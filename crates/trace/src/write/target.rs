//! The formats that traces are written in.

use std::fs::File;
use std::io::{self, BufWriter};
use std::path::Path;
use std::str::FromStr;

use super::csv::CsvSink;
use super::parquet::ParquetSink;
use super::sink::Sink;

/// What a trace is converted to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// Parquet with the columns of ftlkit.
    Parquet,
    /// CSV with the columns of ftlkit.
    Csv,
}

impl Target {
    /// The target that a file's name asks for, if it does.
    pub fn of(path: &Path) -> Option<Self> {
        path.extension()?.to_str()?.to_ascii_lowercase().parse().ok()
    }

    /// Starts what a file of this format is written with.
    pub(super) fn sink(self, writer: BufWriter<File>) -> io::Result<Box<dyn Sink>> {
        Ok(match self {
            Self::Parquet => Box::new(ParquetSink::new(writer)?),
            Self::Csv => Box::new(CsvSink::new(writer)?),
        })
    }
}

impl FromStr for Target {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "parquet" => Ok(Self::Parquet),
            "csv" => Ok(Self::Csv),
            _ => Err(format!("unknown target format {name:?}; traces are converted to parquet or csv")),
        }
    }
}
