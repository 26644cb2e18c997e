//! A translation layer with its settings as one text, as it is spelled on the command line: `NAME:KEY=VALUE:KEY=VALUE`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The version of the spelling: what a later one adds, this one refuses by its number instead of misreading it.
const VERSION: u32 = 1;

/// A stack as an image's header has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Stack {
    version: u32,
    text: String,
}

impl Stack {
    /// The stack of one translation layer.
    pub(crate) fn of(ftl: &str, settings: &BTreeMap<String, String>) -> Self {
        let settings = settings.iter().map(|(key, value)| format!(":{key}={value}"));
        Self { version: VERSION, text: ftl.to_owned() + &settings.collect::<String>() }
    }

    /// Name and settings.
    pub(crate) fn parts(&self) -> Result<(String, BTreeMap<String, String>), String> {
        if self.version != VERSION {
            return Err(format!(
                "the stack in the header is spelled in version {}, but this ftlkit reads version {VERSION}; serve the image with the ftlkit \
                 that made it",
                self.version
            ));
        }
        let mut parts = self.text.split(':');
        let name = parts.next().unwrap_or_default().to_owned();
        let settings = parts.map(|setting| {
            let pair = setting.split_once('=');
            pair.map(|(key, value)| (key.to_owned(), value.to_owned()))
                .ok_or_else(|| format!("the stack {} in the header: {setting} is not KEY=VALUE", self.text))
        });
        Ok((name, settings.collect::<Result<_, _>>()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_spelled_reads_back() {
        let settings =
            BTreeMap::from([("cmt".to_owned(), "64KiB".to_owned()), ("victim".to_owned(), "greedy".to_owned())]);
        let stack = Stack::of("dftl", &settings);
        assert_eq!(stack.text, "dftl:cmt=64KiB:victim=greedy");
        assert_eq!(stack.parts(), Ok(("dftl".to_owned(), settings)));
        assert_eq!(Stack::of("block", &BTreeMap::new()).parts(), Ok(("block".to_owned(), BTreeMap::new())));
    }

    #[test]
    fn what_cannot_be_read_is_refused_by_its_name() {
        let of = |version, text: &str| Stack { version, text: text.to_owned() }.parts().expect_err("refused");
        assert!(of(2, "page").contains("version 2"));
        assert!(of(1, "page:victim").contains("victim is not KEY=VALUE"));
    }
}
