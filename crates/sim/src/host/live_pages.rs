//! Logical pages that hold data when measuring begins: all of the device, or the share that
//! `run.in_use` asks for.
//!
//! A share holds the pages that the workload reads or writes, and above them the lowest pages that
//! it leaves empty. So the live pages are a run from page 0 on, and single pages of the workload
//! behind it. The write amplification of uniform overwrites is then that of a device whose
//! utilisation ρ is multiplied by the share.
//!
//! A preparation that takes long for pages that the workload never touches is refused before it
//! begins.

use flash::Lpn;
use trace::units::{Bytes, rounded};

use crate::SimError;
use crate::paging::Extent;
use crate::result::PreconditionChosen;
use crate::setup::device::Device;
use crate::setup::values::{Addresses, InUse, Precondition};
use crate::workload::survey::Survey;
use crate::workload::write_sizes::WriteSize;

/// Pages that a preparation writes per second of processor time with `page`, about: 64 GiB of
/// `7450-like` take 5 s. With a part of the map in RAM it takes twice as long or more.
const PAGES_A_SECOND: f64 = 3e6;
/// Seconds per translation layer from which a preparation has to be for the workload. Shorter ones
/// are less work than to think about them.
const LONG_S: f64 = 30.0;
/// Share of its pages that the workload has to touch, then.
const FEW: f64 = 0.1;
/// Multiples of the physical pages that a steady state programs at least.
const STEADY_TURNS: f64 = 2.0;

/// Which logical pages hold data.
#[derive(Clone, Debug)]
pub(crate) struct LivePages {
    /// The pages below this one.
    prefix: u32,
    /// Further pages, ascending.
    above: Vec<u32>,
    /// How many of all these the workload reads or writes, where that is known.
    touched: Option<u64>,
}

impl LivePages {
    /// The pages that are live after a preparation: all, or the share `in_use`.
    pub(crate) fn of(
        in_use: Option<f64>,
        precondition: Precondition,
        addresses: Addresses,
        (device, survey): (&Device, &mut Survey),
    ) -> Result<Self, SimError> {
        let capacity = device.logical_pages;
        if let Some(share) = in_use {
            check_share(share, precondition)?;
        }
        let touched = touched_pages(survey, addresses, capacity);
        let all =
            Self { prefix: capacity, above: Vec::new(), touched: touched.as_ref().map(|pages| pages.len() as u64) };
        match (in_use, touched) {
            (Some(share), Some(touched)) => {
                let count = pages_in_use(share, capacity, touched.len() as u64);
                check_room(share, touched.len() as u64, count, device)?;
                Ok(Self::filled_up(&touched, count))
            }
            _ => all.check_effort(precondition, device),
        }
    }

    /// The touched pages, ascending, and the lowest others, `count` in all.
    fn filled_up(touched: &[u32], count: u32) -> Self {
        let mut prefix = count - touched.len() as u32;
        let below = touched.iter().take_while(|&&page| {
            let is_below = page <= prefix;
            prefix += u32::from(is_below);
            is_below
        });
        let below = below.count();
        Self { prefix, above: touched[below..].to_vec(), touched: Some(touched.len() as u64) }
    }

    /// Tells how many they are, where the preparation writes them.
    pub(crate) fn report(&self, precondition: Precondition, chosen: &mut PreconditionChosen) {
        if matches!(precondition, Precondition::Fill | Precondition::Steady) {
            (chosen.live_pages, chosen.touched_pages) = (Some(self.count().into()), self.touched);
        }
    }

    /// How many they are.
    pub(crate) fn count(&self) -> u32 {
        self.prefix + self.above.len() as u32
    }

    /// The page of this index, counted from 0 in ascending order.
    pub(crate) fn page(&self, index: u32) -> Lpn {
        Lpn::new(if index < self.prefix { index } else { self.above[(index - self.prefix) as usize] })
    }

