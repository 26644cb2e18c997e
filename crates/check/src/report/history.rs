//! What was done with a logical page, with a block, or with the whole flash, in time order.
//!
//! The history begins when the device was formatted and goes over power cuts: what recovery did is
//! part of it. Reads are left out unless they failed, since most are the host's reading back. Of a
//! logical page it tells what was programmed and copied, what was said of its trims, and which
//! erases destroyed a copy; an erase that destroyed the last one says so. Where it is cut short,
//! the line that tells most stays.

use std::collections::BTreeMap;

use flash::{FlashError, Geometry, Lpn, Pbn, Ppn, Role, Tag};
use ftl::{Cause, FlashOp};

use crate::case::operation::{Effect, Extent, Operation};
use crate::report::black_box::{BlackBox, Content, Event, Journal, Mark, StagedCut};
use crate::report::wording;
use crate::stamp::{Stamp, page_of, version_of};

/// What a history is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Subject {
    Page(Lpn),
    Block(Pbn),
    Flash,
}

/// What was done, a line each.
#[derive(Debug, Default)]
pub(crate) struct History {
    lines: Vec<String>,
    /// The last line that tells what went wrong.
    telling: Option<usize>,
    /// Lines that are power cuts.
    cuts: Vec<usize>,
}

impl History {
    /// The history of a subject, as far as the black box has it.
    pub(crate) fn of(kept: &BlackBox, subject: Subject) -> Self {
        let Some(latest) = &kept.latest else { return Self::default() };
        let latest = latest.borrow();
        let power_ons = latest.marks.iter().filter(|(_, mark)| matches!(mark, Mark::PowerOn)).count();
        let mut teller = Teller::new(subject, latest.geometry, kept.cuts.len() + power_ons);
        for cut in &kept.cuts {
            if let Some((log, at)) = &cut.before {
                teller.tell(&log.borrow(), *at);
                teller.cut(cut);
            }
        }
        teller.tell(&latest, latest.events.len());
        teller.history
    }

    /// At most this many lines, the last ones; power cuts are left out where they are told
    /// elsewhere.
    pub(crate) fn last(&self, most: usize, with_cuts: bool) -> Vec<String> {
        let numbered = self.lines.iter().enumerate();
        let wanted: Vec<_> = numbered.filter(|(number, _)| with_cuts || !self.cuts.contains(number)).collect();
        let mut last = wanted[wanted.len().saturating_sub(most)..].to_vec();
        if let (Some(telling), Some(first)) = (self.telling, last.first_mut())
            && telling < first.0
        {
            *first = (telling, &self.lines[telling]);
        }
        last.into_iter().map(|(_, line)| line.clone()).collect()
    }
}

/// Where in the life of the device something was done.
#[derive(Clone, Copy, Debug, Default)]
struct Stage {
    /// Power cuts of the whole life.
    of: usize,
    /// Power cuts before it.
    cuts: usize,
    is_recovering: bool,
}

impl Stage {
    /// The words that a line begins with.
    fn words(self) -> String {
        let Self { of, cuts, is_recovering } = self;
        match (of, cuts) {
            (0, _) => String::new(),
            (1, 0) => "before the cut: ".into(),
            (1, _) if is_recovering => "in recovery: ".into(),
            (1, _) => "after the cut: ".into(),
            (_, 0) => "before cut 1: ".into(),
            (_, cuts) if is_recovering => format!("in recovery from cut {cuts}: "),
            (_, cuts) => format!("after cut {cuts}: "),
        }
    }
}

/// The request in hand, and what has been programmed in it.
struct Request {
    operation: Operation,
    programs: Vec<Tag>,
}

/// Pages on flash, and what they hold.
type Copies = BTreeMap<Ppn, (Tag, Stamp)>;

/// Goes through journals and writes lines.
struct Teller {
    subject: Subject,
    geometry: Geometry,
    /// Pages on flash that name the logical page in question.
    copies: Copies,
    /// The page that was read last, as far as it held something.
    read: Option<(Ppn, Tag)>,
    request: Option<Request>,
    /// Whether the host was told that something of the page is done, and no page on flash says so.
    is_in_ram: bool,
    stage: Stage,
    history: History,
}

