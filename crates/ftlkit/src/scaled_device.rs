//! Torture of a device that a study names: small devices with its abilities.
//!
//! Torture cuts the power at every program and erase of a device that is filled over and over, so
//! it affords some thousand pages. Kept of a device is what a translation layer can tell it by:
//! program order, units of a flash page, what is programmed at once, superblocks (whose blocks are
//! theirs), what a cut takes without a capacitor, bad blocks and refreshes. Scaled down are counts:
//! two channels, dies and planes at most, short blocks of whole program units, few of them, and
//! pages of 512 bytes, so that maps have several pages still. Latencies and rates mean nothing
//! here, since torture has no clock.

use check::DeviceSpec;
use sim::study::DeviceText;
use sim::{Device, Programming};

/// Pages of a device: room for a dozen blocks of the longest program units of today's drives, few
/// enough that a trial fills it several times.
const PAGES: u32 = 1_200;

/// The least blocks of a die: fewer leave most mappings no room.
const LEAST_BLOCKS: u32 = 8;

/// Blocks of a device, if pages allow.
const BLOCKS: u32 = 16;

/// Pages that are programmed at once, at most: two of these in each of [`LEAST_BLOCKS`] blocks.
const MOST_AT_ONCE: u32 = PAGES / (2 * LEAST_BLOCKS);

/// Small devices with the abilities of a `[device]` table: of one die with short blocks, of one
/// with longer ones, and of several dies if it has them. `Err` says what is wrong with the table.
pub fn scaled_down(text: &DeviceText, seed: u64) -> Result<Vec<DeviceSpec>, String> {
    // A capacity scales the blocks, which are scaled here.
    let text = DeviceText { capacity: None, slice: None, ..text.clone() };
    let device = Device::resolve(&text, seed).map_err(|error| error.to_string())?;
    let [short, long] = block_lengths(&device);
    let mut all = vec![one_die(&device, short), one_die(&device, long), several_dies(&device, short)];
    all.dedup();
    Ok(all)
}

/// Pages that are programmed at once, and those in one page of the flash: as the device has them,
/// or halved until two program units fit a block.
fn program_unit(device: &Device) -> (u32, u32) {
    let (mut at_once, mut units) = (device.layout().programmed_at_once, device.units.per_page());
    while at_once > MOST_AT_ONCE {
        at_once = at_once.div_ceil(2);
        units = if at_once.is_multiple_of(units) { units } else { 1 };
    }
    (at_once, units)
}

/// Pages of a short and of a longer block, of whole program units. The longer one has word lines
/// whose pages lie as far apart as in any block.
fn block_lengths(device: &Device) -> [u32; 2] {
    let (at_once, _) = program_unit(device);
    let (whole, most) = (device.geometry.pages_per_block(), PAGES / LEAST_BLOCKS);
    [2, 16].map(|program_units| {
        let pages = (program_units * at_once).max(4).min(most).min(whole);
        (pages / at_once).max(1) * at_once
    })
}

fn one_die(device: &Device, pages_per_block: u32) -> DeviceSpec {
    let blocks = (PAGES / pages_per_block).min(BLOCKS).min(device.geometry.blocks()).max(1);
    with_abilities(device, &DeviceSpec::new(1, 1, 1, blocks, pages_per_block))
}

fn several_dies(device: &Device, pages_per_block: u32) -> DeviceSpec {
    let shape = device.geometry.shape();
    let mut counts = [shape.channels, shape.dies_per_channel, shape.planes_per_die].map(|count| count.min(2));
    // Planes are given up first, then dies of a channel.
    let most = (PAGES / pages_per_block / LEAST_BLOCKS).max(1);
    while counts.iter().product::<u32>() > most {
        let last = counts.iter().rposition(|&count| count > 1).unwrap_or(0);
        counts[last] = 1;
    }
    let [channels, dies, planes] = counts;
    let blocks = (PAGES / pages_per_block).min(2 * BLOCKS) / (channels * dies * planes);
    let blocks = blocks.min(shape.blocks_per_plane).max(1);
    with_abilities(device, &DeviceSpec::new(channels, dies, planes, blocks, pages_per_block))
}

fn with_abilities(device: &Device, small: &DeviceSpec) -> DeviceSpec {
    let (at_once, units_per_page) = program_unit(device);
    let is_exposed = device.chip.exposure.is_some();
    let is_paired = is_exposed && device.keys.programming.unwrap_or_default() == Programming::Shadow;
    let shape = small.shape;
    let blocks = shape.channels * shape.dies_per_channel * shape.planes_per_die * shape.blocks_per_plane;
    DeviceSpec {
        order: device.chip.program_order,
        bad_blocks: if device.chip.bad_blocks.is_empty() { Vec::new() } else { vec![blocks - 1] },
        refreshed_after: if device.reliability.is_some() { 2 } else { 0 },
        at_once,
        has_capacitor: at_once > 1 && !is_exposed,
        units_per_page,
        paired: is_paired.then_some(device.latencies.cell),
        ..small.clone()
    }
}

#[cfg(test)]
mod tests {
    use check::torture::{Options, Torture};
    use sim::presets;

    use super::*;

    fn scaled(toml: &str) -> Vec<String> {
        let study = sim::parse_toml(toml, "device.toml").expect("a study");
        scaled_down(&study.device, 1).expect("a device").iter().map(ToString::to_string).collect()
    }

    #[test]
    fn every_preset_is_scaled_to_devices_that_can_be_tortured() {
        for preset in presets() {
            let devices = scaled_down(&preset.text(), 1).unwrap_or_else(|why| panic!("{}: {why}", preset.name));
            let told: Vec<_> = devices.iter().map(ToString::to_string).collect();
            println!("{}: {}", preset.name, told.join(" "));
            let pages = devices.iter().map(|device| device.geometry().expect("a device").pages());
            assert!(pages.clone().all(|pages| pages <= PAGES), "{told:?}");
            let mut torture = Torture::new(Options { devices, ..Options::default() }).expect(&preset.name);
            let trial = torture.next_trial().expect("a trial");
            let is_tried = |name: &str| torture.reports().iter().any(|report| report.scheme == name);
            assert!(is_tried("page") && is_tried("dftl"), "{}: {:?}", preset.name, torture.left_out());
            trial.run().unwrap_or_else(|finding| panic!("{}\n{}", finding.message, finding.replay));
        }
    }

    #[test]
    fn abilities_are_kept_and_counts_scaled() {
        let superblocks = scaled("ftl = []\ndevice = { preset = \"7450-like\" }");
        assert!(superblocks.iter().all(|device| device.ends_with("strict,together:48,units:4")), "{superblocks:?}");
        let exposed = "channels = 4, cell = \"mlc\", power_loss_protection = false, bad_blocks = 0.01";
        let exposed = scaled(&format!("device = {{ preset = \"slc-small\", {exposed} }}"));
        assert_eq!(exposed[0], "1x1x1x16x4x512,strict,bad:15,paired:mlc");
        assert_eq!(exposed[1], "1x1x1x16x16x512,strict,bad:15,paired:mlc");
        assert_eq!(exposed[2], "2x1x1x16x4x512,strict,bad:31,paired:mlc");
        let plain = scaled("device = { preset = \"slc-small\", program_order = \"any\", capacity = \"8MiB\" }");
        assert!(plain.iter().all(|device| device.ends_with(",any")), "{plain:?}");
    }

    #[test]
    fn a_device_that_cannot_be_is_refused_in_words() {
        let study = sim::parse_toml("device = { channels = 0 }", "device.toml").expect("a study");
        assert!(scaled_down(&study.device, 1).expect_err("refused").contains("channels"));
    }
}