    /// The live pages that a write of this size overwrites if it overwrites the page of this index:
    /// neighbours of that, at most as many as stand in the size.
    pub(crate) fn write_around(&self, index: u32, size: WriteSize) -> Extent {
        let write_of = |page: Lpn| (u64::from(page.get()) + u64::from(size.pages - size.phase)) / u64::from(size.pages);
        let joins = |page: u32, next: u32| {
            let (page, next) = (self.page(page), self.page(next));
            page.get() + 1 == next.get() && write_of(page) == write_of(next)
        };
        let (mut first, mut last) = (index, index);
        while first > 0 && joins(first - 1, first) {
            first -= 1;
        }
        while last + 1 < self.count() && joins(last, last + 1) {
            last += 1;
        }
        Extent { lpn: self.page(first), pages: last - first + 1 }
    }

    /// All of them in ascending order, in runs of at most this many neighbours.
    pub(crate) fn runs(&self, most: u32) -> impl Iterator<Item = Extent> {
        let below = (0..self.prefix).step_by(most as usize);
        let below = below.map(move |first| Extent { lpn: Lpn::new(first), pages: most.min(self.prefix - first) });
        let neighbours =
            self.above.chunk_by(|page, next| page + 1 == *next).flat_map(move |run| run.chunks(most as usize));
        below.chain(neighbours.map(|run| Extent { lpn: Lpn::new(run[0]), pages: run.len() as u32 }))
    }

    /// Refuses to prepare for long what the workload hardly touches.
    fn check_effort(self, precondition: Precondition, device: &Device) -> Result<Self, SimError> {
        let (live, physical) = (f64::from(self.count()), f64::from(device.geometry.pages()));
        let pages = match precondition {
            Precondition::Fill => live,
            Precondition::Steady => live + STEADY_TURNS * physical,
            _ => return Ok(self),
        };
        let seconds = pages / PAGES_A_SECOND;
        let Some(touched) = self.touched.filter(|&pages| seconds >= LONG_S && pages as f64 <= FEW * live) else {
            return Ok(self);
        };
        let percent = at_least_percent(touched, self.count());
        Err(SimError::study(format!(
            "run.precondition: \"{}\" would write {pages:.0} pages per translation layer, about {seconds:.0} s or more each, and the workload touches \
             {touched} of the {}'s {live} pages. Prepare no more than they are (run.in_use = {}, --in-use {percent}%), take a smaller device \
             (--capacity auto --addresses dense), prepare nothing (--precondition none), or prepare the whole device all the same (run.in_use = 1, \
             --in-use 100%)",
            precondition.name(),
            device.simulated(),
            share_of(percent)
        )))
    }
}

/// The share of a device that holds data.
pub(crate) fn share_in_use(in_use: InUse, device: &Device) -> Result<f64, SimError> {
    let (bytes, capacity) = match in_use {
        InUse::Share(share) => return Ok(share),
        InUse::Bytes(bytes) => (bytes, device.as_whole().logical_bytes),
    };
    if bytes == 0 || bytes > capacity {
        return Err(SimError::study(format!(
            "run.in_use = \"{}\": the drive has {} for the host (device.spare = {}); give at most \"{}\", or more capacity",
            Bytes(bytes),
            rounded(capacity),
            device.keys.spare.unwrap_or_default(),
            Bytes(capacity)
        )));
    }
    Ok(bytes as f64 / capacity as f64)
}

/// Pages of a share. Bytes in use may end within a page, which counts where the workload has them.
fn pages_in_use(share: f64, capacity: u32, touched: u64) -> u32 {
    let pages = share * f64::from(capacity);
    let whole = (pages + 1e-3).floor().max(1.0) as u32;
    // No size in bytes is nearer to whole pages.
    let begun = (pages - 1e-6).ceil() as u32;
    if touched == u64::from(begun) { begun.max(whole) } else { whole }
}

