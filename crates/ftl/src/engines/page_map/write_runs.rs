//! Pages that the host writes one by one, in runs: each step over an array, while flash sees the
//! same operations in the same order as when they are written one by one.
//!
//! A run ends before a page that fills its block or opens one, since blocks are closed and
//! collected in between. Such a page is written alone, and so are all where something depends on
//! each page.

use flash::{Lpn, Ppn};

use crate::api::mapping::Mapping;
use crate::api::request::Request;
use crate::engines::page_map::machine::PageMap;
use crate::engines::page_map::mapped::PageMapped;
use crate::engines::page_map::policy::{PageMapScheme, StreamPolicy};
use crate::engines::page_map::space::Stream;
use crate::port::device::Device;
use crate::port::error::FtlError;
use crate::port::flash_port::FlashPort;
use crate::port::timing::Nanos;

/// Pages of a run at most: as many requests for memory as a processor's first cache takes without
/// dropping what it will need soon.
const RUN: usize = 64;

impl<S: PageMapScheme> PageMap<S> {
    /// Writes pages one by one; returns how many were written, and how it ended.
    pub(super) fn write_in_runs<D: Device>(
        &mut self,
        flash: &mut FlashPort<D>,
        lpns: &[Lpn],
    ) -> (usize, Result<(), FtlError>) {
        let stream = self.policy.common_stream().filter(|_| self.cache.is_none() && self.classes.is_none());
        let stream = stream.filter(|_| self.space.places_runs());
        let (mut done, mut far, mut near) = (0, 0, 0);
        while done < lpns.len() {
            let next = (done + RUN).min(lpns.len());
            let after = (next + RUN).min(lpns.len());
            lpns[far..after].iter().for_each(|lpn| self.map.prefetch(lpn.index()));
            lpns[near..next].iter().filter_map(|&lpn| self.at(lpn)).for_each(|old| self.space.prefetch(old));
            (far, near) = (after, next);
            done += stream.map_or(0, |stream| self.write_run(flash, stream, &lpns[done..next]));
            if done < next {
                flash.begin(Nanos::ZERO);
                let alone = Request::new(lpns[done], 1);
                if let Err(error) = self.write(flash, &alone, &[D::Data::default()]) {
                    return (done, Err(error));
                }
                done += 1;
            }
        }
        (done, Ok(()))
    }

    /// Writes the first of these pages in a run; returns how many.
    fn write_run<D: Device>(&mut self, flash: &mut FlashPort<D>, stream: Stream, lpns: &[Lpn]) -> usize {
        if !self.is_whole() {
            return 0;
        }
        let mut places = [Ppn::new(0); RUN];
        let listed = self.space.list_places(stream, &mut places[..lpns.len()]);
        let done = flash.program_run(&places[..listed], &lpns[..listed]);
        let places = &places[..done];
        self.space.take_places(stream, places);
        for (&lpn, &to) in lpns.iter().zip(places) {
            self.remap(lpn, Some(to));
        }
        done
    }
}

#[cfg(test)]
mod tests {
    use flash::{Blank, Chip, Flash, Full, Lean, Pbn};
    use random::SeededRng;
    use testkit::TestFlash;

    use super::*;
    use crate::api::layout::Layout;
    use crate::api::mapping::Scheme;
    use crate::api::parameter::{Settings, Values};
    use crate::port::device::Timed;
    use crate::port::timing::Untimed;
    use crate::schemes::page::Page;

    const LOGICAL: u32 = 150;

    /// What a device has done and holds after writes and trims; runs of pages are written in one
    /// call or page by page.
    fn state<S: Blank>(setting: &str, dies: u32, in_one_call: bool) -> String {
        let chip: Chip<S> = TestFlash::new(128 / dies, 4).channels(dies).chip();
        let layout = Layout::of(&chip, LOGICAL, 1);
        let mut flash = FlashPort::new(Timed { chip, timing: Untimed });
        let settings: Settings =
            setting.split_once('=').map(|(key, value)| (key.to_owned(), value.to_owned())).into_iter().collect();
        let values = Values::check("page", PageMap::<Page>::ENTRY.parameters, &settings).expect("a setting");
        let mut scheme = PageMap::<Page>::format(&layout, &values).expect("fits");
        let mut rng = SeededRng::new(5);
        for _ in 0..40 {
            let length = 1 + rng.below(200);
            let lpns: Vec<_> = (0..length).map(|_| Lpn::new(rng.below_u32(LOGICAL))).collect();
            if in_one_call {
                let (written, result) = scheme.write_each(&mut flash, &lpns);
                assert!(written == lpns.len() && result.is_ok(), "{written} of {}: {result:?}", lpns.len());
            } else {
                for &lpn in &lpns {
                    scheme.write(&mut flash, &Request::new(lpn, 1), &[S::Data::default()]).expect("written");
                }
            }
            Mapping::<Timed<Chip<S>, Untimed>>::trim(&mut scheme, &mut flash, &Request::new(lpns[0], 1)).expect("RAM");
            if rng.below(4) == 0 {
                scheme.flush(&mut flash).expect("flushed");
            }
        }
        scheme.check(&flash).expect("every invariant");
        let pages: Vec<_> = (0..512).map(|ppn| flash.chip().peek(Ppn::new(ppn))).collect();
        format!("{:016x} {} {:?} {pages:?}", flash.event_hash(), flash.last_version(), flash.tally())
    }

    #[test]
    fn pages_in_runs_are_written_as_one_by_one() {
        let settings = ["", "streams=shared", "streams=hints", "streams=two-regions", "streams=sepbit", "gc=paced"];
        for setting in settings.into_iter().chain(["victim=cost-benefit", "checkpoint=summaries"]) {
            for dies in [1, 2, 8] {
                let singly = state::<Lean>(setting, dies, false);
                assert_eq!(state::<Lean>(setting, dies, true), singly, "{setting} on {dies} dies");
                assert_eq!(state::<Full<()>>(setting, dies, true), singly, "{setting} on {dies} dies, all kept");
            }
        }
    }

    #[test]
    fn a_device_that_takes_no_more_pages_says_at_which() {
        let chip: Chip<Lean> = TestFlash::new(16, 4).chip();
        let layout = Layout::of(&chip, 40, 1);
        let mut flash = FlashPort::new(Timed { chip, timing: Untimed });
        let values = Values::check("page", PageMap::<Page>::ENTRY.parameters, &Settings::new()).expect("defaults");
        let mut scheme = PageMap::<Page>::format(&layout, &values).expect("fits");
        (0..16).for_each(|block| scheme.blocks.has_failed(Pbn::new(block)));
        let lpns: Vec<_> = (0..30).map(Lpn::new).collect();
        let (written, result) = scheme.write_each(&mut flash, &lpns);
        assert!(written == 0 && result.is_err(), "{written} pages were written to a device without spares: {result:?}");
        assert_eq!(flash.event_hash(), 0);
    }
}
