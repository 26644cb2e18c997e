//! The keys of `[device]` that say how bits decay, and what is done about it. No preset has them.

use flash::BitErrorModel;
use ftl::{MOST_RETRIES, Nanos, Reliability};
use trace::units::Nanoseconds;

use super::keys::latency;
use crate::SimError;
use crate::setup::study::{BitErrorsText, Count, DeviceText};

/// Rates that one read corrects: the low end of what hard decoding of LDPC codes is said to reach,
/// 0.005 to 0.01. Assumed: no public source gives it for either part.
const ECC_LIMIT: f64 = 5e-3;

/// What five retries correct is about what soft decoding is said to reach. Assumed.
const READ_RETRIES: u8 = 5;

/// A block is refreshed before its reads need retries, with some room for what is not told apart:
/// pages that are worse than the mean of their block. Assumed.
const REFRESH_AT: f64 = 0.8;

/// The highest share of wrong bits that can mean anything.
const HIGHEST_RATE: f64 = 0.5;
const HIGHEST_REFRESH_AT: f64 = 100.0;
/// A century.
const MOST_DAYS: f64 = 36_500.0;
/// A second passes for thirty years.
const HIGHEST_SPEEDUP: f64 = 1e9;

/// What a study says of bit errors; none without any.
pub(crate) fn reliability(text: &DeviceText) -> Result<Option<Reliability>, SimError> {
    let model = match text.bit_errors.unwrap_or_default() {
        BitErrorsText::None => return without(text).map(|()| None),
        BitErrorsText::Tlc72l => BitErrorModel::TLC_72L,
        BitErrorsText::Mlc2y => BitErrorModel::MLC_2Y,
    };
    let read_retries = text.read_retries.map_or(u32::from(READ_RETRIES), |count| count.0);
    if read_retries as usize > MOST_RETRIES {
        return Err(SimError::study(format!(
            "device.read_retries = {read_retries}: must be from 0 to {MOST_RETRIES}; drives try some five times"
        )));
    }
    let ecc_limit = text.ecc_limit.unwrap_or(ECC_LIMIT);
    if !(ecc_limit > 0.0 && ecc_limit <= HIGHEST_RATE) {
        return Err(SimError::study(format!(
            "device.ecc_limit = {ecc_limit:?}: must be above 0 and at most {HIGHEST_RATE}. It is the share of wrong bits that one read \
             corrects; 0.005 is usual for LDPC codes"
        )));
    }
    Ok(Some(Reliability {
        model,
        ecc_limit,
        read_retries: read_retries as u8,
        retry_latency: Nanos(latency("read_retry_latency", text.read_retry_latency, 0)?),
        refresh_at: within("refresh_at", text.refresh_at, REFRESH_AT, HIGHEST_REFRESH_AT, "0 refreshes nothing")?,
        initial_erases: text.initial_erases.map_or(0, |count| count.0),
        retention_days: within("retention_days", text.retention_days, 0.0, MOST_DAYS, "365 is a year on the shelf")?,
        retention_speedup: within(
            "retention_speedup",
            text.retention_speedup,
            1.0,
            HIGHEST_SPEEDUP,
            "86400 lets a day pass in a second",
        )?,
        units_per_page: 1,
    }))
}

fn within(key: &str, asked: Option<f64>, default: f64, most: f64, advice: &str) -> Result<f64, SimError> {
    let value = asked.unwrap_or(default);
    if (0.0..=most).contains(&value) {
        return Ok(value);
    }
    Err(SimError::study(format!("device.{key} = {value:?}: must be from 0 to {most}; {advice}")))
}

/// Without bit errors, no key says what becomes of them.
fn without(text: &DeviceText) -> Result<(), SimError> {
    let given = [
        ("ecc_limit", text.ecc_limit.is_some()),
        ("read_retries", text.read_retries.is_some()),
        ("read_retry_latency", text.read_retry_latency.is_some()),
        ("refresh_at", text.refresh_at.is_some()),
        ("retention_days", text.retention_days.is_some()),
        ("retention_speedup", text.retention_speedup.is_some()),
    ];
    match given.iter().find(|(_, is_given)| *is_given) {
        Some((key, _)) => Err(SimError::study(format!(
            "device.{key}: no bit is ever wrong on this device; set bit_errors to \"tlc-72l\" or \"mlc-2y\", or leave {key} out"
        ))),
        None => Ok(()),
    }
}

/// The keys as a study would write them, over those of a device without bit errors.
pub(crate) fn text(reliability: Option<Reliability>, rest: DeviceText) -> DeviceText {
    let Some(reliability) = reliability else { return rest };
    let Reliability { ecc_limit, read_retries, retry_latency, refresh_at, retention_days, retention_speedup, .. } =
        reliability;
    let is_tlc = reliability.model == BitErrorModel::TLC_72L;
    DeviceText {
        bit_errors: Some(if is_tlc { BitErrorsText::Tlc72l } else { BitErrorsText::Mlc2y }),
        ecc_limit: Some(ecc_limit),
        read_retries: Some(Count(read_retries.into())),
        read_retry_latency: Some(Nanoseconds(retry_latency.0)),
        refresh_at: Some(refresh_at),
        retention_days: Some(retention_days),
        retention_speedup: Some(retention_speedup),
        ..rest
    }
}