impl Teller {
    fn new(subject: Subject, geometry: Geometry, cuts: usize) -> Self {
        let (copies, stage) = (BTreeMap::new(), Stage { of: cuts, ..Stage::default() });
        Self {
            subject,
            geometry,
            copies,
            read: None,
            request: None,
            is_in_ram: false,
            stage,
            history: History::default(),
        }
    }

    /// Tells the first events of a journal.
    fn tell(&mut self, journal: &Journal, events: usize) {
        let cells = (0..).zip(&journal.start).filter_map(|(page, cell)| match cell {
            flash::Cell::Programmed(tag, stamp) => Some((Ppn::new(page), *tag, *stamp)),
            _ => None,
        });
        let start: Vec<_> = cells.collect();
        self.survive(self.named(&start));
        let mut marks = journal.marks.iter().peekable();
        for at in 0..=events {
            while let Some((_, mark)) = marks.next_if(|(before, _)| *before <= at) {
                self.mark(*mark);
            }
            if let Some(event) = journal.events[..events].get(at) {
                self.event(event);
            }
        }
    }

    /// These copies are what the cut has left.
    fn survive(&mut self, left: Copies) {
        let before = std::mem::replace(&mut self.copies, left);
        let lost = before.into_iter().filter(|(ppn, _)| !self.copies.contains_key(ppn)).collect();
        self.blame_cut(&lost);
    }

    /// A cut that was staged on a copy of the chip.
    fn cut(&mut self, cut: &StagedCut) {
        self.history.cuts.push(self.history.lines.len());
        self.history.lines.push(wording::cut(cut));
        self.power_on();
    }

    /// Says of the cut that was told last what it did to the page. A line that tells what went
    /// wrong stays where others that tell of cuts are left out.
    fn blame_cut(&mut self, lost: &Copies) {
        let (Subject::Page(lpn), Some(line)) = (self.subject, self.history.lines.last_mut()) else { return };
        let is_telling = if let Some((what, is_telling)) = destroyed(lpn, lost, &self.copies) {
            *line = format!("{line}; that destroyed {what}");
            is_telling
        } else if self.is_in_ram {
            *line = format!("{line}; that lost what RAM alone held of {lpn}");
            true
        } else {
            false
        };
        self.is_in_ram = false;
        if is_telling {
            self.history.telling = self.history.cuts.pop();
        }
    }

    fn power_on(&mut self) {
        self.request = None;
        (self.stage.cuts, self.stage.is_recovering) = (self.stage.cuts + 1, true);
    }

    fn mark(&mut self, mark: Mark) {
        match mark {
            Mark::Request(operation) => self.request = Some(Request { operation, programs: Vec::new() }),
            Mark::Acknowledged => self.end_request(),
            Mark::PowerOn => self.power_on(),
            Mark::Recovered => self.stage.is_recovering = false,
        }
    }

    /// Tells of a request that should have left a trace of the page, and left none.
    fn end_request(&mut self) {
        let (Some(Request { operation, programs }), Subject::Page(lpn)) = (self.request.take(), self.subject) else {
            return;
        };
        let said = match operation.effect() {
            Effect::Trims(extent) if extent.contains(lpn) => {
                let is_trimmed = self.newest().is_none_or(|(_, tag, _)| tag.role == Role::Trimmed);
                if is_trimmed { None } else { Some(format!("the host trimmed {}", span(extent))) }
            }
            Effect::Writes(extent) if extent.contains(lpn) => Some(format!("the host wrote {}", span(extent))),
            _ => None,
        };
        if let Some(said) = said.filter(|_| !programs.iter().any(|tag| wording::speaks_of(tag, lpn))) {
            let others: Vec<_> = programs.iter().take(MOST_OTHERS).map(short).collect();
            let others = match others.len() {
                0 => String::new(),
                _ if programs.len() > MOST_OTHERS => format!("; what was: {} and more", others.join(", ")),
                _ => format!("; what was: {}", others.join(", ")),
            };
            self.is_in_ram = programs.is_empty();
            self.say(&format!("{said} ({operation}), and no page that says so of {lpn} was programmed{others}"), true);
        }
    }

