//! The host side of a run: requests become calls of the translation layer.
//!
//! The driver is written once for both kinds of run. A *lean* run keeps no data and is watched by
//! [`NoCheck`]; a *verified* run writes a stamp into every page and is watched by the
//! [`check::ExactOracle`], which compares each read with the last write. What the watcher of a lean
//! run does is nothing, and costs nothing.
//!
//! A request's pages in several extents start together. The rest of a partly written page is read
//! before the write, under its own cause; a page that was never written has no rest, and the
//! translation layer answers without a flash operation.

use check::ExactOracle;
use flash::{Lpn, PageData};
use ftl::{Cause, Device, Drive, FlashPort, FutureRequest, Hint, Moment, Nanos, PrefetchStage, Request, Timing};
use trace::HostOp;

use crate::error::Fault;
use crate::paging::{Extent, HostRequest};

/// Who knows what pages should hold.
pub(crate) trait ReadChecker<D> {
    /// Whether it watches anything.
    const WATCHES: bool = true;

    /// What to write into a page.
    fn stamp(&mut self, lpn: Lpn) -> D;
    /// Compares what was read with what was last written.
    fn compare(&self, lpn: Lpn, got: &D) -> Result<(), Fault>;
    /// A page is forgotten.
    fn trim(&mut self, lpn: Lpn);
    /// A write or trim of a page was refused half-way.
    fn mark_uncertain(&mut self, lpn: Lpn);
}

/// Watches nothing: pages hold nothing, or nothing that differs.
pub(crate) struct NoCheck;

impl<D: Default> ReadChecker<D> for NoCheck {
    const WATCHES: bool = false;

    #[inline]
    fn stamp(&mut self, _lpn: Lpn) -> D {
        D::default()
    }
    #[inline]
    fn compare(&self, _lpn: Lpn, _got: &D) -> Result<(), Fault> {
        Ok(())
    }
    #[inline]
    fn trim(&mut self, _lpn: Lpn) {}
    fn mark_uncertain(&mut self, _lpn: Lpn) {}
}

impl ReadChecker<PageData> for ExactOracle {
    fn stamp(&mut self, lpn: Lpn) -> PageData {
        self.stamp_for_write(lpn).into()
    }

    fn compare(&self, lpn: Lpn, got: &PageData) -> Result<(), Fault> {
        ExactOracle::compare(self, lpn, got.number())
            .map_err(|mismatch| Fault::Mismatch { lpn, found: mismatch.to_string() })
    }

    fn trim(&mut self, lpn: Lpn) {
        ExactOracle::trim(self, lpn);
    }

    fn mark_uncertain(&mut self, lpn: Lpn) {
        ExactOracle::mark_uncertain(self, lpn);
    }
}

/// A translation layer on its device, served as a host would.
pub(crate) struct Host<D: Device, W> {
    flash: FlashPort<D>,
    server: Server<D, W>,
}

impl<D: Device, W: ReadChecker<D::Data>> Host<D, W> {
    pub(crate) fn new(flash: FlashPort<D>, ftl: Drive<D>, checker: W) -> Self {
        Self { flash, server: Server { ftl, checker, pages: Vec::new() } }
    }

    /// The power is cut after a flush: the flash remains, and the expected contents of its pages.
    pub(crate) fn power_off(mut self) -> Result<(FlashPort<D>, W), Fault> {
        self.server.ftl.flush(&mut self.flash)?;
        Ok((self.flash.power_cycled(), self.server.checker))
    }

    /// The flash port, for reading its counts.
    pub(crate) fn flash(&self) -> &FlashPort<D> {
        &self.flash
    }

    /// Virtual time now.
    pub(crate) fn now(&self) -> Nanos {
        self.flash.device().timing().now()
    }

    /// The device, for what lies below flash operations.
    pub(crate) fn device_mut(&mut self) -> &mut D {
        self.flash.device_mut()
    }

    /// The translation layer, to look at.
    pub(crate) fn ftl(&self) -> &Drive<D> {
        &self.server.ftl
    }

    /// Starts the clock anew with idle resources.
    pub(crate) fn restart(&mut self) {
        self.flash.restart();
    }

    /// Tells the translation layer all calls to come.
    pub(crate) fn set_future(&mut self, asked: &[FutureRequest]) {
        self.server.ftl.set_future(asked);
    }

    /// Announces a request to come.
    #[inline]
    pub(crate) fn prefetch(&self, request: &HostRequest, stage: PrefetchStage) {
        for &extent in &request.extents {
            self.prefetch_extent(extent, stage);
        }
    }

    /// Announces neighbouring pages that will be asked for.
    #[inline]
    pub(crate) fn prefetch_extent(&self, extent: Extent, stage: PrefetchStage) {
        self.server.ftl.prefetch(&self.flash, &request_of(extent, Nanos::ZERO, Hint::NONE), stage);
    }

