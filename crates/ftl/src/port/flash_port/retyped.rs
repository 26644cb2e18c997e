//! Pages whose file has another type by now than their tags say: a rename has changed it.
//!
//! Flash cannot be overwritten, so a tag keeps the type of the write until the page is moved. Until
//! then the port gives every reader the new type, and a copy has that in its tag.
//!
//! Limits: the list lies in RAM that no footprint counts, and is lost at power-off. Pages in a
//! write buffer keep the hint of their write.

use flash::{Flash, Lpn, Page, Ppn, Role};

use super::FlashPort;
use crate::port::device::Device;
use crate::port::label::Label;

impl<D: Device> FlashPort<D> {
    /// What is kept of the host's hint for these pages is this from now on.
    pub fn retype(&mut self, pages: impl IntoIterator<Item = Lpn>, stored_hint: u8) {
        let retyped = self.retyped.get_or_insert_default();
        retyped.extend(pages.into_iter().map(|lpn| (lpn.get(), stored_hint)));
    }

    /// A page that lies there, as its file is now.
    #[cold]
    pub(super) fn with_new_type(&self, ppn: Ppn, page: Page<D::Data>) -> Page<D::Data> {
        let hint = self.retyped.as_ref().and_then(|retyped| retyped.get(&page.logical).copied());
        let hint = hint.filter(|_| self.device.chip().tag(ppn).is_some_and(|tag| is_of_host(tag.role)));
        Page { hint: hint.unwrap_or(page.hint), ..page }
    }

    /// A page was programmed: its tag says what holds of it now.
    #[cold]
    pub(super) fn tag_is_new(&mut self, label: Label) {
        if let Some(retyped) = self.retyped.as_mut().filter(|_| is_of_host(label.role)) {
            retyped.remove(&label.logical);
            if retyped.is_empty() {
                self.retyped = None;
            }
        }
    }
}

/// Whether pages of a role are known by the host's numbers.
fn is_of_host(role: Role) -> bool {
    !matches!(role, Role::Translation | Role::Trimmed | Role::Summary | Role::Padding)
}

#[cfg(test)]
mod tests {
    use flash::{Chip, Full, PageCopy, Pbn};
    use testkit::TestFlash;

    use super::*;
    use crate::port::device::Timed;
    use crate::port::label::Content;
    use crate::port::timing::Untimed;

    #[test]
    fn a_page_has_the_new_type_when_it_is_moved_and_the_writes_own_afterwards() {
        let chip: Chip<Full<u64>> = TestFlash::new(3, 6).chip();
        let mut flash = FlashPort::new(Timed { chip, timing: Untimed });
        let label = |lpn| Label::new(lpn, Role::Data);
        for lpn in 0..4 {
            flash.put(Ppn::new(lpn), label(lpn), Content::Hinted(7, 3)).expect("programmed");
        }
        flash.retype([0, 1, 2].map(Lpn::new), 5);
        // A page of the scheme's own has a number of its own.
        flash.put(Ppn::new(4), Label::new(0, Role::Translation), Content::Hinted(9, 0)).expect("programmed");
        assert_eq!(flash.read(Ppn::new(4)).expect("read").hint, 0);
        let stored = |flash: &FlashPort<_>, ppn| {
            let flash: &FlashPort<Timed<Chip<Full<u64>>, Untimed>> = flash;
            flash.chip().tag(Ppn::new(ppn)).expect("programmed").hint
        };
        let page = flash.read(Ppn::new(0)).expect("read");
        assert_eq!((page.hint, stored(&flash, 0)), (5, 3), "it is told before the tag says it");
        flash.put(Ppn::new(6), label(0), Content::Copy(page)).expect("moved");
        let copies = [1, 3].map(|from| PageCopy { from: Ppn::new(from), offset: from });
        let (done, _) = flash.copy_pages(&copies, (Pbn::new(2), None), |_, page| label(page.logical));
        assert_eq!(done, 2);
        assert_eq!([6, 13, 15].map(|ppn| stored(&flash, ppn)), [5, 5, 3]);
        flash.put(Ppn::new(7), label(2), Content::Hinted(8, 4)).expect("written again");
        let again = flash.read(Ppn::new(7)).expect("read");
        assert_eq!((again.hint, flash.retyped.is_none()), (4, true), "nothing is left to be told");
    }
}
