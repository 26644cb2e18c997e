//! Changes of the table that a scheme makes itself, for data that enters or leaves it without being written by the host.

use flash::{Lpn, Ppn, Role};

use crate::api::hint::Hint;
use crate::engines::demand::machine::DemandPaged;
use crate::engines::demand::policy::{DemandScheme, MapCache};
use crate::engines::page_map::mapped::PageMapped;
use crate::engines::page_map::space::Stream;
use crate::port::error::FtlError;
use crate::port::flash_port::FlashPort;
use crate::port::label::Label;
use crate::port::timing::Device;

impl<S: DemandScheme> DemandPaged<S> {
    /// Takes a logical page out of the table; returns where it lay.
    pub fn unmap<D: Device>(&mut self, flash: &mut FlashPort<D>, lpn: Lpn) -> Result<Option<Ppn>, FtlError> {
        let slot = self.lookup(flash, lpn, false)?;
        let old = self.cache.ppn(slot, &self.table);
        if old.is_some() {
            self.remap(flash, lpn, slot, None);
        }
        Ok(old)
    }

    /// Has the table map a logical page, which it did not, to a place that is valid already.
    pub fn adopt<D: Device>(&mut self, flash: &mut FlashPort<D>, lpn: Lpn, at: Ppn) -> Result<(), FtlError> {
        let slot = self.lookup(flash, lpn, false)?;
        self.cache.set(slot, Some(at));
        Ok(())
    }

    /// Writes a copy of a logical page that lies elsewhere in the space to a stream. `at` tells where, after what it takes to find room may have
    /// moved it; if it says nothing, nothing is done.
    pub fn copy_page<D: Device>(
        &mut self,
        flash: &mut FlashPort<D>,
        stream: Stream,
        lpn: Lpn,
        at: impl Fn(&S::ForeignPages) -> Option<Ppn>,
    ) -> Result<(), FtlError> {
        let slot = self.lookup(flash, lpn, self.background)?;
        let Some(from) = at(&self.foreign_pages) else { return Ok(()) };
        let (role, content) = flash.read_for_copy(from, Role::Data)?;
        let to = loop {
            let die = self.next_die(flash, stream)?;
            let (label, content) = (Label::new(lpn.get(), role), content.clone());
            if let Some(to) = self.space.program(flash, &mut self.blocks, die, (stream, Hint::NONE), label, content)? {
                break to;
            }
        };
        self.remap(flash, lpn, slot, Some(to));
        Ok(())
    }
}