    /// Has a request served that begins at a moment, after letting time pass until then; returns
    /// when its last page will be done.
    pub(crate) fn serve(&mut self, request: &HostRequest, at: Nanos) -> Result<Moment, Fault> {
        let Self { flash, server } = self;
        flash.begin(at);
        let bytes_of = |op: HostOp| if request.op == op { u64::from(request.bytes) } else { 0 };
        flash.take_command(bytes_of(HostOp::Write));
        let of = |&extent: &Extent| request_of(extent, at, request.hint);
        match request.op {
            HostOp::Read => {
                flash.in_parallel(request.extents.iter().map(of), |flash, extent| server.read(flash, &extent))?;
            }
            HostOp::Write => {
                if request.partial_first || request.partial_last {
                    flash.complete_pages(request.partial_pages(), |flash, lpn| {
                        server.read(flash, &of(&Extent { lpn, pages: 1 }))
                    })?;
                }
                let extents = request.extents.iter().map(of);
                let written = flash.in_parallel(extents, |flash, extent| server.write(flash, &extent));
                flash.end_completion();
                written?;
            }
            HostOp::Trim => {
                flash.in_parallel(request.extents.iter().map(of), |flash, extent| server.trim(flash, &extent))?;
            }
            HostOp::Flush => server.ftl.flush(flash)?,
        }
        flash.hand_over(bytes_of(HostOp::Read));
        Ok(flash.end())
    }

    /// Writes pages one by one under a cause, each as a request of its own without content, while
    /// there is no clock or it stands still; returns how many were written, and how it ended.
    pub(crate) fn write_each(&mut self, cause: Cause, lpns: &[Lpn]) -> (usize, Result<(), Fault>) {
        let Self { flash, server } = self;
        let (written, result) = flash.with_cause(cause, |flash| server.ftl.write_each(flash, lpns));
        (written, result.map_err(Fault::from))
    }

    /// A read or write of these pages has ended, so long after it began.
    pub(crate) fn on_response(&mut self, pages: Extent, response: Nanos) {
        self.server.ftl.on_response(&request_of(pages, Nanos::ZERO, Hint::NONE), response);
    }

    /// A request was refused half-way: its pages may hold what they held before.
    pub(crate) fn mark_uncertain(&mut self, request: &HostRequest) {
        for &extent in &request.extents {
            let pages = request_of(extent, Nanos::ZERO, Hint::NONE);
            pages.lpns().for_each(|(_, lpn)| self.server.checker.mark_uncertain(lpn));
        }
    }

    /// Offers the time from `from` to `until` for background work.
    pub(crate) fn idle(&mut self, from: Nanos, until: Nanos) -> Result<(), Fault> {
        self.flash.begin(from);
        Ok(self.server.ftl.idle(&mut self.flash, until - from)?)
    }

    /// Writes neighbouring pages under a cause, when what was asked before is done.
    pub(crate) fn write_with_cause(&mut self, cause: Cause, extent: Extent) -> Result<(), Fault> {
        let Self { flash, server } = self;
        let request = request_of(extent, flash.device().timing().now(), Hint::NONE);
        flash.begin(request.arrival);
        flash.with_cause(cause, |flash| server.write(flash, &request))?;
        flash.wait();
        Ok(())
    }

    /// Reads neighbouring pages and compares them, when what was asked before is done.
    pub(crate) fn read_back(&mut self, extent: Extent) -> Result<(), Fault> {
        let request = request_of(extent, self.now(), Hint::NONE);
        self.flash.begin(request.arrival);
        self.server.read(&mut self.flash, &request)?;
        self.flash.wait();
        Ok(())
    }
}

/// What of a host does not depend on the clock.
struct Server<D: Device, W> {
    ftl: Drive<D>,
    checker: W,
    /// Data of the request in hand; reused, so that nothing is allocated per request.
    pages: Vec<D::Data>,
}

impl<D: Device, W: ReadChecker<D::Data>> Server<D, W> {
    fn read(&mut self, flash: &mut FlashPort<D>, request: &Request) -> Result<(), Fault> {
        self.pages.clear();
        self.pages.resize(request.pages as usize, D::Data::default());
        self.ftl.read(flash, request, &mut self.pages)?;
        request.lpns().try_for_each(|(index, lpn)| self.checker.compare(lpn, &self.pages[index]))
    }

    fn write(&mut self, flash: &mut FlashPort<D>, request: &Request) -> Result<(), Fault> {
        self.pages.clear();
        self.pages.extend(request.lpns().map(|(_, lpn)| self.checker.stamp(lpn)));
        Ok(self.ftl.write(flash, request, &self.pages)?)
    }

    fn trim(&mut self, flash: &mut FlashPort<D>, request: &Request) -> Result<(), Fault> {
        request.lpns().for_each(|(_, lpn)| self.checker.trim(lpn));
        Ok(self.ftl.trim(flash, request)?)
    }
}

