//! The translation layer in an image's header: the text of a [`Stack`], with a version of its own.

use ftl::Stack;
use serde::{Deserialize, Serialize};

/// The version of the text of a mapping alone, in which it was spelled when there was nothing else.
const BARE: u32 = 1;
/// The version of a text with further parts behind a `+`. Who knows only the one before refuses it
/// by its number.
const WITH_PARTS: u32 = 2;

/// A stack as an image's header has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StackText {
    version: u32,
    text: String,
}

impl StackText {
    /// The text of a stack.
    pub(crate) fn of(stack: &Stack) -> Self {
        Self { version: if stack.is_bare() { BARE } else { WITH_PARTS }, text: stack.to_string() }
    }

    /// The stack, or why the header's text is none.
    pub(crate) fn read(&self) -> Result<Stack, String> {
        if ![BARE, WITH_PARTS].contains(&self.version) {
            return Err(format!(
                "the stack in the header is spelled in version {}, but this ftlkit reads versions {BARE} and {WITH_PARTS}; serve the image with \
                 the ftlkit that made it",
                self.version
            ));
        }
        spelled_today(&self.text).parse().map_err(|error| format!("the stack in the header cannot be read: {error}"))
    }
}

/// A stack's text with the parameters of today: one parameter of an image that was made before is
/// two by now, with the value that it had.
fn spelled_today(text: &str) -> String {
    let of_today = |piece: &str| match piece.strip_prefix("selection_delay=") {
        Some(rest) => {
            let value = rest.split('+').next().unwrap_or(rest);
            format!("data_selection={value}:map_selection={rest}")
        }
        None => piece.to_owned(),
    };
    text.split(':').map(of_today).collect::<Vec<_>>().join(":")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_spelled_reads_back() {
        let bare = Stack::with("dftl", [("cmt", "64KiB"), ("victim", "greedy")]);
        let text = StackText::of(&bare);
        assert_eq!((text.version, text.text.as_str()), (1, "dftl:cmt=64KiB:victim=greedy"));
        assert_eq!(text.read(), Ok(bare));
        let stack: Stack = "block+owl:bat=256".parse().expect("a spelling");
        assert_eq!(StackText::of(&stack), StackText { version: 2, text: stack.to_string() });
        assert_eq!(StackText::of(&stack).read(), Ok(stack));
    }

    #[test]
    fn a_parameter_that_is_two_by_now_keeps_its_value() {
        let of = |text: &str| StackText { version: 2, text: text.to_owned() }.read().expect("a spelling");
        let before = of("treeftl:ram=8MiB:selection_delay=2us+lru:ram=1MiB");
        assert_eq!(before, of("treeftl:ram=8MiB:data_selection=2us:map_selection=2us+lru:ram=1MiB"));
        assert_eq!(of("aps:selection_delay=0us"), of("aps:data_selection=0us:map_selection=0us"));
    }

    #[test]
    fn what_cannot_be_read_is_refused_by_its_name() {
        let of = |version, text: &str| StackText { version, text: text.to_owned() }.read().expect_err("refused");
        assert!(of(3, "page").contains("version 3"));
        assert!(of(1, "page:victim").contains("\"victim\" is not KEY=VALUE"));
    }
}