    fn event(&mut self, event: &Event) {
        let told = self.told(event);
        if let Some((line, is_telling)) = told {
            self.say(&line, is_telling);
        }
        let lost = self.named(&event.lost);
        self.copies.retain(|ppn, _| !lost.contains_key(ppn));
        let gained = self.named(&event.gained);
        self.copies.extend(gained);
        let is_map = event.gained.iter().any(|(_, tag, _)| tag.role == Role::Translation);
        self.is_in_ram &= !is_map && !event.gained.iter().any(|(_, tag, _)| self.speaks(tag));
        if let (FlashOp::Program, Some(request)) = (event.target.op, &mut self.request) {
            request.programs.extend(event.gained.iter().map(|(_, tag, _)| *tag));
        }
        if let (FlashOp::Read, Some(ppn), Some(tag)) = (event.target.op, event.target.ppn, event.target.tag) {
            self.read = Some((ppn, tag));
        }
        if event.is_power_cut() {
            self.history.cuts.push(self.history.lines.len());
            self.history.lines.push(wording::operation(event));
            self.blame_cut(&lost);
        }
    }

    /// The line of an event, if it concerns the subject, and whether it tells what went wrong.
    fn told(&self, event: &Event) -> Option<(String, bool)> {
        if event.is_power_cut() {
            return None;
        }
        if event.error.is_some() {
            return self.concerns(event).then(|| (wording::operation(event), false));
        }
        match (event.target.op, self.subject) {
            (FlashOp::Read, _) => None,
            (FlashOp::Erase, Subject::Page(lpn)) => self.erased(event, lpn),
            (FlashOp::Program, Subject::Page(lpn)) => {
                let content = event.gained.iter().find(|(_, tag, _)| wording::speaks_of(tag, lpn))?;
                Some((self.programmed(event, content), false))
            }
            _ if !self.concerns(event) => None,
            (FlashOp::Program, _) => Some((self.programmed(event, event.gained.first()?), false)),
            (FlashOp::Erase, _) => Some((wording::operation(event), false)),
        }
    }

    /// Whether an operation is one on what the history is about.
    fn concerns(&self, event: &Event) -> bool {
        match self.subject {
            Subject::Flash => true,
            Subject::Block(pbn) => event.target.pbn == pbn,
            Subject::Page(lpn) => {
                let is_named = event.target.tag.is_some_and(|tag| wording::speaks_of(&tag, lpn));
                let is_copy = |ppn: &Ppn| match event.target.ppn {
                    Some(touched) => *ppn == touched,
                    None => self.geometry.block_of(*ppn) == event.target.pbn,
                };
                let is_refused = matches!(event.error, Some(FlashError::Violation(_)));
                is_refused || is_named || self.copies.keys().any(is_copy)
            }
        }
    }

    /// A program, which may be a copy.
    fn programmed(&self, event: &Event, &(ppn, tag, stamp): &Content) -> String {
        let to = format!("{ppn} ({})", event.target.pbn);
        let (holds, why) = (held(&tag, stamp), self.why(event.cause));
        if tag.version == tag.seq || tag.role == Role::Translation {
            return format!("program of {to}: {holds}{why}");
        }
        let is_source = |its: &Tag| (its.version, its.logical) == (tag.version, tag.logical);
        let read = self.read.filter(|(_, its)| is_source(its)).map(|(ppn, _)| ppn);
        let source = read.or_else(|| self.copies.iter().find(|(_, (its, _))| is_source(its)).map(|(ppn, _)| *ppn));
        let from = source.map_or_else(String::new, |ppn| format!(" from {ppn} ({})", self.geometry.block_of(ppn)));
        format!("copy{from} to {to}: {holds}{why}")
    }

    /// An erase that destroyed copies of the page, and what that means.
    fn erased(&self, event: &Event, lpn: Lpn) -> Option<(String, bool)> {
        let lost = self.named(&event.lost);
        let left = self.copies.iter().filter(|(ppn, _)| !lost.contains_key(ppn)).map(|(ppn, copy)| (*ppn, *copy));
        let (what, is_telling) = destroyed(lpn, &lost, &left.collect())?;
        Some((format!("erase of {}{}, destroyed {what}", event.target.pbn, self.why(event.cause)), is_telling))
    }

    /// The cause, and the request in which it was.
    fn why(&self, cause: Option<Cause>) -> String {
        let cause = cause.map_or_else(String::new, |cause| format!(", cause {}", cause.name()));
        let request = self.request.as_ref().map_or_else(String::new, |request| format!(", in {}", request.operation));
        format!("{cause}{request}")
    }

