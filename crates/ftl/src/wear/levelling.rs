//! Wear levelling that moves blocks, once for all mappings.
//!
//! The block manager asks the wear policy which free block is taken. What is left is done here: the
//! policy hears what the host wrote, and may then name a block, which the mapping empties. One
//! block at most for each request of the host, so levelling never goes on for ever; the host does
//! not wait for it.

use crate::api::mapping::Mapping;
use crate::api::request::Request;
use crate::port::device::Device;
use crate::port::error::FtlError;
use crate::port::flash_port::FlashPort;
use crate::wear::relocation::relocate;
use host::FileEvent;

/// A drive's wear levelling. The policy itself lies with the blocks.
#[derive(Clone, Debug)]
pub struct WearLevelling {
    /// RAM that the policy takes besides the erase counts: name and bytes.
    tables: Vec<(&'static str, u64)>,
    observes_writes: bool,
}

impl WearLevelling {
    /// What the policy of a mapping's blocks asks for.
    pub fn of<D: Device>(mapping: &mut dyn Mapping<D>) -> Self {
        let mut levelling = Self { tables: Vec::new(), observes_writes: false };
        mapping.with_wear_policy(&mut |policy, _| {
            levelling = Self { tables: policy.tables(), observes_writes: policy.observes_writes() };
        });
        levelling
    }

    /// RAM that the policy takes besides the erase counts: name and bytes.
    pub fn tables(&self) -> &[(&'static str, u64)] {
        &self.tables
    }

    /// What the policy says that went wrong in it; one that hears no writes cannot fail.
    pub fn failure<D: Device>(&self, mapping: &mut dyn Mapping<D>) -> Option<String> {
        let mut failure = None;
        if self.observes_writes {
            mapping.with_wear_policy(&mut |policy, _| failure = policy.take_failure());
        }
        failure
    }

    /// The host has told what became of a file whose data lie in these pages.
    pub fn on_file_event<D: Device>(&self, mapping: &mut dyn Mapping<D>, event: FileEvent, pages: &Request) {
        mapping.with_wear_policy(&mut |policy, _| policy.on_file_event(event, pages));
    }

    /// The host has written: the policy may have a block emptied.
    #[inline]
    pub fn on_write<D: Device>(
        &self,
        mapping: &mut dyn Mapping<D>,
        flash: &mut FlashPort<D>,
        request: &Request,
    ) -> Result<(), FtlError> {
        if self.observes_writes { level(mapping, flash, request) } else { Ok(()) }
    }
}

/// Tells the policy what was written, and empties the block that it names, if it names one.
fn level<D: Device>(mapping: &mut dyn Mapping<D>, flash: &mut FlashPort<D>, request: &Request) -> Result<(), FtlError> {
    let (mut named, mut failure) = (None, None);
    mapping.with_wear_policy(&mut |policy, blocks| {
        policy.on_write(request);
        named = policy.next_move(blocks);
        failure = policy.take_failure();
    });
    if let Some(message) = failure {
        return Err(FtlError::Failed { message });
    }
    let Some(pbn) = named else { return Ok(()) };
    let outcome = relocate(mapping, flash, pbn)?;
    mapping.with_wear_policy(&mut |policy, _| policy.on_moved(pbn, outcome));
    Ok(())
}

/// A drive without its write buffer: where requests of the host, and pages that leave the buffer,
/// go.
pub struct Backend<'a, D: Device> {
    /// The mapping, which relocates blocks.
    pub mapping: &'a mut dyn Mapping<D>,
    /// The drive's wear levelling.
    pub wear: Option<&'a WearLevelling>,
}

impl<D: Device> Backend<'_, D> {
    /// Writes pages, and levels wear afterwards.
    #[inline]
    pub fn write(&mut self, flash: &mut FlashPort<D>, request: &Request, data: &[D::Data]) -> Result<(), FtlError> {
        self.mapping.write(flash, request, data)?;
        self.wear.map_or(Ok(()), |wear| wear.on_write(self.mapping, flash, request))
    }
}
