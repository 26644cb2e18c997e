//! What mounting costs: the power is cut when nothing is going on, and recovery is priced like any
//! other work.
//!
//! Recovery reads all dies at once, so the time is what the busiest die or channel takes; see
//! `docs/correctness.md` for what is read. Before the cut a flush makes trims last, so the device
//! must hold afterwards what the host knows it to hold.
//!
//! Limits: reading a tag is priced like reading its page, though a controller need not move the
//! page over the channel. What the controller does itself, such as sorting tags in RAM, takes no
//! time.

use flash::Flash;
use ftl::{FlashOp, FlashPort, RecoverError};

use crate::SimError;
use crate::error::{Fault, Halt, Stage};
use crate::host::experiment::Plan;
use crate::host::run_device::RunDevice;
use crate::host::server::{Host, ReadChecker};
use crate::result::MountFacts;
use crate::setup::device::Device;

/// Cuts the power of a device and mounts it with idle resources; returns the host that uses it from
/// there on.
pub(crate) fn mount<D: RunDevice, W: ReadChecker<D::Data>>(
    host: Host<D, W>,
    device: &Device,
    plan: &Plan,
) -> Result<(Host<D, W>, MountFacts), Halt> {
    let at_mount = |fault| Halt::Fault(Stage::Mount, fault);
    let (mut flash, checker) = host.power_off().map_err(at_mount)?;
    flash.restart();
    let mut layout = device.layout();
    layout.good_blocks.retain(|&pbn| !flash.chip().is_bad(pbn));
    let ftl = D::recover(&plan.built, &layout, &mut flash).map_err(|error| match error {
        RecoverError::Ftl(error) => at_mount(Fault::Ftl(error)),
        RecoverError::Config(error) => Halt::Input(SimError::study(format!("ftl \"{}\": {error}", plan.label))),
    })?;
    let end = flash.wait();
    let facts = facts(&flash, flash.device().engine().map(|_| end.0));
    Ok((Host::new(flash, ftl, checker), facts))
}

fn facts<D: ftl::Device>(flash: &FlashPort<D>, time_ns: Option<u64>) -> MountFacts {
    let total = |op| flash.tally().total(op);
    MountFacts {
        reads: total(FlashOp::Read),
        programs: total(FlashOp::Program),
        erases: total(FlashOp::Erase),
        time_ns,
    }
}
