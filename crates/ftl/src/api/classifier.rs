//! Write classifiers from outside: which pages that the host writes share open blocks.
//!
//! A classifier is registered under a name, and then stands behind `streams=` of `page`. It is
//! asked once for each page that the host writes, through a table of functions; the built-in words
//! cost no such call. What it says is no part of a promise: any answer leaves every page where it
//! is found.

use std::fmt;
use std::sync::Arc;

use flash::Lpn;

use crate::api::layout::Layout;
use crate::api::named::{Named, PolicyKind};
use crate::api::request::Request;
use crate::port::error::ConfigError;

/// A way of telling apart what the host writes.
///
/// # Example
///
/// Pages of large requests share blocks, and so do the others:
///
/// ```
/// # use ftlkit_ftl as ftl;
/// use std::sync::Arc;
/// use flash::Lpn;
/// use ftl::{Request, WriteClassifier, registry};
///
/// #[derive(Debug)]
/// struct BySize;
///
/// impl WriteClassifier for BySize {
///     fn streams(&self) -> usize {
///         2
///     }
///
///     fn stream(&mut self, request: &Request, _: Lpn) -> Result<usize, String> {
///         Ok(usize::from(request.pages >= 8))
///     }
/// }
///
/// registry::replace_classifier("by-size", Arc::new(|_| Ok(Box::new(BySize))))?;
/// registry::resolve(&"page:streams=by-size".parse()?)?;
/// # Ok::<(), ftl::ConfigError>(())
/// ```
pub trait WriteClassifier: fmt::Debug + Send {
    /// Streams, each with an open block on every die, which has to be spared; at least 1. It never
    /// changes.
    fn streams(&self) -> usize;

    /// The stream of a page that the host writes with a request, below [`streams`](Self::streams).
    /// An error ends the run.
    fn stream(&mut self, request: &Request, lpn: Lpn) -> Result<usize, String>;

    /// What it keeps in RAM, in bytes; it never changes.
    fn ram_bytes(&self) -> u64 {
        0
    }
}

/// Makes a classifier for a device that is formatted or recovered.
pub type BuildClassifier = Arc<dyn Fn(&Layout) -> Result<Box<dyn WriteClassifier>, ConfigError> + Send + Sync>;

/// The registered classifiers.
pub(crate) static REGISTERED: Named<BuildClassifier> = Named::new(PolicyKind::Classifier);

/// A classifier at work, with what it said last that was wrong.
#[derive(Debug)]
pub(crate) struct Classified {
    classifier: Box<dyn WriteClassifier>,
    pub(crate) streams: usize,
    failure: Option<String>,
}

impl Classified {
    /// Makes a registered classifier of at most this many streams.
    pub(crate) fn build(name: &str, layout: &Layout, most: usize) -> Result<Self, ConfigError> {
        let build = REGISTERED.find(name);
        let build = build.ok_or_else(|| ConfigError(format!("streams = {name}: it is not registered any more")))?;
        let classifier = build(layout)?;
        let streams = classifier.streams();
        if !(1..=most).contains(&streams) {
            return Err(ConfigError(format!("streams = {name}: it has {streams} streams; must be from 1 to {most}")));
        }
        Ok(Self { classifier, streams, failure: None })
    }

    /// The stream of a page; the first one if the classifier fails.
    #[inline(never)]
    pub(crate) fn stream(&mut self, request: &Request, lpn: Lpn) -> usize {
        match self.classifier.stream(request, lpn) {
            Ok(stream) if stream < self.streams => stream,
            Ok(stream) => {
                let (classifier, streams) = (&self.classifier, self.streams);
                self.failure =
                    Some(format!("{classifier:?}: it put {lpn} into stream {stream}, but has {streams}, from 0 on"));
                0
            }
            Err(message) => {
                self.failure = Some(message);
                0
            }
        }
    }

    /// What went wrong since it was last asked.
    pub(crate) fn take_failure(&mut self) -> Option<String> {
        self.failure.take()
    }

    pub(crate) fn ram_bytes(&self) -> u64 {
        self.classifier.ram_bytes()
    }
}
