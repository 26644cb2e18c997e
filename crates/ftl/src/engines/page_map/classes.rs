//! Classes under a page map: a classifier (`api/classifier.rs`) at work, and which stream holds
//! which class.
//!
//! Class 0 has the stream of the host's pages and the last class that of collected pages; those in
//! between have streams of their own, behind the others of the space. So recovery, which knows a
//! block by the roles of its pages, gives it the first class or the last: a power cut forgets
//! classes. It does not forget when a page was last written, which its tag tells.
//!
//! Classes are soft. A page that is relocated to a class without room opens a block only if that
//! leaves one free (`PageSpace::program`), and otherwise joins the nearest class with room on its
//! die. So emptying a block takes no more free blocks than with one destination.
//!
//! Where the controller has no capacitor, an open block costs padding when a block is erased, for
//! which one destination is accounted. So there all that is relocated goes to the last class.
//!
//! Limit: the time of a page's last write is kept in an array, which stands for the tags of the
//! pages. A host write has to know it before it reads the old page, so it is charged as RAM, with
//! the four bytes that a controller would use.

use std::collections::BTreeSet;

use flash::{Lpn, Pbn, Tag};

use crate::api::classifier::{Classifier, ReclaimedUnit, RelocatedPage, WrittenPage};
use crate::api::layout::Layout;
use crate::api::mapping::FutureRequest;
use crate::api::report::Footprint;
use crate::api::request::Request;
use crate::api::wear::Purpose;
use crate::engines::page_map::deaths::Deaths;
use crate::engines::page_map::space::{COLLECTED, ClassNeeds, HOST, PageSpace, Stream};
use crate::port::cause::Cause;
use crate::port::error::{ConfigError, FtlError};

/// The most classes, each with an open block on every die.
pub const MOST_CLASSES: usize = 17;

/// Purposes of the classes between the first and the last: those of the host, then the others.
const PURPOSES: [Purpose; 2 * MOST_CLASSES] = data_then_collected();

/// Purposes: in the first half data of the host, in the other half collected pages.
pub const fn data_then_collected<const ALL: usize>() -> [Purpose; ALL] {
    let mut purposes = [Purpose::Data; ALL];
    let mut at = ALL / 2;
    while at < ALL {
        purposes[at] = Purpose::Collected;
        at += 1;
    }
    purposes
}

/// A classifier at work.
#[derive(Debug)]
pub struct Classes {
    classifier: Box<dyn Classifier>,
    /// The stream of each class.
    streams: Vec<Stream>,
    relocates: bool,
    deaths: Deaths,
    /// Pages that the host had written when it last wrote each logical page, that one included; 0
    /// for never.
    last_writes: Vec<u64>,
    /// Blocks that were told of when they were taken in hand.
    notified: BTreeSet<Pbn>,
    /// When the device was recovered: what was opened by then is not known.
    recovered_at: Option<u64>,
    blocks: u32,
    failure: Option<String>,
}

/// Logical pages to keep figures of. More than there are on the flash are refused a step later.
pub fn pages_of(layout: &Layout) -> usize {
    layout.logical_pages.min(layout.geometry.pages()) as usize
}

impl Classes {
    /// A classifier under a scheme that has `streams` streams beside those of its classes, the
    /// host's first and that of collected pages second.
    pub fn new(
        name: &str,
        classifier: Box<dyn Classifier>,
        layout: &Layout,
        streams: usize,
    ) -> Result<Self, ConfigError> {
        let classes = classifier.classes();
        if !(2..=MOST_CLASSES).contains(&classes) {
            return Err(ConfigError(format!(
                "streams = {name}: it has {classes} classes; must be from 2 to {MOST_CLASSES}"
            )));
        }
        let between = streams..streams + classes - 2;
        let all = std::iter::once(HOST).chain(between).chain([COLLECTED]).collect();
        Ok(Self {
            relocates: classifier.relocates() && layout.exposure.is_none(),
            classifier,
            deaths: Deaths::default(),
            streams: all,
            last_writes: vec![0; pages_of(layout)],
            notified: BTreeSet::new(),
            recovered_at: None,
            blocks: layout.geometry.blocks(),
            failure: None,
        })
    }

