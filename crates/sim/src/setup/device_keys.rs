//! What the keys of a device mean to the flash and its timing, and which of them apply to it.

use flash::{CellType, Shape};
use ftl::{FlashOp, Nanos, Reliability, Stack};
use trace::units::Nanoseconds;

use super::keys::{DeviceKeys, DeviceText, Group, Table};
use super::values::{Capacity, DieOrder, Durations};
use crate::error::SimError;
use crate::latencies::{Latencies, PageTimes, PslcTimes};
use crate::timing::abilities::Abilities;
use crate::timing::engine::Model;
use crate::timing::front_end::FrontEnd;
use crate::timing::scheduling::{Class, SchedulingPolicy, Suspend, Suspension};
use crate::timing::superblocks::{Superblock, Superblocks};
use crate::timing::units::Programming;

/// Erases of a block in pSLC mode for each that it survives with all bits, where nobody says. TLC
/// of 3000 cycles then survives 30 000, the low end of what is published for one bit a cell.
const USUAL_FACTOR: u32 = 10;

impl DeviceKeys {
    /// The shape of the flash, with sizes that are within their limits.
    pub(super) fn shape(&self) -> Shape {
        Shape {
            channels: self.channels,
            dies_per_channel: self.dies_per_channel,
            planes_per_die: self.planes_per_die,
            blocks_per_plane: self.blocks_per_plane,
            pages_per_block: self.pages_per_block,
            page_size_bytes: self.page_size.0 as u32,
        }
    }

    /// Bytes of what is mapped.
    pub(super) fn unit_bytes(&self) -> u32 {
        self.mapping_unit.unwrap_or(self.page_size).0 as u32
    }

    /// What the device can do beyond the plain model.
    pub(super) fn abilities(&self) -> Abilities {
        Abilities {
            copy_back: self.copy_back,
            multi_plane: self.multi_plane,
            aligned_planes: self.aligned_planes,
            cache_read: self.cache_read,
            cache_program: self.cache_program,
            scheduling: self.scheduling(),
            gc_channels: self.gc_channels,
            superblocks: Superblocks::of(self.superblock, self.shape()),
        }
    }

    /// In which order dies serve, and what they suspend.
    fn scheduling(&self) -> SchedulingPolicy {
        let mut policy = match &self.die_order {
            Some(DieOrder(classes)) => SchedulingPolicy::in_order(classes),
            None if self.reads_first => SchedulingPolicy::reads_first(),
            None => SchedulingPolicy::FIFO,
        };
        if self.gc_yields {
            policy = policy.with_yielding_background();
        }
        // One time is of both.
        let [suspends, resumes] = [&self.suspend_latency, &self.resume_latency].map(|times| times.0.as_slice());
        let of_programs = [suspends.first(), resumes.first()];
        for (op, times) in [(FlashOp::Program, of_programs), (FlashOp::Erase, [suspends.last(), resumes.last()])] {
            let [suspend_ns, resume_ns] = times.map(|time| time.map_or(0, |time| time.0));
            if self.suspend.covers(op) {
                policy = policy.with_suspension(op, Suspension { suspend_ns, resume_ns, at_most: self.suspensions });
            }
        }
        self.overtakes.map_or(policy, |most| policy.with_overtakes(most))
    }

    /// Whether dies can serve as the study says.
    pub(super) fn check_scheduling(&self) -> Result<(), SimError> {
        let refuse = |sentence: String| Err(SimError::study(sentence));
        if let Some(order) = &self.die_order {
            if self.reads_first || self.gc_yields {
                return refuse(format!(
                    "device.die_order = \"{order}\": reads_first and gc_yields are orders of their own; set them to false, or leave \
                     die_order out"
                ));
            }
            if self.suspend != Suspend::Off && order.0.first() != Some(&Class::HostRead) {
                return refuse(format!(
                    "device.die_order = \"{order}\": with suspend, reads of the host go first; begin with host_read, or leave suspend out"
                ));
            }
        }
        for (key, times) in [("suspend_latency", &self.suspend_latency), ("resume_latency", &self.resume_latency)] {
            let most = if self.suspend == Suspend::Both { 2 } else { 1 };
            if !(1..=most).contains(&times.0.len()) {
                return refuse(format!(
                    "device.{key} = {times}: {} times; give one, or with suspend = \"both\" that of programs and that of erases",
                    times.0.len()
                ));
            }
        }
        let takes_time = self.suspend_latency.0[0].max(self.resume_latency.0[0]).0 > 0;
        if self.suspend == Suspend::Off && (takes_time || self.suspensions.is_some()) {
            return refuse(
                "device.suspend_latency, resume_latency and suspensions: nothing is suspended; set suspend to \"erase\", \"program\" or \"both\", \
                 or leave them out".into(),
            );
        }
        match self.overtakes {
            Some(most) if self.scheduling().is_fifo() => refuse(format!(
                "device.overtakes = {most}: dies serve first come, first served, and nothing is overtaken; set die_order, reads_first, \
                 gc_yields or suspend, or leave overtakes out"
            )),
            _ => Ok(()),
        }
    }

