//! What trials are drawn from, the questions of a trial, and the trial that some answers make.
//!
//! Every setting of the scheme, the device's counts and order, the workload, what lies on the
//! device before, how often it is looked at, and the faults: each is a question with a few choices
//! (`coverage.rs`). What is left, such as the number of blocks within a class, is drawn at random.

use std::fmt::Display;

use flash::{CellType, ProgramOrder, Shape};
use ftl::{Part, PartKind, Stack, registry};
use random::SeededRng;
use serde::Serialize;

use super::coverage::{Answers, Question};
use crate::case::device_spec::DeviceSpec;
use crate::case::schedule::FaultSchedule;
use crate::case::swarm::Swarm;
use crate::case::test_case::{Case, Prefill};
use crate::case::workload::{Pattern, Workload};
use crate::drivers::explorer::Effort;
use crate::drivers::failing_flash::Rates;
use crate::drivers::geometries;
use crate::drivers::session::create;
use crate::drivers::variants::{Subject, further_parts, set, values};

const CHANNELS: [u32; 3] = [1, 2, 3];
const DIES: [u32; 2] = [1, 2];
const PLANES: [u32; 2] = [1, 2];
const PAGES: [u32; 6] = [1, 2, 3, 4, 5, 8];
const ORDERS: [ProgramOrder; 3] = [ProgramOrder::Ascending, ProgramOrder::Strict, ProgramOrder::Any];
const PREFILLS: [Prefill; 2] = [Prefill::Empty, Prefill::Full];
/// Reads of a page after which its block is refreshed, of one in this many trials; 0 for never.
const REFRESH: [u32; 8] = [0, 0, 0, 0, 0, 0, 1, 3];
/// One in this many trials in strict order has no capacitor.
const EXPOSED: u32 = 2;
/// One in this many of the others in strict order has blocks of its own and programs page by page.
const BY_ITSELF: u32 = 4;
/// Pages in one of the flash, at most.
const MOST_UNITS: u32 = 4;
const READBACK: [u32; 3] = [0, 1, 7];
const CHECK: [u32; 3] = [4, 8, 32];

/// One in this many trials of conformance offers idle time after each request, on flash that takes
/// its time.
const IDLE_TIME: u32 = 8;

/// Blocks of a device: the least of a class, and how many more at most.
const BLOCKS: [(u32, u32); 3] = [(6, 5), (11, 10), (21, 25)];
/// A power cut is tried at many operations, so the device has to be small.
const BLOCKS_OF_CUTS: [(u32, u32); 2] = [(6, 5), (11, 7)];

/// One in this many fails; 0 for none.
const PROGRAMS: [u32; 5] = [0, 10, 50, 300, 1000];
const ERASES: [u32; 4] = [0, 10, 50, 200];
const READS: [u32; 3] = [0, 100, 400];
const CORRECTED: [u32; 3] = [0, 20, 100];
const CUTS: [u32; 4] = [0, 60, 200, 800];

/// One in this many cuts is tried: of the workload, during recovery, after it.
const FIRST_CUTS: [u32; 2] = [1, 10];
const DURING_RECOVERY: [u32; 2] = [10, 50];
const AFTER_RECOVERY: [u32; 2] = [30, 200];

/// What of a trial is not in its case.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) effort: Effort,
    pub(super) rates: Rates,
    /// A single fault instead of the rates.
    pub(super) is_single: bool,
    pub(super) is_limited: bool,
}

