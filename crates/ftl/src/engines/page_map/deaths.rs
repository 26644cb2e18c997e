//! When pages die, for a classifier that knows the future: at which page of the host each version
//! is overwritten or trimmed.

use flash::Lpn;
use host::HostOp;

use crate::api::mapping::FutureRequest;

const NEVER: u64 = u64::MAX;

/// The deaths of all versions that the host will write, and of those that it has written.
#[derive(Debug, Default)]
pub(super) struct Deaths {
    /// Pages that the host had written when the future began.
    begun: u64,
    /// Of each page that the host will write, in order, the time at which it dies.
    of_writes: Vec<u64>,
    /// Of each logical page, the time at which its present version dies.
    present: Vec<u64>,
}

impl Deaths {
    /// Those of a device with this many logical pages, after `now` pages that the host has written.
    pub(super) fn of(asked: &[FutureRequest], pages: usize, now: u64) -> Self {
        let pages_of = |request: &FutureRequest| u64::from(request.pages);
        let writes = asked.iter().filter(|request| request.op == HostOp::Write).map(pages_of).sum::<u64>();
        let (mut of_writes, mut present, mut time) = (vec![NEVER; writes as usize], vec![NEVER; pages], now + writes);
        for request in asked.iter().rev() {
            for lpn in (request.lpn.get()..request.lpn.get() + request.pages).rev() {
                match request.op {
                    HostOp::Write => {
                        time -= 1;
                        of_writes[(time - now) as usize] = std::mem::replace(&mut present[lpn as usize], time);
                    }
                    HostOp::Trim => present[lpn as usize] = time,
                    HostOp::Read | HostOp::Flush => {}
                }
            }
        }
        Self { begun: now, of_writes, present }
    }

    /// How long the version lives that the host writes now; none if for ever, or if that is not
    /// known.
    pub(super) fn of_next(&self, now: u64) -> Option<u64> {
        left(*self.of_writes.get(now.checked_sub(self.begun)? as usize)?, now)
    }

    /// How long a page's present version lives.
    pub(super) fn of_present(&self, lpn: Lpn, now: u64) -> Option<u64> {
        left(*self.present.get(lpn.index())?, now)
    }

    /// The host has written a page.
    pub(super) fn on_written(&mut self, lpn: Lpn, now: u64) {
        let death = now.checked_sub(self.begun).and_then(|at| self.of_writes.get(at as usize));
        if let (Some(&death), Some(present)) = (death, self.present.get_mut(lpn.index())) {
            *present = death;
        }
    }
}

fn left(death: u64, now: u64) -> Option<u64> {
    (death != NEVER).then(|| death.saturating_sub(now))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_dies_when_its_page_is_written_again_or_trimmed() {
        let asked = [(HostOp::Write, 3, 2), (HostOp::Read, 3, 2), (HostOp::Write, 4, 1), (HostOp::Trim, 3, 1)];
        let asked = asked.map(|(op, lpn, pages)| FutureRequest { op, lpn: Lpn::new(lpn), pages });
        let mut deaths = Deaths::of(&asked, 6, 100);
        let present = |deaths: &Deaths, now| [3, 4, 5].map(|lpn| deaths.of_present(Lpn::new(lpn), now));
        assert_eq!(present(&deaths, 100), [Some(0), Some(1), None], "of what the device holds");
        assert_eq!([100, 101, 102, 103].map(|now| deaths.of_next(now)), [Some(3), Some(1), None, None]);
        deaths.on_written(Lpn::new(3), 100);
        deaths.on_written(Lpn::new(4), 101);
        assert_eq!(present(&deaths, 102), [Some(1), Some(0), None]);
        assert_eq!(Deaths::default().of_next(0), None, "no future is known");
    }
}
