//! A larger capacity for a translation layer that does not fit on the capacity that was asked for.

use ftl::{Stack, registry};
use trace::units::Bytes;

use super::device::Device;
use super::keys::DeviceText;
use super::values::Capacity;

/// The largest capacity that is tried: each try takes RAM for a whole map. Presets with the most
/// and largest dies need 46 GiB at least.
const MOST_TRIED_BYTES: u64 = 64 << 30;

impl Device {
    /// The advice to take the next capacity, of the asked one's doublings, on which the stack fits,
    /// as a clause behind the sentence that refuses the asked one. None where no capacity was
    /// asked for, the stack fits, or no such capacity was found.
    pub fn fitting_capacity(asked: &DeviceText, stack: &Stack, seed: u64) -> Option<String> {
        let Some(Capacity::Bytes(bytes)) = asked.capacity else { return None };
        let fits = |bytes: &u64| {
            let text = DeviceText { capacity: Some(Capacity::Bytes(*bytes)), ..asked.clone() };
            Self::resolve(&text, seed).is_ok_and(|device| registry::create(stack, &device.layout()).is_ok())
        };
        let mut tried = std::iter::successors(Some(bytes.max(1)), |bytes| bytes.checked_mul(2));
        if tried.next().is_some_and(|asked| fits(&asked)) {
            return None;
        }
        let larger = tried.take_while(|&bytes| bytes <= MOST_TRIED_BYTES).find(fits)?;
        Some(format!(", or take a larger device (--capacity {} fits)", Bytes(larger)))
    }
}
