//! Pages that lie in the space of the demand-paged machine and are not in its table.
//!
//! A scheme that maps some of its data otherwise, as WAFTL does, keeps that data in the same space
//! and so shares blocks, collection and reserves with the page-mapped data. The machine moves such
//! pages like its own, and asks here whose they are. It knows nothing else of them.

use flash::{Lpn, Ppn, Role, Tag};

use crate::api::layout::Layout;
use crate::api::parameter::Values;
use crate::engines::page_map::space::{PageSpace, Stream};
use crate::port::device::Device;
use crate::port::error::{BrokenInvariant, ConfigError};
use crate::port::flash_port::FlashPort;
use crate::recovery::trims::Trims;

/// Data in the machine's space that its table does not map.
pub trait ForeignPages: Send + Sized {
    /// The stream of theirs whose filled blocks nobody collects until the scheme lets go of them.
    /// What is moved out of such a block stays in this stream.
    const STREAM: Option<Stream> = None;

    /// The role by which recovery knows the pages of that stream.
    const ROLE: Role = Role::RandomLog;

    /// None yet, in an erased space.
    fn new(layout: &Layout, values: &Values, space: &PageSpace) -> Self;

    /// Pages that they take beyond one for each logical page.
    fn extra_pages(_layout: &Layout, _values: &Values) -> Result<u64, ConfigError> {
        Ok(0)
    }

    /// What to say of a device on which those pages do not fit, besides what the space says.
    fn advice(_layout: &Layout, _values: &Values) -> Option<String> {
        None
    }

    /// A page was moved: tells whether it was theirs, and then knows its new place.
    fn on_moved(&mut self, _lpn: Lpn, _from: Ppn, _to: Ppn) -> bool {
        false
    }

    /// A page that has to be moved cannot be read: tells whether it was theirs and the same lies
    /// elsewhere, and then forgets this one.
    fn drop_duplicate(&mut self, _from: Ppn) -> bool {
        false
    }

    /// The logical page that lies at a place, if it is theirs.
    fn owner_of(&self, _ppn: Ppn) -> Option<Lpn> {
        None
    }

    /// Recovery found the newest copy of a logical page: tells whether they take care of it.
    fn on_found(&mut self, _tag: Tag, _ppn: Ppn) -> bool {
        false
    }

    /// Recovery has found everything: keeps what is theirs, and returns what the table shall map
    /// after all.
    fn settle(&mut self, _space: &mut PageSpace, _trims: &Trims) -> Vec<(Lpn, Ppn)> {
        Vec::new()
    }

    /// Checks that what they hold is valid and carries its logical page; returns how many pages
    /// that are, without those that the table maps there, too.
    fn check<D: Device>(
        &self,
        _flash: &FlashPort<D>,
        _space: &PageSpace,
        _is_mapped: &dyn Fn(Lpn, Ppn) -> bool,
    ) -> Result<u64, BrokenInvariant> {
        Ok(0)
    }
}

impl ForeignPages for () {
    fn new(_layout: &Layout, _values: &Values, _space: &PageSpace) -> Self {}
}