/// What is asked for each trial of a scheme and a kind.
pub(super) fn questions(space: &TrialSpace, subject: &Subject, kind: Kind) -> Vec<Question> {
    let mut all = Vec::new();
    for (number, (_, parameter)) in subject.parameters.iter().enumerate() {
        all.push(Question { name: setting(number), choices: values(parameter), has_default: true });
    }
    if space.draws_parts {
        all.extend(questions_of_parts(&subject.stack));
    }
    let mut ask = |name: &str, choices: Vec<String>| {
        all.push(Question { name: name.to_owned(), choices, has_default: false });
    };
    if space.devices.is_empty() {
        ask("channels", texts(&CHANNELS));
        ask("dies", texts(&DIES));
        ask("planes", texts(&PLANES));
        ask("blocks", if kind == Kind::PowerCuts { texts(&["few", "some"]) } else { texts(&["few", "some", "many"]) });
        ask("pages", texts(&PAGES));
        ask("order", texts(&["ascending", "strict", "any"]));
        ask("bad", texts(&["no", "some"]));
    } else {
        ask("device", texts(&space.devices));
    }
    ask("filled", texts(&["whole", "part"]));
    ask("prefill", texts(&["empty", "full"]));
    ask("hints", texts(&["none", "random"]));
    ask("readback", texts(&READBACK));
    ask("check", texts(&CHECK));
    if space.swarm {
        Swarm::features().for_each(|feature| ask(feature, texts(&["off", "on"])));
    } else {
        ask("workload", Pattern::ALL.iter().map(|(_, name)| (*name).to_owned()).collect());
    }
    match kind {
        Kind::Conformance => {}
        Kind::PowerCuts => {
            ask("first cuts", texts(&FIRST_CUTS));
            ask("cuts during recovery", texts(&DURING_RECOVERY));
            ask("cuts after recovery", texts(&AFTER_RECOVERY));
        }
        Kind::FailingFlash | Kind::Combined => {
            ask("spares", texts(&["none", "one", "several"]));
            ask("failed programs", texts(&PROGRAMS));
            ask("failed erases", texts(&ERASES));
            ask("endurance", texts(&["unlimited", "limited"]));
            if kind == Kind::Combined {
                ask("cuts", texts(&CUTS));
            } else {
                ask("failed reads", texts(&READS));
                ask("corrected reads", texts(&CORRECTED));
                ask("faults", texts(&["many", "one"]));
            }
        }
    }
    all
}

/// Which further part of each kind a mapping gets, none by default, and the settings of each if it
/// gets that.
fn questions_of_parts(mapping: &Stack) -> Vec<Question> {
    let parts = further_parts(mapping);
    let mut all = Vec::new();
    for kind in PartKind::ALL {
        let names = parts.iter().filter(|(its, _)| *its == kind).map(|(_, entry)| entry.name.to_owned());
        let choices: Vec<_> = std::iter::once("none".to_owned()).chain(names).collect();
        if choices.len() > 1 {
            all.push(Question { name: kind.name().to_owned(), choices, has_default: true });
        }
    }
    for (_, entry) in parts {
        all.extend(entry.parameters.iter().map(|parameter| Question {
            name: format!("{}.{}", entry.name, parameter.name),
            choices: values(parameter),
            has_default: true,
        }));
    }
    all
}

/// The name of the question for a parameter, by its number in the subject.
fn setting(number: usize) -> String {
    format!("setting {number}")
}

fn texts<T: Display>(choices: &[T]) -> Vec<String> {
    choices.iter().map(ToString::to_string).collect()
}

/// Answers, looked up by the name of the question.
struct Sheet<'a> {
    questions: &'a [Question],
    answers: &'a Answers,
}

impl Sheet<'_> {
    /// The number of the choice; 0 where this is not asked.
    fn number(&self, name: &str) -> usize {
        let at = self.questions.iter().position(|question| question.name == name);
        at.map_or(0, |at| self.answers[at])
    }

    fn of<T: Copy>(&self, name: &str, choices: &[T]) -> T {
        choices[self.number(name)]
    }

    fn stack(&self, subject: &Subject) -> Stack {
        let mut stack = subject.stack.clone();
        for (number, &(part, parameter)) in subject.parameters.iter().enumerate() {
            let answer = self.number(&setting(number));
            if answer > 0 {
                stack = set(&stack, part, parameter, values(parameter).swap_remove(answer));
            }
        }
        stack.others.extend(PartKind::ALL.into_iter().filter_map(|kind| self.part(kind)));
        stack
    }

    /// The further part of a kind that was drawn, with its settings.
    fn part(&self, kind: PartKind) -> Option<Part> {
        let name = self.choice(kind.name()).filter(|(number, _)| *number > 0)?.1;
        let entry = registry::entries(kind).into_iter().find(|entry| entry.name == name)?;
        let set = entry.parameters.iter().filter_map(|parameter| {
            let (number, value) = self.choice(&format!("{name}.{}", parameter.name))?;
            (number > 0).then_some((parameter.name, value))
        });
        Some(Part::new(name, set))
    }

    /// The number and the text of the choice, where this is asked.
    fn choice(&self, name: &str) -> Option<(usize, &str)> {
        let at = self.questions.iter().position(|question| question.name == name)?;
        let number = self.answers[at];
        Some((number, &self.questions[at].choices[number]))
    }

    fn device(&self, space: &TrialSpace, kind: Kind, rng: &mut SeededRng) -> DeviceSpec {
        if let Some(device) = space.devices.get(self.number("device")) {
            return device.clone();
        }
        let (channels, dies, planes) =
            (self.of("channels", &CHANNELS), self.of("dies", &DIES), self.of("planes", &PLANES));
        let rows = channels * dies * planes;
        let sizes: &[_] = if kind == Kind::PowerCuts { &BLOCKS_OF_CUTS } else { &BLOCKS };
        let (least, more) = self.of("blocks", sizes);
        let blocks = (least + rng.below_u32(more)).div_ceil(rows).max(3);
        let device = DeviceSpec::new(channels, dies, planes, blocks, self.of("pages", &PAGES));
        let bad = if self.number("bad") == 0 { 0 } else { rng.up_to(3) };
        let mut bad_blocks: Vec<_> = (0..bad).map(|_| rng.below_u32(rows * blocks)).collect();
        bad_blocks.sort_unstable();
        bad_blocks.dedup();
        device.ordered(self.of("order", &ORDERS)).with_bad(bad_blocks)
    }

    fn workload(&self, space: &TrialSpace) -> Option<Workload> {
        if !space.swarm {
            return Some(Workload::Generated(Pattern::ALL[self.number("workload")].0));
        }
        let on: Vec<_> = Swarm::features().map(|feature| self.number(feature) == 1).collect();
        Swarm::with(on).map(Workload::Swarm)
    }

    fn plan(&self, case: &Case) -> Plan {
        let first = self.of("first cuts", &FIRST_CUTS);
        let is_small = case.logical_pages <= 20 && case.requests <= 50;
        let effort = Effort {
            first,
            // All second cuts where that is cheap.
            during_recovery: if is_small { 1 } else { self.of("cuts during recovery", &DURING_RECOVERY) },
            after_recovery: self.of("cuts after recovery", &AFTER_RECOVERY),
        };
        let rates = Rates {
            program: self.of("failed programs", &PROGRAMS),
            erase: self.of("failed erases", &ERASES),
            read: self.of("failed reads", &READS),
            corrected: self.of("corrected reads", &CORRECTED),
            cut: self.of("cuts", &CUTS),
        };
        Plan { effort, rates, is_single: self.number("faults") == 1, is_limited: self.number("endurance") == 1 }
    }
}

