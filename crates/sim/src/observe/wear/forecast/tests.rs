use super::*;

/// Each block of a device at four points of 1000 bytes: `erased` says a block's count after this
/// many bytes.
fn growth(blocks: u32, erased: impl Fn(u32, u64) -> u32) -> Growth {
    let bytes = [0, 500, 750, 1000];
    Growth { bytes, counts: bytes.map(|bytes| (0..blocks).map(|block| erased(block, bytes)).collect()) }
}

fn forecast(growth: &Growth, limit: u32, failures: usize) -> Forecast {
    growth.forecast(limit, failures).unwrap_or_else(|refusal| panic!("{refusal}"))
}

fn assert_near(found: f64, expected: f64) {
    assert!((found / expected - 1.0).abs() < 1e-6, "{found} for {expected}");
}

/// Eight erases each in 1000 bytes: 200 erases are reached after 25 000, and the next one fails.
#[test]
fn even_wear_ends_for_all_at_once() {
    let predicted = forecast(&growth(10, |_, bytes| (bytes / 125) as u32), 200, 4);
    for range in [predicted.first_block, predicted.spares_gone.expect("an end")] {
        assert_near(range.expected, 125.0 * 201.0);
        assert_near(range.low, range.expected);
        assert_near(range.high, range.expected);
    }
}

/// A tenth of the blocks is erased 40 times in 1000 bytes, the others 8 times, for ever: the former
/// fail after 1000 × 401 / 40.
#[test]
fn blocks_that_keep_rates_of_their_own_fail_by_these() {
    let rate = |block: u32| if block < 10 { 40 } else { 8 };
    let predicted = forecast(&growth(100, |block, bytes| (bytes * rate(block) / 1000) as u32), 400, 8);
    assert_near(predicted.exponent, 1.0);
    assert_near(predicted.first_block.expected, 401.0 * 25.0);
    assert_near(predicted.first_block.low, predicted.first_block.expected);
    assert!(predicted.first_block.high > 2.0 * predicted.first_block.expected, "as if they drifted apart no further");
    // All of these at once; the erases go on among the others, which is later than the limit asks
    // for here.
    assert_near(predicted.spares_gone.expect("an end").expected, 401.0 * 25.0);
}

/// Of 100 blocks ten take 40 erases each in 1000 bytes and ten take 20; the others are never
/// erased. When the first ten have failed, the second ten get all.
#[test]
fn what_failed_blocks_took_goes_to_the_others() {
    let rate = |block: u32| match block {
        0..10 => 40,
        10..20 => 20,
        _ => 0,
    };
    let measured = growth(100, |block, bytes| (bytes * rate(block) / 1000) as u32);
    let predicted = forecast(&measured, 199, 20).spares_gone.expect("an end").expected;
    // The first ten fail at 5000 bytes. The second have 100 erases then and would take another 5000
    // bytes; of 600 erases in 1000 bytes they took 200, and now they take all.
    assert_near(predicted, 5_000.0 + 5_000.0 / 3.0);
    assert!(forecast(&measured, 199, 30).spares_gone.is_some(), "then others must take their place");
}

/// Each block's two halves are drawn apart: deviations grow as the root.
#[test]
fn blocks_drawn_anew_drift_apart_as_the_root() {
    let bit = |block: u32, shift: u32| block >> shift & 1;
    let measured = growth(64, |block, bytes| match bytes {
        0 => 0,
        500 => 8 + 4 * bit(block, 0),
        750 => 8 + 4 * bit(block, 0) + 5,
        _ => 8 + 4 * bit(block, 0) + 8 + 4 * bit(block, 1),
    });
    let predicted = forecast(&measured, 999, 1);
    assert_near(predicted.exponent, 0.5);
    // 20x + 4√x = 1000 where x counts thousands of bytes.
    let root = (1000.0_f64 / 20.0 + 0.01).sqrt() - 0.1;
    assert!((predicted.first_block.expected / (1000.0 * root * root) - 1.0).abs() < 1e-6, "{predicted:?}");
    assert!(
        predicted.first_block.low < predicted.first_block.expected
            && predicted.first_block.expected < predicted.first_block.high
    );
}

/// Blocks erased more in the first half are erased less in the second.
#[test]
fn levelling_holds_blocks_together() {
    let measured = growth(64, |block, bytes| match bytes {
        0 => 0,
        500 => 8 + block % 2,
        750 => 12 + block % 2,
        _ => 17,
    });
    assert_near(forecast(&measured, 999, 1).first_block.expected, 1000.0 + (1000.0 - 17.0) / 8.5 * 500.0);
}

#[test]
fn nothing_is_forecast_from_too_little() {
    let refusal = |growth: Growth| growth.forecast(1000, 1).expect_err("too little");
    let few = refusal(growth(10, |block, bytes| if bytes == 1000 { 3 + block % 2 } else { 0 }));
    assert!(few.contains("erased 3.50 times on average while measuring, and a forecast needs 4"), "{few}");
    let none = refusal(growth(10, |_, bytes| if bytes > 0 { 50 } else { 0 }));
    assert!(none.contains("no block erased"), "{none}");
    let unwritten = Growth { bytes: [0; 4], counts: [0, 10, 15, 20].map(|count| vec![count; 4]) };
    assert!(refusal(unwritten).contains("no block erased"));
}

/// Blocks that keep rates of their own were worn ten times as much before the measured part as in
/// it. What they differ by grows on from there, and not as if all of it had come while measuring.
#[test]
fn wear_from_before_the_measured_part_is_part_of_the_life() {
    let rate = |block: u32| if block < 10 { 40 } else { 8 };
    let worn = growth(100, |block, bytes| ((10_000 + bytes) * rate(block) / 1000) as u32);
    let predicted = forecast(&worn, 3_999, 8).first_block;
    assert_near(predicted.expected, 4_000.0 * 25.0 - 10_000.0);
    assert_near(predicted.low, predicted.expected);
}

/// Two phases take turns, and the measured part ends with the one that wears less: the rate of both
/// together is in the range.
#[test]
fn the_rate_of_the_whole_measured_part_is_in_the_range() {
    let measured = growth(10, |_, bytes| (if bytes <= 500 { bytes / 25 } else { 20 + (bytes - 500) / 100 }) as u32);
    let predicted = forecast(&measured, 2_499, 1).first_block;
    // 25 erases in 1000 bytes, of which the second half alone would make 10.
    assert!(predicted.low <= 100_000.0 && predicted.high > 200_000.0, "{predicted:?}");
}

/// The least worn device that is forecast, and the highest limit there is.
#[test]
fn no_limit_is_too_far_away_to_be_forecast() {
    let predicted = forecast(&growth(10, |_, bytes| (bytes / 250) as u32), u32::MAX, 4);
    for range in [predicted.first_block, predicted.spares_gone.expect("an end")] {
        assert_near(range.expected, 250.0 * 4_294_967_296.0);
    }
}

/// Skipped requests wear, too: what blocks had before counts towards their limit.
#[test]
fn life_that_is_used_up_is_not_forecast_again() {
    let fresh = forecast(&growth(10, |_, bytes| (bytes / 125) as u32), 200, 1).first_block.expected;
    let used = forecast(&growth(10, |_, bytes| 80 + (bytes / 125) as u32), 200, 1).first_block.expected;
    assert_near(fresh - used, 80.0 * 125.0);
    let over = forecast(&growth(10, |_, bytes| 300 + (bytes / 125) as u32), 200, 1).first_block.expected;
    assert_near(over, 1000.0);
}
