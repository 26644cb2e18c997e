//! Switching on: from an image, and again after a power cut.

use std::collections::BTreeMap;

use flash::FaultPlan;
use ftl::{FlashPort, Nanos, registry};
use sim::EventTiming;

use super::switching::{SwitchedOn, switch_on};
use super::{DriveOptions, HostCounts, LiveDrive};
use crate::LiveError;
use crate::image::{Image, LiveChip};

impl LiveDrive {
    /// Switches an image on and brings its translation layer back, from its tags.
    pub fn start(image: Image, options: DriveOptions) -> Result<Self, LiveError> {
        let SwitchedOn { device, description, geometry, findings, is_new } =
            switch_on(image, options.accept_damage, options.plan.clone(), options.modelled)?;
        let before = device.chip.as_chip::<LiveChip>().chip().store().counters().clone();
        let page_bytes = geometry.page_size_bytes() as usize;
        let mut drive = Self {
            description,
            flash: Some(FlashPort::new(device)),
            ftl: None,
            page_bytes,
            may_hold: Vec::new(),
            zeros: vec![0; page_bytes].into(),
            shown: BTreeMap::new(),
            counts: HostCounts::default(),
            earlier: HostCounts::default(),
            before,
            plan: options.plan,
            operations_before: 0,
            findings,
        };
        if is_new {
            let layout = drive.description.layout(drive.chip());
            drive.ftl = Some(registry::create(&drive.description.stack, &layout)?);
            drive.forget_what_is_held();
        } else {
            drive.recover()?;
        }
        if drive.disk_failure().is_some() { Err(drive.disk_failed()) } else { Ok(drive) }
    }

    /// Turns the power on again and brings the translation layer back, from its tags, at a moment
    /// of the modelled device's time. Planned faults stay planned.
    pub fn restore_power(&mut self, at: Nanos) -> Result<(), LiveError> {
        self.switch_on_again(at);
        self.recover()
    }

    fn switch_on_again(&mut self, at: Nanos) {
        self.before = self.life();
        self.earlier = self.served();
        self.counts = HostCounts::default();
        let flash = self.flash.take().unwrap_or_else(|| unreachable!("the device has a flash port between requests"));
        let mut device = flash.into_device();
        let chip = device.chip.as_chip_mut::<LiveChip>();
        self.operations_before += chip.operation();
        let before = self.operations_before;
        let rest = self.plan.at.range(before..).map(|(&at, &fault)| (at - before, fault)).collect();
        chip.restore_power(FaultPlan { at: rest });
        // What was under way is not done any more.
        device.timing.reset();
        if let Some(timing) = device.timing.as_timing_mut::<EventTiming>() {
            timing.start_on(chip);
        }
        let mut flash = FlashPort::new(device);
        flash.begin(at);
        self.flash = Some(flash);
    }

    /// Brings the translation layer back. A planned cut may fall into that as well: then the power
    /// returns and it begins anew.
    fn recover(&mut self) -> Result<(), LiveError> {
        self.ftl = None;
        loop {
            let layout = self.description.layout(self.chip()).in_use();
            let Some(flash) = &mut self.flash else { unreachable!("the device has a flash port between requests") };
            match registry::recover(&self.description.stack, &layout, flash) {
                Ok(ftl) => {
                    self.ftl = Some(ftl);
                    self.forget_what_is_held();
                    return Ok(());
                }
                Err(_) if self.disk_failure().is_some() => return Err(self.disk_failed()),
                Err(error) if self.is_powered() => return Err(error.into()),
                Err(_) => self.switch_on_again(self.now()),
            }
        }
    }

    /// What pages hold is known from tags alone: every page of which there is one may hold data.
    fn forget_what_is_held(&mut self) {
        let logical_pages = self.description.logical_pages;
        let mut may_hold = vec![0_u64; (logical_pages as usize).div_ceil(64)];
        let store = self.chip().chip().store();
        let shown = self.shown.keys().copied();
        for lpn in store.logical_numbers().filter(|&lpn| lpn < logical_pages).chain(shown) {
            may_hold[lpn as usize / 64] |= 1 << (lpn % 64);
        }
        self.may_hold = may_hold;
    }

    /// What to tell when the disk under the image can keep nothing more.
    pub fn disk_failed(&self) -> LiveError {
        LiveError::user(format!(
            "the disk under the image failed: {}. Everything that was acknowledged before is on the image; make room or move it, and \
             serve it again, or read it as it is: ftlkit serve IMAGE --read-only",
            self.disk_failure().unwrap_or("it does not say why")
        ))
    }
}