/// The trial that these answers make; none if the scheme refuses its device.
pub(super) fn trial(
    space: &TrialSpace,
    subject: &Subject,
    kind: Kind,
    (questions, answers): (&[Question], &Answers),
    rng: &mut SeededRng,
) -> Option<(Case, Plan)> {
    let sheet = Sheet { questions, answers };
    let (stack, device) = (sheet.stack(subject), sheet.device(space, kind, rng));
    let workload = sheet.workload(space)?;
    let capacity = geometries::largest_capacity(&device, |layout| create(&stack, layout))?;
    let spares = match sheet.number("spares") {
        2 => 1 + rng.up_to(4),
        few => few as u32,
    };
    let eighths = if sheet.number("filled") == 0 { 8 } else { rng.up_to(7) };
    let logical_pages = (capacity.saturating_sub(spares * device.shape.pages_per_block) * eighths / 8).max(1);
    let requests = match kind {
        Kind::Conformance => rng.below_u32(500) + 100,
        Kind::PowerCuts => rng.below_u32(80) + 20,
        Kind::FailingFlash | Kind::Combined => rng.below_u32(250) + 50,
    };
    let mut case = Case {
        stack,
        device,
        logical_pages,
        seed: u64::from(rng.below_u32(u32::MAX)),
        workload,
        requests,
        prefill: sheet.of("prefill", &PREFILLS),
        hints: sheet.number("hints") == 1,
        readback_every: sheet.of("readback", &READBACK),
        check_every: sheet.of("check", &CHECK),
        // The last draws, so that what comes before does not depend on them.
        schedule: if kind == Kind::Conformance && rng.below_u32(IDLE_TIME) == 0 {
            FaultSchedule::IdleTime
        } else {
            FaultSchedule::None
        },
    };
    if space.devices.is_empty() {
        case.device.refreshed_after = REFRESH[rng.below_u32(REFRESH.len() as u32) as usize];
        case = in_superblocks(exposed(case));
    }
    let plan = sheet.plan(&case);
    Some((case, plan))
}

