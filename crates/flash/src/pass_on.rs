//! For a device that wraps another one: what it does not change, it passes on.

/// Inside an `impl Flash`: passes the methods that take no time and cannot fail on to a field.
#[macro_export]
macro_rules! pass_on_flash {
    ($inner:ident) => {
        #[inline]
        fn geometry(&self) -> &$crate::Geometry {
            $crate::Flash::geometry(&self.$inner)
        }
        fn mark_bad(&mut self, pbn: $crate::Pbn) {
            $crate::Flash::mark_bad(&mut self.$inner, pbn);
        }
        #[inline]
        fn peek(&self, ppn: $crate::Ppn) -> Option<u32> {
            $crate::Flash::peek(&self.$inner, ppn)
        }
        #[inline]
        fn prefetch(&self, ppn: $crate::Ppn) {
            $crate::Flash::prefetch(&self.$inner, ppn);
        }
        fn tag(&self, ppn: $crate::Ppn) -> Option<$crate::Tag> {
            $crate::Flash::tag(&self.$inner, ppn)
        }
        fn load(&mut self, ppn: $crate::Ppn, bytes: &[u8]) {
            $crate::Flash::load(&mut self.$inner, ppn, bytes);
        }
        fn loaded(&self, ppn: $crate::Ppn) -> Option<::std::sync::Arc<[u8]>> {
            $crate::Flash::loaded(&self.$inner, ppn)
        }
        #[inline]
        fn next_page(&self, pbn: $crate::Pbn) -> u32 {
            $crate::Flash::next_page(&self.$inner, pbn)
        }
        #[inline]
        fn erase_count(&self, pbn: $crate::Pbn) -> u32 {
            $crate::Flash::erase_count(&self.$inner, pbn)
        }
        fn is_bad(&self, pbn: $crate::Pbn) -> bool {
            $crate::Flash::is_bad(&self.$inner, pbn)
        }
        fn program_order(&self) -> $crate::ProgramOrder {
            $crate::Flash::program_order(&self.$inner)
        }
        fn operations(&self) -> $crate::Operations {
            $crate::Flash::operations(&self.$inner)
        }
    };
}