    /// What its scheme asks of a space for them.
    pub fn needs(&self) -> ClassNeeds {
        let between = self.streams.len() - 2;
        let hosts = self.classifier.host_classes().clamp(1, between + 1) - 1;
        let between = &PURPOSES[MOST_CLASSES - hosts..MOST_CLASSES - hosts + between];
        ClassNeeds { between, are_soft: self.relocates, are_counted: true }
    }

    /// Whether relocated pages may go to several streams.
    #[inline]
    pub fn relocates(&self) -> bool {
        self.relocates
    }

    /// The stream of a page that the host writes.
    pub fn write_stream(&mut self, request: &Request, lpn: Lpn, space: &PageSpace) -> Stream {
        let age = self.age(lpn, space);
        let dies_in = self.deaths.of_next(space.clock());
        let page = WrittenPage { lpn, request_pages: request.pages, hint: request.hint, age, dies_in };
        let answer = self.classifier.classify(&page);
        self.stream_of_answer(answer, lpn)
    }

    /// A page of the host's has found its place.
    #[inline]
    pub fn on_written(&mut self, lpn: Lpn, space: &PageSpace) {
        self.last_writes[lpn.index()] = space.clock() + 1;
        self.deaths.on_written(lpn, space.clock());
    }

    /// The stream of a page that is relocated out of a block of a stream.
    pub fn relocated_stream(&mut self, lpn: Lpn, from: Stream, space: &PageSpace) -> Stream {
        let age = self.age(lpn, space);
        let from = space.class_of(from).unwrap_or(self.streams.len() - 1);
        let dies_in = self.deaths.of_present(lpn, space.clock());
        let answer = self.classifier.relocate(&RelocatedPage { lpn, age, from, dies_in });
        self.stream_of_answer(answer, lpn)
    }

    /// A block is taken in hand (to be emptied step by step) or collected.
    pub fn on_reclaimed(&mut self, space: &PageSpace, pbn: Pbn, why: Cause, in_hand: bool) {
        let is_known = if in_hand { !self.notified.insert(pbn) } else { self.notified.remove(&pbn) };
        let (opened_at, valid_pages) = (space.opened_at(pbn), space.valid_in(pbn));
        let is_collected = why == Cause::Collection;
        let is_older = self.recovered_at.is_some_and(|recovered| opened_at <= recovered);
        let Some(class) = space.class_of(space.stream_of(pbn)).filter(|_| is_collected && !is_known && !is_older)
        else {
            return;
        };
        let (age, pages) = (space.clock() - opened_at, space.content_pages());
        let told = self.classifier.on_reclaimed(&ReclaimedUnit { class, opened_at, age, valid_pages, pages });
        self.failure = self.failure.take().or(told.err());
    }

    /// A page is not written any more.
    pub fn on_trimmed(&mut self, lpn: Lpn) {
        self.last_writes[lpn.index()] = 0;
    }

    /// Recovery finds a page: its version tells when it was written, in programs of any kind.
    pub fn on_found(&mut self, tag: &Tag) {
        self.last_writes[tag.logical as usize] = tag.version;
    }

    /// Recovery ends when this many programs were made.
    pub fn on_recovered(&mut self, clock: u64) {
        self.recovered_at = Some(clock);
    }

    /// Whether the classifier has to know the future.
    pub fn needs_future(&self) -> bool {
        self.classifier.needs_future()
    }

    /// All that the host will ask from now on.
    pub fn set_future(&mut self, asked: &[FutureRequest], space: &PageSpace) {
        self.deaths = Deaths::of(asked, self.last_writes.len(), space.clock());
    }

    /// Whether the classifier looks at hints.
    pub fn uses_hints(&self) -> bool {
        self.classifier.uses_hints()
    }

    /// What went wrong since this was last asked; it ends the request.
    #[inline]
    pub fn take_failure(&mut self) -> Result<(), FtlError> {
        self.failure.take().map_or(Ok(()), |message| Err(FtlError::Failed { message }))
    }

    /// Adds the RAM of the classifier.
    pub fn add_to(&self, footprint: Footprint) -> Footprint {
        let pages = if self.classifier.reads_ages() { self.last_writes.len() as u64 } else { 0 };
        let blocks = 8 * u64::from(self.blocks);
        let footprint = footprint.with("last writes", 4 * pages, 0).with("openings of blocks", blocks, 0);
        footprint.with("classifier", self.classifier.ram_bytes(), 0)
    }

