//! A mapping under a wear policy that moves blocks, or that keeps tables of its own.
//!
//! Which free block is taken the owner of blocks asks the policy itself. What is left is done here, once for all mappings: the policy is
//! told what the host wrote, and may then name a block, which the mapping empties. One block at most for each request of the host,
//! so levelling never goes on for ever; the host does not wait for it. A mapping without a policy is not wrapped.

use flash::Pbn;

use crate::blocks::manager::Blocks;
use crate::{
    BrokenInvariant, Buffered, Consultation, Device, Evacuated, FileEvent, Footprint, Foresight, Foretold, Ftl,
    FtlError, Gauge, Later, Media, Nanos, Request, Spares,
};

/// A mapping with a wear policy.
pub struct Levelled<D: Device> {
    mapping: Box<dyn Ftl<D>>,
    tables: Vec<(&'static str, u64)>,
    hears_writes: bool,
}

impl<D: Device> Levelled<D> {
    /// Has the policy of a mapping's blocks level their wear.
    pub fn new(mut mapping: Box<dyn Ftl<D>>) -> Self {
        let policy = mapping.owner().map(|blocks| blocks.policy().0);
        let (tables, hears_writes) =
            policy.map_or_else(Default::default, |policy| (policy.tables(), policy.hears_writes()));
        Self { mapping, tables, hears_writes }
    }

    /// Tells the policy what was written, and empties the block that it names, if it names one.
    fn level(&mut self, media: &mut Media<D>, request: &Request) -> Result<(), FtlError> {
        let mut named = None;
        self.mapping.consult(&mut |policy, facts| {
            policy.wrote(request);
            named = policy.next_move(facts);
        });
        let Some(pbn) = named else { return Ok(()) };
        let how = match media.detached(|media| self.mapping.evacuate(media, pbn)) {
            // What the host wrote is written, and the next write says so.
            Err(FtlError::ReadOnly { .. }) => Evacuated::Later(Later::ReadOnly),
            how => how?,
        };
        if let Some(blocks) = self.mapping.owner() {
            blocks.policy().0.moved(pbn, how);
        }
        Ok(())
    }
}

impl<D: Device> Ftl<D> for Levelled<D> {
    fn read(&mut self, media: &mut Media<D>, request: &Request, out: &mut [D::Data]) -> Result<(), FtlError> {
        self.mapping.read(media, request, out)
    }

    fn write(&mut self, media: &mut Media<D>, request: &Request, data: &[D::Data]) -> Result<(), FtlError> {
        self.mapping.write(media, request, data)?;
        if self.hears_writes { self.level(media, request) } else { Ok(()) }
    }

    fn trim(&mut self, media: &mut Media<D>, request: &Request) -> Result<(), FtlError> {
        self.mapping.trim(media, request)
    }

    fn flush(&mut self, media: &mut Media<D>) -> Result<(), FtlError> {
        self.mapping.flush(media)
    }

    fn foresee(&self, media: &Media<D>, request: &Request, foresight: Foresight) {
        self.mapping.foresee(media, request, foresight);
    }

    fn told(&mut self, event: FileEvent, of: &Request) {
        if let Some(blocks) = self.mapping.owner() {
            blocks.policy().0.told(event, of);
        }
        self.mapping.told(event, of);
    }

    fn idle(&mut self, media: &mut Media<D>, budget: Nanos) -> Result<(), FtlError> {
        self.mapping.idle(media, budget)
    }

    fn evacuate(&mut self, media: &mut Media<D>, pbn: Pbn) -> Result<Evacuated, FtlError> {
        self.mapping.evacuate(media, pbn)
    }

    fn owner(&mut self) -> Option<&mut Blocks> {
        self.mapping.owner()
    }

    fn heeds_hints(&mut self) -> bool {
        self.mapping.heeds_hints()
    }

    fn consult(&mut self, ask: Consultation<'_>) {
        self.mapping.consult(ask);
    }

    fn check(&self, media: &Media<D>) -> Result<(), BrokenInvariant> {
        self.mapping.check(media)
    }

    fn footprint(&self) -> Footprint {
        self.tables.iter().fold(self.mapping.footprint(), |footprint, &(name, bytes)| footprint.with(name, bytes, 0))
    }

    fn spares(&self) -> Spares {
        self.mapping.spares()
    }

    fn buffered(&self) -> Buffered {
        self.mapping.buffered()
    }

    fn looks_ahead(&self) -> bool {
        self.mapping.looks_ahead()
    }

    fn foretell(&mut self, asked: &[Foretold]) {
        self.mapping.foretell(asked);
    }

    fn kept_clean(&self) -> u32 {
        self.mapping.kept_clean()
    }

    fn gauges(&self) -> Vec<Gauge> {
        self.mapping.gauges()
    }
}
