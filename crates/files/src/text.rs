//! A file workload as a user writes it: a personality, and what differs from its defaults.

use serde::Deserialize;
use trace::units::Bytes;

use crate::spec::{FileSpec, Names, Personality, SpecError};

/// Keys of a table; omitted keys have the personality's default. Sizes are bytes, or text such
/// as `1GiB`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileText {
    /// postmark, fileserver, varmail or webserver.
    pub personality: Personality,
    operations: Option<u64>,
    files: Option<u32>,
    mean_bytes: Option<Bytes>,
    append_bytes: Option<Bytes>,
    request_bytes: Option<Bytes>,
    volume_bytes: Option<Bytes>,
    names: Option<Names>,
    files_per_folder: Option<u32>,
    dirty_bytes: Option<Bytes>,
    trims: Option<bool>,
    streams: Option<u8>,
    table_degree: Option<u8>,
    operations_per_second: Option<f64>,
    alpha: Option<f64>,
    beta: Option<f64>,
    degrees: Option<u8>,
    interval: Option<u64>,
}

impl FileText {
    /// The whole description, if it can be carried out.
    pub fn spec(&self) -> Result<FileSpec, SpecError> {
        let own = FileSpec::of(self.personality);
        let parameters = analyzer::Parameters {
            alpha: self.alpha.unwrap_or(own.analyzer.alpha),
            beta: self.beta.unwrap_or(own.analyzer.beta),
            degrees: self.degrees.unwrap_or(own.analyzer.degrees),
            interval: self.interval.unwrap_or(own.analyzer.interval),
        };
        FileSpec {
            personality: self.personality,
            operations: self.operations.unwrap_or(own.operations),
            files: self.files.unwrap_or(own.files),
            mean_bytes: small("mean_bytes", self.mean_bytes, own.mean_bytes)?,
            append_bytes: small("append_bytes", self.append_bytes, own.append_bytes)?,
            request_bytes: small("request_bytes", self.request_bytes, own.request_bytes)?,
            volume_bytes: self.volume_bytes.map_or(own.volume_bytes, |bytes| bytes.0),
            names: self.names.unwrap_or(own.names),
            files_per_folder: self.files_per_folder.unwrap_or(own.files_per_folder),
            dirty_bytes: self.dirty_bytes.map_or(own.dirty_bytes, |bytes| bytes.0),
            trims: self.trims.unwrap_or(own.trims),
            streams: self.streams.unwrap_or(own.streams),
            table_degree: self.table_degree.or(own.table_degree),
            operations_per_second: self.operations_per_second.unwrap_or(own.operations_per_second),
            analyzer: parameters,
        }
        .check()
    }
}

/// A size within a file, which is below 4 GiB on FAT.
fn small(key: &'static str, given: Option<Bytes>, own: u32) -> Result<u32, SpecError> {
    let Some(bytes) = given else { return Ok(own) };
    let refused = |_| SpecError::Field { key, value: bytes.0.to_string(), rule: "must be below 4 GiB".into() };
    u32::try_from(bytes.0).map_err(refused)
}
