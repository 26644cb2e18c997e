//! How many of the cuts are tried where flash operations are limited.
//!
//! What a cut costs is what the lives after the cuts so far have cost on average, second cuts
//! included. Before each request this says which share of the cuts still to come the operations
//! still left would pay for. Second cuts take no more than first ones do, once the share is less
//! than all: a single recovery may have hundreds of them.
//!
//! All of it follows from counts of flash operations, so a trial tries the same cuts each time.

/// Lives after cuts, and the flash operations that they took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Lives {
    /// Lives after a first cut.
    first: u64,
    after_first: u64,
    after_second: u64,
}

impl Lives {
    /// Adds a life after this many cuts.
    pub(super) fn add(&mut self, cuts: usize, operations: u64) {
        if cuts == 1 {
            self.first += 1;
            self.after_first += operations;
        } else {
            self.after_second += operations;
        }
    }
}

/// Knowledge of the workload; by default none, and then all cuts are tried.
#[derive(Clone, Debug, Default)]
pub(super) struct Pacing {
    pub(super) lives: Lives,
    workload: Option<Workload>,
    /// Whether fewer cuts are tried than were asked for: now, and at any time.
    is_thin: bool,
    was_thin: bool,
}

/// What a workload takes, and a life after a cut if none was lived to its end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Workload {
    /// Programs and erases.
    pub(super) changes: u32,
    pub(super) operations: u64,
    pub(super) life: u64,
    /// Whether the cut at its end has been tried.
    pub(super) is_end_cut: bool,
}

impl Pacing {
    /// The pace where this is known.
    pub(super) fn of(workload: Workload, lives: Lives) -> Self {
        Self { lives, workload: Some(workload), ..Self::default() }
    }

    /// One in how many of the first cuts is tried at the next request, at least `asked`, with this
    /// many changes of the workload done and operations left.
    pub(super) fn first_cuts(&mut self, asked: u32, changes: u32, left: Option<u64>) -> u32 {
        let (Some(workload), Some(left)) = (self.workload, left) else { return asked };
        let to_come = u64::from(workload.changes.saturating_sub(changes));
        let own = workload.operations * to_come / u64::from(workload.changes.max(1));
        let Lives { first, after_first, after_second } = self.lives;
        let life = (after_first + after_second).checked_div(first).unwrap_or(workload.life);
        let all = 4 * to_come * life;
        let one_in = all.div_ceil(left.saturating_sub(own).max(1)).try_into().unwrap_or(u32::MAX);
        self.is_thin = asked > 0 && one_in > asked;
        self.was_thin |= self.is_thin;
        if self.is_thin { one_in } else { asked }
    }

    /// One in how many of the second cuts is tried, at least `asked`.
    pub(super) fn second_cuts(&self, asked: u32) -> u32 {
        let Lives { after_first, after_second, .. } = self.lives;
        let fewer = if self.is_thin { after_second.div_ceil(after_first.max(1)).max(1) } else { 1 };
        (u64::from(asked) * fewer).try_into().unwrap_or(u32::MAX)
    }

    /// Whether the cut at the end of the workload has been tried.
    pub(super) fn has_cut_the_end(&self) -> bool {
        self.workload.is_some_and(|workload| workload.is_end_cut)
    }

    /// Whether fewer cuts were tried than were asked for.
    pub(super) fn is_thinned(&self) -> bool {
        self.was_thin
    }
}
