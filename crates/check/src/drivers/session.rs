//! One stretch of a scheme's life with the power on: from format or recovery to the next cut.
//!
//! A session does requests in two halves, so that the explorer can stage power cuts in between with
//! the request still in flight: [`Driver::begin`] has the scheme serve it,
//! [`Driver::acknowledge`] is the host hearing of it. The oracle is that of `crash_oracle.rs`.

use flash::{Chip, FaultPlan, Faulty, Full};
use ftl::{AnyDevice, ConfigError, Drive, FlashPort, Layout, RecoverError, Stack, registry};

use crate::canary;
use crate::case::operation::Extent;
use crate::case::test_case::Case;
use crate::drivers::budget::Budget;
use crate::drivers::checked_device::{CheckedFlash, FixedTimes};
use crate::drivers::driver::Driver;
use crate::oracle::crash_oracle::CrashOracle;
use crate::report::failure::Fault;
use crate::report::recorder::{Recorder, Tape};
use crate::stamp::Stamp;

/// Builds a stack for an erased device: `canary`, or one of the registry's, perhaps behind
/// `canary-buffer`.
pub fn create(stack: &Stack, layout: &Layout) -> Result<Drive<AnyDevice>, ConfigError> {
    if let Some((rest, front)) = canary::taken_off(stack)? {
        return Ok(front.before(create(&rest, layout)?, layout));
    }
    match canary::settings_in(stack)? {
        Some(settings) => canary::create(settings, layout),
        None => registry::create(stack, layout),
    }
}

/// Brings a stack back on a device that it has used: `canary`, or one of the registry's, perhaps
/// behind `canary-buffer`.
pub fn recover(
    stack: &Stack,
    layout: &Layout,
    flash: &mut FlashPort<AnyDevice>,
) -> Result<Drive<AnyDevice>, RecoverError> {
    if let Some((rest, front)) = canary::taken_off(stack)? {
        return Ok(front.before(recover(&rest, layout, flash)?, layout));
    }
    match canary::settings_in(stack)? {
        Some(settings) => canary::recover(settings, layout, flash),
        None => registry::recover(stack, layout, flash),
    }
}

/// A scheme at work, and what the host knows of its pages.
pub(crate) type Session = Driver<CrashOracle>;

impl Session {
    /// A freshly formatted device that records to a tape.
    pub(crate) fn format(
        case: &Case,
        layout: &Layout,
        chip: Chip<Full<Stamp>>,
        tape: &Tape,
        budget: &Budget,
    ) -> Result<Self, Fault> {
        let recorder = Recorder::new(chip, tape.clone());
        let device = CheckedFlash::new(recorder).within(budget).timed(FixedTimes::default());
        let oracle = |scheme: &Drive<_>| CrashOracle::new(case.logical_pages, scheme.volatile_pages());
        Self::start(device, case, |_| Ok(create(&case.stack, layout)?), oracle)
    }

    /// A device after a power cut, with what its pages may hold; recovered, not yet looked at.
    pub(crate) fn after_cut(
        case: &Case,
        layout: &Layout,
        recorder: Recorder,
        allowed: CrashOracle,
        budget: &Budget,
    ) -> Result<Self, Fault> {
        let device = CheckedFlash::new(recorder).within(budget).timed(FixedTimes::default());
        let start = |flash: &mut FlashPort<_>| recover(&case.stack, layout, flash);
        Self::start(device, case, start, |_| allowed)
    }

    /// The flash as a power cut between two operations leaves it, with the power on again.
    pub(crate) fn cut(&self) -> Faulty<Stamp> {
        let mut flash = self.flash().chip().as_chip::<CheckedFlash<Recorder>>().flash().flash().clone();
        flash.cut_power();
        flash.restore_power(FaultPlan::default());
        flash
    }

    /// After recovery: reads every page, which must hold what is allowed; that is the truth from
    /// now on.
    pub(crate) fn observe_everything(&mut self) -> Result<(), Fault> {
        let all = Extent::whole(self.oracle.logical_pages());
        let content = self.read(all).map_err(Fault::Stopped)?.to_vec();
        for (lpn, got) in all.lpns().zip(content) {
            self.oracle.observe(lpn, got).map_err(Fault::WrongContent)?;
        }
        Ok(self.oracle.end_observation()?)
    }

    /// Reads every page, which must hold the last write, and asks for the scheme's invariants.
    pub(crate) fn settle(&mut self) -> Result<(), Fault> {
        self.compare(Extent::whole(self.oracle.logical_pages()))?;
        self.check()
    }
}