/// The pages that a workload reads or writes, ascending, as they lie on the device.
fn touched_pages(survey: &mut Survey, addresses: Addresses, capacity: u32) -> Option<Vec<u32>> {
    let touched = survey.live.take()?;
    Some(match (addresses, &survey.touched) {
        (Addresses::Dense, Some(numbers)) => (0..numbers.len().min(capacity.into()) as u32).collect(),
        (Addresses::Wrap, _) => {
            let folded = touched.iter().map(|page| (page % u64::from(capacity)) as u32);
            folded.collect::<roaring::RoaringBitmap>().into_iter().collect()
        }
        // Pages beyond the device are refused in words of their own.
        _ => touched.iter().take_while(|&page| page < u64::from(capacity)).map(|page| page as u32).collect(),
    })
}

fn check_share(share: f64, precondition: Precondition) -> Result<(), SimError> {
    if !(share > 0.0 && share <= 1.0) {
        // 1.8 may be 180 %, too.
        let meant = if share > 2.0 && share <= 100.0 { format!(" Did you mean {share}%?") } else { String::new() };
        return Err(SimError::study(format!(
            "run.in_use = {share}: must be above 0 and at most 1.{meant} It is the share of the capacity that holds data when measuring begins; \
             0.8 is a drive that is 80 % full"
        )));
    }
    if matches!(precondition, Precondition::Fill | Precondition::Steady) {
        return Ok(());
    }
    Err(SimError::study(format!(
        "run.in_use = {share}: with precondition \"{}\" nothing but the workload's own data is on the device; set run.precondition to \"fill\" \
         or \"steady\" (--precondition steady), or leave in_use out",
        precondition.name()
    )))
}

fn check_room(share: f64, touched: u64, count: u32, device: &Device) -> Result<(), SimError> {
    if touched <= u64::from(count) {
        return Ok(());
    }
    let (capacity, simulated, key) = (device.logical_pages, device.simulated(), device.size_key());
    let percent = at_least_percent(touched, capacity);
    Err(SimError::study(format!(
        "run.in_use = {share}: {count} of the {simulated}'s {capacity} pages are to hold data, but the workload alone reads and writes {touched}. Set \
         run.in_use = {} (--in-use {percent}%), or make {key} larger",
        share_of(percent)
    )))
}

/// A share of the pages, in percent, that has room for so many of them.
fn at_least_percent(pages: u64, of: u32) -> f64 {
    ((pages as f64 / f64::from(of) * 1000.0).ceil() / 10.0).min(100.0)
}

/// A percentage as a share, without the rounding of the division.
fn share_of(percent: f64) -> f64 {
    (percent * 10.0).round() / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn write_around_a_page_covers_live_neighbours_of_one_write() {
        let live = LivePages::filled_up(&[20, 21, 22, 24, 40], 12);
        // Pages 0 to 6 are live, too.
        for (index, (pages, phase), expected) in [
            (5, (1, 0), 5..6),
            (5, (4, 0), 4..7),
            (5, (4, 1), 5..7),
            (4, (4, 1), 1..5),
            (0, (4, 1), 0..1),
            (8, (4, 0), 20..23),
            (9, (3, 0), 21..23),
            (10, (16, 0), 24..25),
            (11, (1 << 31, 7), 40..41),
        ] {
            let Extent { lpn, pages: written } = live.write_around(index, WriteSize { pages, phase });
            assert_eq!(lpn.get()..lpn.get() + written, expected, "around the page of index {index}");
        }
    }

    #[test]
    fn live_pages_are_the_touched_and_the_lowest_others() {
        let touched = [2, 3, 7, 20, 21, 22, 40];
        for count in 7..=50 {
            let live = LivePages::filled_up(&touched, count);
            let pages: Vec<u32> = (0..live.count()).map(|index| live.page(index).get()).collect();
            let mut others = (0..).filter(|page| !touched.contains(page));
            let mut expected: Vec<u32> =
                touched.iter().copied().chain(others.by_ref().take(count as usize - 7)).collect();
            expected.sort_unstable();
            assert_eq!(pages, expected, "{count} pages");
            let runs = live.runs(4).flat_map(|run| run.lpn.get()..run.lpn.get() + run.pages);
            assert_eq!(runs.collect::<Vec<_>>(), expected, "{count} pages in runs");
        }
    }
}