/// A case, perhaps without a capacitor: one in a few of those in strict order whose mapping can do
/// with that, half of them in superblocks, and some with several pages in one of the flash. Nothing
/// else that is drawn depends on it.
fn exposed(case: Case) -> Case {
    let mut rng = SeededRng::named(case.seed, "exposed");
    if case.device.order != ProgramOrder::Strict || rng.below_u32(EXPOSED) > 0 {
        return case;
    }
    let shape = if rng.below_u32(2) == 0 { case.device.shape } else { superblocks_of(case.device.shape, &mut rng) };
    let pages = shape.pages_per_block;
    let cells = [None, None, None, Some(CellType::Mlc), Some(CellType::Tlc), Some(CellType::Qlc)];
    let mut pick = |choices: usize| rng.below_u32(choices as u32) as usize;
    let at_once: Vec<_> = divisors(pages).collect();
    let (at_once, paired) = (at_once[pick(at_once.len())], cells[pick(cells.len())]);
    let units: Vec<_> = divisors(at_once).filter(|&units| units <= MOST_UNITS).collect();
    let units_per_page = units[pick(units.len())];
    let device = DeviceSpec { at_once, units_per_page, paired, ..with_shape(&case.device, shape) };
    onto(case, device)
}

fn divisors(number: u32) -> impl Iterator<Item = u32> {
    (1..=number).filter(move |&divisor| number.is_multiple_of(divisor))
}

/// The shape with a block of each plane for a block, or of each plane of a die of each channel.
fn superblocks_of(shape: Shape, rng: &mut SeededRng) -> Shape {
    let (planes, dies) = (shape.planes_per_die, if rng.below_u32(2) == 0 { shape.channels } else { 1 });
    Shape {
        channels: shape.channels / dies,
        planes_per_die: 1,
        blocks_per_plane: shape.blocks_per_plane * planes,
        pages_per_block: shape.pages_per_block * planes * dies,
        ..shape
    }
}

/// A device of another shape, with the bad blocks that this has.
fn with_shape(device: &DeviceSpec, shape: Shape) -> DeviceSpec {
    let blocks = shape.channels * shape.dies_per_channel * shape.planes_per_die * shape.blocks_per_plane;
    let bad_blocks = device.bad_blocks.iter().copied().filter(|&block| block < blocks).collect();
    DeviceSpec { shape, bad_blocks, ..device.clone() }
}

/// The case on another device, as full as before; as it is where the scheme refuses that.
fn onto(case: Case, device: DeviceSpec) -> Case {
    let Some(capacity) = geometries::largest_capacity(&device, |layout| create(&case.stack, layout)) else {
        return case;
    };
    let pages = u64::from(case.logical_pages) * u64::from(pages_of(&device)) / u64::from(pages_of(&case.device));
    Case { device, logical_pages: (pages as u32).clamp(1, capacity), ..case }
}

/// A case, perhaps with superblocks or several pages that are programmed at once, of those in
/// strict order that have a capacitor. Nothing else that is drawn depends on it.
fn in_superblocks(case: Case) -> Case {
    let mut rng = SeededRng::named(case.seed, "superblocks");
    let is_plain = case.device.at_once == 1 && case.device.paired.is_none();
    if case.device.order != ProgramOrder::Strict || !is_plain || rng.below_u32(BY_ITSELF) == 0 {
        return case;
    }
    let (plain, planes) = (case.device.shape, case.device.shape.planes_per_die);
    let mut shape = superblocks_of(plain, &mut rng);
    let multi_plane = rng.below_u32(2) == 0;
    let units_per_page = [1, 2, MOST_UNITS][rng.below_u32(3) as usize];
    let of_plane = units_per_page * [1, 2, 3][rng.below_u32(3) as usize];
    let blocks = shape.pages_per_block / plain.pages_per_block;
    shape.pages_per_block = shape.pages_per_block.next_multiple_of(of_plane * blocks);
    let at_once = if multi_plane { of_plane * planes } else { of_plane };
    let device = with_shape(&case.device, shape).together(at_once, units_per_page);
    onto(case, device)
}

fn pages_of(device: &DeviceSpec) -> u32 {
    device.geometry().map_or(1, |geometry| geometry.pages())
}

/// What a trial is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// No fault: promises 1, 2, 5 and 6.
    Conformance,
    /// Power cuts: promise 3.
    PowerCuts,
    /// Failing flash: promise 4.
    FailingFlash,
    /// Promises 3 and 4 together.
    Combined,
}

impl Kind {
    /// All, in index order.
    pub const ALL: [Self; 4] = [Self::Conformance, Self::PowerCuts, Self::FailingFlash, Self::Combined];
}

/// What all trials are drawn from.
#[derive(Debug)]
pub(super) struct TrialSpace {
    pub(super) subjects: Vec<Subject>,
    pub(super) devices: Vec<DeviceSpec>,
    pub(super) seed: u64,
    pub(super) swarm: bool,
    /// Whether each trial draws which further parts the mapping gets, if any.
    pub(super) draws_parts: bool,
    /// Flash operations of a trial, and of one of a registered part, where they are given.
    pub(super) operations: Option<u64>,
    pub(super) operations_of_registered: Option<u64>,
}