fn request_of(extent: Extent, arrival: Nanos, hint: Hint) -> Request {
    Request { lpn: extent.lpn, pages: extent.pages, arrival, hint }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flash::{Chip, ChipOptions, Full, Geometry, Pbn, Ppn, Role, Shape};
    use ftl::{
        BrokenInvariant, Deferred, Footprint, FtlError, Label, Layout, Mapping, RelocateOutcome, Timed, Untimed,
        WearQuery,
    };

    type Small = Timed<Chip<Full<PageData>>, Untimed>;

    /// Writes page after page of the flash and reads wherever it is told.
    struct Fixed {
        reads_from: Ppn,
        written: u32,
    }

    impl Mapping<Small> for Fixed {
        fn read(&mut self, flash: &mut FlashPort<Small>, _: &Request, out: &mut [PageData]) -> Result<(), FtlError> {
            out[0] = flash.read(self.reads_from)?.data;
            Ok(())
        }

        fn write(
            &mut self,
            flash: &mut FlashPort<Small>,
            request: &Request,
            data: &[PageData],
        ) -> Result<(), FtlError> {
            for (index, lpn) in request.lpns() {
                let label = Label::new(lpn.get(), Role::Data);
                flash.program(Ppn::new(self.written), label, data[index].clone())?;
                self.written += 1;
            }
            Ok(())
        }

        fn trim(&mut self, _: &mut FlashPort<Small>, _: &Request) -> Result<(), FtlError> {
            Ok(())
        }

        fn flush(&mut self, _: &mut FlashPort<Small>) -> Result<(), FtlError> {
            Ok(())
        }

        fn relocate_block(&mut self, _: &mut FlashPort<Small>, _: Pbn) -> Result<RelocateOutcome, FtlError> {
            Ok(RelocateOutcome::Deferred(Deferred::NoRoom))
        }

        fn with_wear_policy(&mut self, _: WearQuery<'_>) {}

        fn check(&self, _: &FlashPort<Small>) -> Result<(), BrokenInvariant> {
            Ok(())
        }

        fn footprint(&self) -> Footprint {
            Footprint::default()
        }
    }

    fn host(reads_from: u32) -> Host<Small, ExactOracle> {
        let shape = Shape {
            channels: 1,
            dies_per_channel: 1,
            planes_per_die: 1,
            blocks_per_plane: 1,
            pages_per_block: 8,
            page_size_bytes: 4096,
        };
        let chip = Chip::new(Geometry::new(shape).expect("valid"), &ChipOptions::default());
        let ftl = Fixed { reads_from: Ppn::new(reads_from), written: 0 };
        let drive = Drive::new(Box::new(ftl), &Layout::of(&chip, 8, 1));
        Host::new(FlashPort::new(Timed { chip, timing: Untimed }), drive, ExactOracle::new(8))
    }

    fn request(op: HostOp, lpn: u32) -> HostRequest {
        HostRequest { op, extents: vec![Extent { lpn: Lpn::new(lpn), pages: 1 }], ..HostRequest::new() }
    }

    #[test]
    fn a_wrong_page_is_caught_at_the_read_that_returns_it() {
        for (reads_from, found) in [(1, "stale"), (2, "another page"), (3, "")] {
            let mut host = host(reads_from);
            for lpn in [5, 0, 4, 0] {
                host.serve(&request(HostOp::Write, lpn), Nanos::ZERO).expect("legal");
            }
            match host.serve(&request(HostOp::Read, 0), Nanos::ZERO) {
                Ok(_) => assert_eq!(reads_from, 3, "only the last write is right"),
                Err(fault) => {
                    let message = fault.to_string();
                    assert!(!found.is_empty() && message.contains("LPN 0") && message.contains(found), "{message}");
                }
            }
        }
    }

    #[test]
    fn a_trimmed_page_that_comes_back_is_caught() {
        let mut host = host(0);
        host.serve(&request(HostOp::Write, 3), Nanos::ZERO).expect("legal");
        host.serve(&request(HostOp::Read, 3), Nanos::ZERO).expect("the last write");
        host.serve(&request(HostOp::Trim, 3), Nanos::ZERO).expect("legal");
        let fault = host.serve(&request(HostOp::Read, 3), Nanos::ZERO).expect_err("trimmed");
        assert!(matches!(fault, Fault::Mismatch { lpn, .. } if lpn == Lpn::new(3)), "{fault}");
        let fault = host.serve(&request(HostOp::Write, 0), Nanos::ZERO).map(|_| ());
        assert!(fault.is_ok(), "{fault:?}");
    }

    #[test]
    fn an_illegal_operation_is_a_fault_with_its_coordinates() {
        let fault = host(7).serve(&request(HostOp::Read, 0), Nanos::ZERO).expect_err("erased");
        assert!(fault.to_string().contains("PPN 7") && !fault.is_end_of_life(), "{fault}");
    }
}