    /// Pages that the host has written since it last wrote this one.
    fn age(&self, lpn: Lpn, space: &PageSpace) -> Option<u64> {
        let last = self.last_writes[lpn.index()];
        (last > 0).then(|| (space.clock() + 1).saturating_sub(last))
    }

    fn stream_of_answer(&mut self, answer: Result<usize, String>, lpn: Lpn) -> Stream {
        let known = answer.as_ref().ok().and_then(|&class| self.streams.get(class));
        if let Some(&stream) = known {
            return stream;
        }
        let (classifier, classes) = (&self.classifier, self.streams.len());
        let beyond = |class| format!("{classifier:?}: it put {lpn} into class {class}, but has {classes}, from 0 on");
        let message = answer.map_or_else(|message| message, beyond);
        self.failure.get_or_insert(message);
        HOST
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;
    use crate::blocks::victims::Policy;
    use crate::engines::page_map::space::SpaceNeeds;
    use crate::recovery::summary::Summaries;
    use crate::testing::layout;

    /// Notes the ages of the blocks that it is told of.
    #[derive(Debug, Default)]
    struct Notes(Arc<Mutex<Vec<u64>>>);

    impl Classifier for Notes {
        fn classes(&self) -> usize {
            2
        }

        fn classify(&mut self, _: &WrittenPage) -> Result<usize, String> {
            Ok(2)
        }

        fn on_reclaimed(&mut self, unit: &ReclaimedUnit) -> Result<(), String> {
            self.0.lock().map_err(|error| error.to_string())?.push(unit.age);
            Err("late".into())
        }
    }

    fn space() -> (PageSpace, Layout) {
        let layout = layout(8, 4, 8);
        let needs = SpaceNeeds {
            streams: &[Purpose::Data, Purpose::Collected],
            classes: ClassNeeds::default(),
            policy: Policy::Greedy,
            threshold: 1,
            valid: 8,
            summaries: Summaries::none(layout.geometry),
            pslc: None,
            least_step: None,
        };
        (PageSpace::format(&layout, "page", needs).expect("room").0, layout)
    }

    #[test]
    fn a_block_is_told_of_once_and_one_from_before_a_cut_never() {
        let (mut space, layout) = space();
        let notes = Notes::default();
        let heard = Arc::clone(&notes.0);
        let mut classes = Classes::new("notes", Box::new(notes), &layout, 2).expect("two classes");
        let (collected, levelled) = (Cause::Collection, Cause::WearLevelling);
        let block = space.block_of(flash::Ppn::new(0));
        space.open_block(block, HOST);
        (0..3).for_each(|_| space.on_host_page());
        classes.on_reclaimed(&space, block, collected, true);
        classes.on_reclaimed(&space, block, collected, false);
        classes.on_reclaimed(&space, block, levelled, false);
        classes.on_reclaimed(&space, block, collected, false);
        assert_eq!(*heard.lock().expect("one thread"), [3, 3], "in hand, and as another victim");
        assert!(classes.take_failure().expect_err("it refused").to_string().contains("late"));
        assert!(classes.take_failure().is_ok());
        space.continue_clock(100);
        classes.on_recovered(100);
        classes.on_reclaimed(&space, block, collected, false);
        assert_eq!(heard.lock().expect("one thread").len(), 2);
    }

    #[test]
    fn ages_count_pages_of_the_host_and_begin_anew_after_a_trim() {
        let (mut space, layout) = space();
        let mut classes = Classes::new("notes", Box::new(Notes::default()), &layout, 2).expect("two classes");
        let page = Lpn::new(5);
        assert_eq!(classes.age(page, &space), None);
        classes.on_written(page, &space);
        space.on_host_page();
        assert_eq!(classes.age(page, &space), Some(1));
        (0..6).for_each(|_| space.on_host_page());
        assert_eq!(classes.age(page, &space), Some(7));
        classes.on_trimmed(page);
        assert_eq!(classes.age(page, &space), None);
        assert_eq!(classes.write_stream(&Request::new(page, 1), page, &space), HOST);
        let refused = classes.take_failure().expect_err("class 2 of two").to_string();
        assert!(refused.contains("put LPN 5 into class 2, but has 2"), "{refused}");
    }
}