    /// What the link and the controller take.
    pub(super) fn front_end(&self) -> FrontEnd {
        FrontEnd {
            link_bytes_per_s: self.link_bandwidth.map(|rate| rate.0),
            link_ns: self.link_latency.0,
            cores: self.controller_cores,
            core_ns: self.controller_latency.0,
        }
    }

    /// What operations take. Times that do not fit the cell are refused; they are the preset's
    /// where the study says none.
    pub(super) fn latencies(&self, asked: &DeviceText) -> Result<Latencies, SimError> {
        let read_ns = page_times("read_latency", self.cell, &self.read_latency, asked.read_latency.is_some())?;
        let is_asked = asked.program_latency.is_some();
        let program_ns = page_times("program_latency", self.cell, &self.program_latency, is_asked)?;
        let (erase_ns, transfer_ns) = (self.erase_latency.0, self.transfer_latency.0);
        let is_pslc_given = self.pslc_read_latency.is_some() || self.pslc_program_latency.is_some();
        let pslc = is_pslc_given.then(|| {
            let [read_ns, program_ns] = self.pslc_times().map(|time| time.0);
            PslcTimes { read_ns, program_ns }
        });
        Ok(Latencies { cell: self.cell, read_ns, program_ns, erase_ns, transfer_ns, pslc })
    }

    /// What reading and programming a page take in pSLC mode: what is said, else what lower pages
    /// take.
    fn pslc_times(&self) -> [Nanoseconds; 2] {
        let of_lower = |times: &Durations| times.0.first().copied().unwrap_or_default();
        let share = Nanoseconds(of_lower(&self.program_latency).0 / self.pages_at_once());
        [
            self.pslc_read_latency.unwrap_or_else(|| of_lower(&self.read_latency)),
            self.pslc_program_latency.unwrap_or(share),
        ]
    }

    /// Flash pages that are programmed at once.
    fn pages_at_once(&self) -> u64 {
        if self.programming == Programming::OneShot { self.cell.bits() as u64 } else { 1 }
    }

    /// Erases in pSLC mode that a block survives.
    pub(super) fn pslc_endurance(&self) -> u32 {
        self.pslc_endurance.unwrap_or(self.endurance.saturating_mul(USUAL_FACTOR))
    }

    /// How bits decay, and what is done about it, with this many units a page; none for not at all.
    pub(super) fn reliability(&self, units_per_page: u32) -> Option<Reliability> {
        self.bit_errors.model().map(|model| Reliability {
            model,
            ecc_limit: self.ecc_limit,
            read_retries: self.read_retries as u8,
            retry_latency: Nanos(self.read_retry_latency.0),
            refresh_at: self.refresh_at,
            initial_erases: self.initial_erases,
            retention_days: self.retention_days,
            retention_speedup: self.retention_speedup,
            units_per_page,
        })
    }

    /// Whether units wait for others that are programmed with them.
    fn gathers(&self) -> bool {
        let planes = if self.multi_plane { self.abilities().superblocks.planes } else { 1 };
        u64::from(self.unit_bytes()) < self.pages_at_once() * self.page_size.0 || planes > 1
    }

    /// The keys that mean something on this device, as a study would write them.
    pub(super) fn that_apply(&self) -> DeviceText {
        let mut text = DeviceText::from(self);
        if self.mapping_unit.is_none() && self.programming == Programming::Shadow {
            text.programming = None;
        }
        let gathers = self.gathers();
        text.power_loss_protection = gathers.then_some(true);
        text.initial_erases = Some(self.initial_erases).filter(|&erases| erases > 0);
        if self.bit_errors.model().is_none() {
            text.bit_errors = None;
            text = text.without(Group::BitErrors);
        }
        if self.cell == CellType::Slc {
            return text.without(Group::Pslc);
        }
        [text.pslc_read_latency, text.pslc_program_latency] = self.pslc_times().map(Some);
        text.pslc_endurance = Some(self.pslc_endurance());
        text
    }
}

