//! The clock as the shell drives it, from request to request, and as what is above the port asks
//! for the time.

use super::FlashPort;
use crate::port::device::Device;
use crate::port::timing::{Moment, Nanos, Timing};

impl<D: Device> FlashPort<D> {
    /// For the shell: lets time pass until a request begins, and sets the cursor there. Requests
    /// begin in order of time.
    #[inline]
    pub fn begin(&mut self, at: Nanos) {
        self.device.timing_mut().pass_until(at);
        self.cursor = Moment::at(at);
    }

    /// Virtual time now. A scheme that asks depends on time, so its preparation runs with the clock
    /// on.
    #[inline]
    pub fn now(&self) -> Nanos {
        self.asks("the time");
        self.device.timing().now()
    }

    /// The earliest that the cursor can be reached: exact in idle time.
    #[inline]
    pub fn earliest(&self) -> Nanos {
        self.asks("the time");
        self.cursor.earliest
    }

    /// For the shell: what a scheme has asked of time, on which its operations then depend.
    #[inline]
    pub fn asked_of_time(&self) -> Option<&'static str> {
        self.asked_of_time.get()
    }

    /// Something is asked of time.
    #[inline]
    pub(super) fn asks(&self, what: &'static str) {
        self.asked_of_time.set(self.asked_of_time.get().or(Some(what)));
    }

    /// The end of all that the request in hand has asked for.
    #[inline]
    pub fn end(&self) -> Moment {
        self.cursor
    }

    /// For the shell: lets time pass until the request in hand is done, and returns that moment.
    #[inline]
    pub fn wait(&mut self) -> Nanos {
        let done = self.device.timing_mut().wait(self.cursor);
        self.cursor = Moment::at(done);
        done
    }

    /// For the shell: starts the clock anew with idle resources, between preparing a device and
    /// measuring it. Data, counts and the event hash stay.
    pub fn restart(&mut self) {
        if let Some(bit_errors) = &mut self.bit_errors {
            bit_errors.restart(self.device.timing().now());
        }
        self.device.timing_mut().reset();
        self.collections.iter_mut().for_each(Vec::clear);
        self.cursor = Moment::ZERO;
        self.clock += 1;
    }
}