    fn newest(&self) -> Option<(Ppn, Tag, Stamp)> {
        let newest = self.copies.iter().max_by_key(|(_, (tag, _))| age(tag))?;
        Some((*newest.0, newest.1.0, newest.1.1))
    }

    fn speaks(&self, tag: &Tag) -> bool {
        matches!(self.subject, Subject::Page(lpn) if wording::speaks_of(tag, lpn))
    }

    /// Those of some pages that name the logical page in question.
    fn named(&self, contents: &[Content]) -> Copies {
        let Subject::Page(lpn) = self.subject else { return Copies::new() };
        let named = contents.iter().filter(|(_, tag, _)| wording::speaks_of(tag, lpn));
        named.map(|&(ppn, tag, stamp)| (ppn, (tag, stamp))).collect()
    }

    fn say(&mut self, line: &str, is_telling: bool) {
        if is_telling {
            self.history.telling = Some(self.history.lines.len());
        }
        self.history.lines.push(format!("{}{line}", self.stage.words()));
    }
}

/// Other programs of a request that are named where none is what was asked for.
const MOST_OTHERS: usize = 4;

/// What it means for a logical page that copies of it are lost while others are left; none if none
/// is lost.
fn destroyed(lpn: Lpn, lost: &Copies, left: &Copies) -> Option<(String, bool)> {
    let newest = |copies: &Copies| {
        let newest = copies.iter().max_by_key(|(_, (tag, _))| age(tag));
        newest.map(|(ppn, (tag, stamp))| (*ppn, *tag, *stamp))
    };
    let (ppn, tag, stamp) = newest(lost)?;
    let which = match tag.role {
        Role::Trimmed | Role::Lost => ppn.to_string(),
        _ if page_of(stamp) == lpn.get() => format!("version {}, {ppn}", version_of(stamp)),
        _ => format!("{ppn}, with version {} of LPN {}", version_of(stamp), page_of(stamp)),
    };
    let is_trim = tag.role == Role::Trimmed;
    let about = if is_trim { "trim" } else { "copy" };
    Some(match newest(left) {
        None if is_trim => (format!("the trim of {lpn} ({which}), and no page names it any more"), false),
        None => (format!("the last copy of {lpn} ({which})"), true),
        Some((at, its, _)) if its.version == tag.version => {
            (format!("one {about} of {lpn} ({which}); {at} holds the same"), false)
        }
        Some((at, its, _)) if its.version > tag.version => {
            (format!("an old {about} of {lpn} ({which}); {at} is newer"), false)
        }
        Some((at, its, older)) => {
            (format!("the newest {about} of {lpn} ({which}); left is {at}: {}", held(&its, older)), true)
        }
    })
}

/// Copies of the same content are told apart by when they were programmed.
fn age(tag: &Tag) -> (u64, u64) {
    (tag.version, tag.seq)
}

/// What a page holds, as the host counts versions.
pub(crate) fn held(tag: &Tag, stamp: Stamp) -> String {
    match tag.role {
        Role::Trimmed | Role::Lost | Role::Translation | Role::Summary | Role::Padding => short(tag),
        _ if page_of(stamp) == tag.logical => format!("LPN {}, the host's version {}", tag.logical, version_of(stamp)),
        _ => format!("LPN {}, but with version {} of LPN {}", tag.logical, version_of(stamp), page_of(stamp)),
    }
}

/// What a tag is about, in few words.
fn short(tag: &Tag) -> String {
    let Tag { logical, extent, .. } = *tag;
    match tag.role {
        Role::Trimmed => format!("a trim of {}", span(Extent { first: logical, pages: extent })),
        Role::Lost => format!("LPN {logical}, lost"),
        Role::Translation => format!("translation page {logical}"),
        Role::Summary => "a summary of its block".into(),
        Role::Padding => "padding".into(),
        Role::Data | Role::Collected | Role::SequentialLog | Role::RandomLog | Role::Cached => format!("LPN {logical}"),
    }
}

fn span(extent: Extent) -> String {
    let Extent { first, pages } = extent;
    if pages == 1 { format!("LPN {first}") } else { format!("LPN {first} to {}", first + pages - 1) }
}
