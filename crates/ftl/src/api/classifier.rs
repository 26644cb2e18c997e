//! Classifiers: which pages share open blocks, when the host writes them and when they are
//! relocated.
//!
//! A page belongs to a *class*, from 0 on. A classifier is registered under a name, and then stands
//! behind `streams=`. It classifies each page that the host writes and, if it wants that, each page
//! that is relocated; it is notified of each block that is collected. Its answers are no part of a
//! promise: every page is found whatever class it has, a page whose class has no room may join
//! another, and a power cut forgets classes.

use std::fmt;
use std::sync::Arc;

use flash::Lpn;
use host::Hint;

use crate::api::layout::Layout;
use crate::api::named::{Named, PolicyKind};
use crate::port::error::ConfigError;

/// A page that the host writes. Time counts pages that the host has written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WrittenPage {
    /// The logical page.
    pub lpn: Lpn,
    /// Pages of its request.
    pub request_pages: u32,
    /// The host's hint.
    pub hint: Hint,
    /// Time since the host last wrote it; none if it never has. Of what was written before a power
    /// cut, it counts all programs up to the cut.
    pub age: Option<u64>,
    /// Time until the host writes or trims it again, for a classifier that
    /// [needs the future](Classifier::needs_future); none for never.
    pub dies_in: Option<u64>,
}

/// A page that is relocated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RelocatedPage {
    /// The logical page.
    pub lpn: Lpn,
    /// The same; none if that is unknown.
    pub age: Option<u64>,
    /// The class of the block that it leaves.
    pub from: usize,
    /// As in [`WrittenPage`].
    pub dies_in: Option<u64>,
}

/// A block that is collected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReclaimedUnit {
    /// Its class.
    pub class: usize,
    /// When it was opened, in pages that the host had written.
    pub opened_at: u64,
    /// Pages that the host has written since.
    pub age: u64,
    /// Pages that are still valid.
    pub valid_pages: u32,
    /// Pages of content that a block has.
    pub pages: u32,
}

/// A way of telling pages apart.
///
/// # Example
///
/// Pages of large requests share blocks, and so do the others; all that is relocated goes to the
/// last class:
///
/// ```
/// # use ftlkit_ftl as ftl;
/// use std::sync::Arc;
/// use ftl::{Classifier, WrittenPage, registry};
///
/// #[derive(Debug)]
/// struct BySize;
///
/// impl Classifier for BySize {
///     fn classes(&self) -> usize {
///         3
///     }
///
///     fn classify(&mut self, page: &WrittenPage) -> Result<usize, String> {
///         Ok(usize::from(page.request_pages >= 8))
///     }
/// }
///
/// registry::replace_classifier("by-size", Arc::new(|_| Ok(Box::new(BySize))))?;
/// registry::resolve(&"page:streams=by-size".parse()?)?;
/// # Ok::<(), ftl::ConfigError>(())
/// ```
pub trait Classifier: fmt::Debug + Send {
    /// Classes, each with an open block on every die, which has to be spared; at least 1. It never
    /// changes.
    fn classes(&self) -> usize;

    /// Classes, the first ones, that wear policies and pacing see as the host's; it never changes.
    fn host_classes(&self) -> usize {
        self.classes().saturating_sub(1).max(1)
    }

    /// Whether it looks at hints; it never changes.
    fn uses_hints(&self) -> bool {
        true
    }

    /// Whether it needs to know the time of each page's last write, which then takes RAM; it never
    /// changes.
    fn reads_ages(&self) -> bool {
        true
    }

    /// Whether it decides by what the host will ask, which no controller knows; it never changes.
    fn needs_future(&self) -> bool {
        false
    }

    /// Whether [`relocate`](Self::relocate) is asked; if not, relocated pages go to the last class.
    /// It never changes.
    fn relocates(&self) -> bool {
        false
    }

    /// The class of a page that the host writes, below [`classes`](Self::classes). An error ends
    /// the run.
    fn classify(&mut self, page: &WrittenPage) -> Result<usize, String>;

    /// The class of a page that is relocated.
    fn relocate(&mut self, _page: &RelocatedPage) -> Result<usize, String> {
        Ok(self.classes() - 1)
    }

    /// A block is chosen for collection; its pages are relocated next. Blocks that were opened
    /// before a power cut are left out.
    fn on_reclaimed(&mut self, _unit: &ReclaimedUnit) -> Result<(), String> {
        Ok(())
    }

    /// What it keeps in RAM, in bytes; it never changes.
    fn ram_bytes(&self) -> u64 {
        0
    }
}

/// Makes a classifier for a device that is formatted or recovered.
pub type BuildClassifier = Arc<dyn Fn(&Layout) -> Result<Box<dyn Classifier>, ConfigError> + Send + Sync>;

/// The registered classifiers.
pub(crate) static REGISTERED: Named<BuildClassifier> = Named::new(PolicyKind::Classifier);

/// Makes a registered classifier.
pub(crate) fn build(name: &str, layout: &Layout) -> Result<Box<dyn Classifier>, ConfigError> {
    let build = REGISTERED.find(name);
    build.ok_or_else(|| ConfigError(format!("streams = {name}: it is not registered any more")))?(layout)
}
