//! What a caller says as text (JSON from Python), before anything of it is believed.

use std::path::PathBuf;

use analyzer::Parameters;
use fat::CodePage;
use live::{LiveError, ServeText};
use serde::Deserialize;

use crate::mounted::MountOptions;

/// The most streams, beside that of tables and folders.
const MOST_STREAMS: u8 = 15;

/// How an image is mounted.
#[derive(Clone, Debug, Deserialize)]
pub struct MountText {
    /// The folder to mount at.
    pub folder: PathBuf,
    /// Whether a new image is formatted first.
    #[serde(default)]
    pub format: bool,
    /// Write requests of an interval of the analyzer.
    #[serde(default)]
    pub interval: Option<u64>,
    /// Streams for the data of files.
    #[serde(default)]
    pub streams: Option<u8>,
    /// The code page of short names.
    #[serde(default)]
    pub code_page: Option<u16>,
    /// How the image is served meanwhile.
    #[serde(flatten)]
    pub serve: ServeText,
}

impl MountText {
    /// Checks every value and resolves the defaults.
    pub fn check(self) -> Result<MountOptions, LiveError> {
        let own = Parameters::default();
        let streams = self.streams.unwrap_or(3);
        if streams > MOST_STREAMS {
            return Err(LiveError::user(format!("--streams {streams}: must be from 0 to {MOST_STREAMS}")));
        }
        let code_page = self.code_page.map_or(Some(CodePage::default()), CodePage::of).ok_or_else(|| {
            let known = CodePage::NUMBERS.map(|number| number.to_string()).join(" or ");
            LiveError::user(format!("--code-page {}: must be {known}", self.code_page.unwrap_or_default()))
        })?;
        let parameters = Parameters { interval: self.interval.unwrap_or(own.interval), ..own };
        let parameters = parameters.check().map_err(|error| LiveError::user(error.to_string()))?;
        if self.format && self.serve.read_only {
            return Err(LiveError::user("--format writes, and --read-only forbids it: give one of them"));
        }
        let serve = live::ServeOptions { address: None, ..self.serve.check()? };
        Ok(MountOptions { serve, folder: self.folder, format: self.format, parameters, streams, code_page })
    }
}
