//! What a `[device]` table says of blocks in pSLC mode, and what asks for them.

use flash::CellType;
use ftl::Stack;
use trace::units::Nanoseconds;

use crate::setup::study::{Count, DeviceText};
use crate::{Latencies, Programming, PslcTimes, SimError};

/// Erases of a block in pSLC mode for each that it survives with all bits, where nobody says. TLC
/// of 3000 cycles then survives 30 000, the low end of what is published for one bit a cell.
const USUAL_FACTOR: u32 = 10;

/// Refuses keys that mean nothing: of cells with one bit, or blocks that survive nothing.
pub(super) fn check(text: &DeviceText, cell: CellType) -> Result<(), SimError> {
    let said = [
        ("pslc_read_latency", text.pslc_read_latency.is_some()),
        ("pslc_program_latency", text.pslc_program_latency.is_some()),
        ("pslc_endurance", text.pslc_endurance.is_some()),
    ];
    match said.iter().find(|(_, is_said)| *is_said) {
        Some((key, _)) if cell == CellType::Slc => Err(SimError::study(format!(
            "device.{key}: cells of one bit (device.cell = \"slc\") have no pSLC mode; set cell to \"mlc\", \"tlc\" or \
             \"qlc\", or leave {key} out"
        ))),
        _ if text.pslc_endurance == Some(Count(0)) => Err(SimError::study(
            "device.pslc_endurance = 0: a block must survive at least one erase; 30000 to 100000 are usual",
        )),
        _ => Ok(()),
    }
}

/// The setting of a translation layer that asks for blocks in pSLC mode, if there is one.
pub fn pslc_setting(stack: &Stack) -> Option<&'static str> {
    let is_on = |&(key, off): &(&str, &str)| stack.mapping.settings.get(key).is_some_and(|value| value != off);
    [("pslc_static", "0"), ("pslc_dynamic", "false")].into_iter().find(is_on).map(|(key, _)| key)
}

/// The times of pages in pSLC mode, of which a study says these, on a device of these latencies
/// that programs like this; none where neither says any.
pub(super) fn times(
    [read_ns, program_ns]: [Option<u64>; 2],
    latencies: &Latencies,
    programming: Programming,
) -> Option<PslcTimes> {
    let before = programming.pslc_times(latencies);
    let said =
        PslcTimes { read_ns: read_ns.unwrap_or(before.read_ns), program_ns: program_ns.unwrap_or(before.program_ns) };
    if read_ns.or(program_ns).is_some() { Some(said) } else { latencies.pslc }
}

/// Erases in pSLC mode that a block survives, by what is said of it, if it survives so many with
/// all bits.
pub(super) fn endurance(said: Option<u32>, native: u32) -> u32 {
    said.unwrap_or(native.saturating_mul(USUAL_FACTOR))
}

/// The keys of a device as a study would write them; none for cells of one bit.
pub(super) fn text(latencies: &Latencies, programming: Programming, endurance: u32) -> DeviceText {
    if latencies.cell == CellType::Slc {
        return DeviceText::default();
    }
    let PslcTimes { read_ns, program_ns } = programming.pslc_times(latencies);
    DeviceText {
        pslc_read_latency: Some(Nanoseconds(read_ns)),
        pslc_program_latency: Some(Nanoseconds(program_ns)),
        pslc_endurance: Some(Count(endurance)),
        ..DeviceText::default()
    }
}
