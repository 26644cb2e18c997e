//! How the planes of a die work together: who waits, and who runs beside whom.

use ftl::Task;

use super::scheduling::queue_of;
use super::{EventTiming, READ};
use crate::timing::planes::Alike;

impl EventTiming {
    /// Sets what the page of an operation says of where it is done, if that matters.
    pub(super) fn set_place(&mut self, number: u32, task: &Task) {
        let place = self.layout.as_ref().map(|layout| layout.of_task(task));
        let details = self.tasks.details_mut(number);
        if let Some(place) = place {
            details.plane = place.plane;
        }
        if self.abilities.aligned_planes {
            details.page = place.map_or(task.page, |place| place.unit) / self.units_per_page;
        }
    }

    /// Puts an operation that is ready into a queue of its die.
    #[inline]
    pub(super) fn push(&mut self, index: usize, number: u32, standing: usize) {
        if self.planes.is_some() && self.layout.is_none() {
            let pbn = self.tasks.get(number).task.pbn.get();
            self.tasks.details_mut(number).plane = pbn / self.blocks_per_plane % self.planes_per_die;
        }
        let alike = self.alike(index, number, standing);
        let Self { dies, more, tasks, planes, .. } = self;
        let queue = queue_of(&mut dies[index].queue, &mut more[index], standing);
        match planes {
            Some(planes) => {
                queue.push_linked(tasks, number);
                planes.push(alike, tasks.details(number).plane, number);
            }
            None => queue.push(tasks, number),
        }
    }

    /// Takes an operation out of its queue that comes first there, or first on its plane.
    #[inline]
    pub(super) fn take_out(&mut self, index: usize, number: u32, standing: usize) {
        let alike = self.alike(index, number, standing);
        let Self { dies, more, tasks, planes, .. } = self;
        queue_of(&mut dies[index].queue, &mut more[index], standing).take_out(tasks, number);
        if let Some(planes) = planes {
            planes.take_out(alike, tasks.details(number).plane, number);
        }
    }

    /// What is equal for an operation and those that may run beside it.
    #[inline]
    fn alike(&self, index: usize, number: u32, standing: usize) -> Alike {
        let (class, page) = (self.tasks.get(number).class(), self.tasks.details(number).page);
        Alike::new(index as u32, class, standing, page)
    }

    /// Ready operations of the same kind and standing on other planes run beside the first, those
    /// that came first on their planes. Where planes are aligned, reads and programs do at the same
    /// page of their blocks alone. No program or erase joins before an earlier one of its block.
    /// Reads that sense and those that only move join their like, so that no plane waits for
    /// another's sense.
    pub(super) fn take_up_beside(&mut self, index: usize, first: u32, standing: usize) {
        let alike = self.alike(index, first, standing);
        let Self { planes: Some(planes), tasks, .. } = &*self else { return };
        let own = tasks.details(first).plane;
        let may_begin = |number: u32| {
            let details = tasks.details(number);
            let waits = tasks.is_under_way(details.behind) && !tasks.details(details.behind.number).has_begun;
            !(waits && tasks.get(number).class() != READ)
        };
        let only_moves = |number: u32| tasks.get(number).task.only_moves();
        let is_like_first = |&number: &u32| only_moves(number) == only_moves(first);
        let mut beside: Vec<u32> = planes.firsts(alike, own, may_begin).filter(is_like_first).collect();
        beside.sort_unstable_by_key(|&number| tasks.details(number).turn);
        for &number in &beside {
            self.take_out(index, number, standing);
        }
        for number in beside {
            self.leaves_queue(index, number, false);
            self.begin(index, number, false);
        }
    }
}