impl DeviceText {
    /// How a study chose the device: by a `preset`, by `keys` of its own as a calibrated device
    /// does, or not at all, which leaves the `default` one.
    pub(crate) fn named_by(&self) -> &'static str {
        match self.preset {
            Some(_) => "preset",
            None if self.clone().without(Group::Size) == Self::default() => "default",
            None => "keys",
        }
    }

    /// The size that is asked for; none leaves it to the preset.
    pub(super) fn asked_capacity(&self) -> Option<Capacity> {
        let says_nothing = self.preset.is_none() && self.blocks_per_plane.is_none();
        self.capacity.or_else(|| says_nothing.then_some(Capacity::Auto))
    }

    /// The same table, whose over-provisioning, if it has one, is given as its spare.
    pub(super) fn with_spare(&self) -> Result<Self, SimError> {
        let Some(op) = self.op else { return Ok(self.clone()) };
        let as_spare = op / (1.0 + op);
        if let Some(spare) = self.spare {
            return Err(SimError::study(format!(
                "device.op = {op} and device.spare = {spare}: both say how much flash the host does not see, op as a share of what it sees, spare of \
                 all flash (spare = op ÷ (1 + op)). Leave one out; op = {op} is spare = {as_spare:.4}"
            )));
        }
        Ok(Self { spare: Some(as_spare), op: None, ..self.clone() })
    }

    /// Refuses keys that mean nothing on a device of these: what becomes of wrong bits where there
    /// are none, and pSLC mode of cells with one bit.
    pub(super) fn check_groups(&self, keys: &DeviceKeys) -> Result<(), SimError> {
        let given = |group, is_without: bool| self.given(group).filter(|_| is_without);
        if let Some(key) = given(Group::BitErrors, keys.bit_errors.model().is_none()) {
            return Err(SimError::study(format!(
                "device.{key}: no bit is ever wrong on this device; set bit_errors to \"tlc-72l\" or \"mlc-2y\", or leave {key} out"
            )));
        }
        if let Some(key) = given(Group::Pslc, keys.cell == CellType::Slc) {
            return Err(SimError::study(format!(
                "device.{key}: cells of one bit (device.cell = \"slc\") have no pSLC mode; set cell to \"mlc\", \"tlc\" or \
                 \"qlc\", or leave {key} out"
            )));
        }
        Ok(())
    }
}

impl DeviceText {
    /// A study's keys over those of its preset, but for the preset's that mean nothing once the
    /// study has turned off the ability that they are of.
    pub(super) fn over_preset(&self, preset: &Self) -> DeviceKeys {
        let mut preset = preset.clone();
        if self.suspend == Some(Suspend::Off) || self.pricing == Some(Model::Serial) {
            (preset.suspend_latency, preset.resume_latency, preset.suspensions) = (None, None, None);
        }
        if self.pricing == Some(Model::Serial) {
            preset = preset.without(Group::Ability);
        }
        if self.planes_per_die == Some(1) {
            preset.multi_plane = None;
            preset.superblock = preset.superblock.filter(|superblock| *superblock != Superblock::Die);
        }
        if self.multi_plane == Some(false) || preset.multi_plane.is_none() {
            preset.aligned_planes = None;
        }
        if self.die_order.is_some() {
            (preset.reads_first, preset.gc_yields) = (None, None);
        }
        if self.controller_latency == Some(Nanoseconds(0)) {
            preset.controller_cores = None;
        }
        let mut keys = DeviceKeys::from(&self.clone().over(&preset));
        if self.overtakes.is_none() && keys.scheduling().is_fifo() {
            keys.overtakes = None;
        }
        keys
    }
}

/// What something takes on a page: one time, or one for each type of page of the cell.
fn page_times(key: &str, cell: CellType, times: &Durations, is_asked: bool) -> Result<PageTimes, SimError> {
    let count = times.0.len();
    let by_type: Vec<_> = times.0.iter().map(|time| time.0).collect();
    if let Some(fitting) = PageTimes::by_type(&by_type).filter(|_| count == 1 || count == cell.bits()) {
        return Ok(fitting);
    }
    let whose = if is_asked { "" } else { ", which the preset says" };
    let types = match cell {
        CellType::Slc => "1 type of page (device.cell = \"slc\")".into(),
        _ => format!("{} types of page ({})", cell.bits(), cell.page_types().join(", ")),
    };
    let other = CellType::ALL.get(count.wrapping_sub(1)).filter(|_| is_asked);
    let other = other.map_or(String::new(), |other| {
        format!(", or set cell = \"{}\", whose cells have {count}", other.name().to_lowercase())
    });
    let wanted =
        if cell == CellType::Slc { "one time".into() } else { format!("{} times, or one for all", cell.bits()) };
    Err(SimError::study(format!(
        "device.{key} = {times}{whose}: {count} times, but {} has {types}; give {wanted}{other}",
        cell.name()
    )))
}

/// The setting of a translation layer that asks for blocks in pSLC mode, if there is one.
pub fn pslc_setting(stack: &Stack) -> Option<&'static str> {
    let is_on = |&(key, off): &(&str, &str)| stack.mapping.settings.get(key).is_some_and(|value| value != off);
    [("pslc_static", "0"), ("pslc_dynamic", "false")].into_iter().find(is_on).map(|(key, _)| key)
}
