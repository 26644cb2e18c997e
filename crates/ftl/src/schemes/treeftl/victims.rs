//! What leaves the tree next.
//!
//! All orders know the groups in RAM and the data pages of each, by place and by logical page. A
//! group that has data pages never leaves.

use std::collections::BTreeSet;
use std::fmt;

use flash::Lpn;

use crate::api::mapping::FutureRequest;
use crate::api::parameter::Values;
use crate::api::request::Request;
use crate::engines::shared_ram::data_cache::DataCache;
use crate::engines::shared_ram::policy::{Evict, Victim};
use crate::linked_lists::LinkedLists;
use crate::prefetch::PrefetchStage;

/// An order in which pages leave.
pub(super) trait Order: fmt::Debug + Send {
    /// Told of all that the host will ask, and of the data pages that are in RAM before it does.
    fn set_future(&mut self, _held: &DataCache, _asked: &[FutureRequest]) {}

    /// Called before each host request.
    fn begins(&mut self, _request: &Request) {}

    /// A group's translation page was used for a page; it comes if it was not there.
    fn on_lookup(&mut self, group: u32, lpn: Lpn);

    /// A data page came to a place.
    fn on_inserted(&mut self, group: u32, place: u32, lpn: Lpn);

    /// A data page was used.
    fn on_used(&mut self, group: u32, place: u32, lpn: Lpn);

    /// A data page leaves.
    fn on_left(&mut self, group: u32, place: u32, lpn: Lpn);

    /// A translation page leaves, which has no data pages.
    fn evict(&mut self, group: u32);

    /// What leaves next, if there is anything; not the translation page of the group in use, which
    /// by use is the last anyway.
    fn next(&mut self, held: &DataCache, in_use: Option<u32>) -> Option<Victim>;

    /// Asks for the memory that using the data page at a place will touch.
    fn prefetch(&self, _place: u32, _foresight: PrefetchStage) {}

    /// Asks for the memory that use of a group will touch, and a page that comes to it.
    fn prefetch_group(&self, _group: u32) {}

    /// The place of the data page that leaves after the one at a place if nothing is used before,
    /// where that can be told at once.
    fn leaves_after(&self, _place: u32) -> Option<u32> {
        None
    }
}

/// The order that `victims` asks for, if it looks back, in RAM with room for this many pages, over
/// this many groups of this many logical pages each.
pub(super) fn from_values(values: &Values, room_pages: usize, groups: u32, group_pages: u32) -> Box<dyn Order> {
    match values.word("victims") {
        "latte" => Box::new(LastAccessTable::new(groups, group_pages)),
        "page" => Box::new(ByPage::new(room_pages, groups)),
        _ => Box::new(ByGroup::new(room_pages, groups)),
    }
}

/// What an order takes in RAM with room for this many pages, over this many groups: links of 4 B;
/// with `latte` 4 B for the time and 2 B for the offset. No controller can have `opt`.
pub(super) fn bytes(values: &Values, room_pages: u64, groups: u64) -> u64 {
    let groups = groups.min(room_pages);
    match values.word("victims") {
        "opt" => 0,
        "latte" => 6 * groups,
        "page" => 8 * room_pages,
        _ => 8 * room_pages + 8 * groups,
    }
}

/// Groups in the order in which they were used, with how many data pages each has.
#[derive(Clone, Debug)]
struct Groups {
    order: LinkedLists,
    members: Vec<u64>,
    count: u64,
}

impl Groups {
    fn new(groups: u32) -> Self {
        Self { order: LinkedLists::new(groups as usize, 1), members: vec![0; groups as usize], count: 0 }
    }

    fn on_lookup(&mut self, group: u32) {
        if self.order.chain_of(group).is_none() {
            self.order.push_back(0, group);
            self.count += 1;
        } else {
            self.order.move_back(0, group);
        }
    }

    fn evict(&mut self, group: u32) {
        self.order.remove(group);
        self.count -= 1;
    }

    /// The group used longest ago, what leaves of it if it has pages, and the items to be looked at
    /// for that.
    fn next(&self, page: impl FnOnce(u32) -> Option<Lpn>) -> Option<Victim> {
        let group = self.order.front(0)?;
        let what = page(group).map_or(Evict::Translation(group), Evict::Data);
        Some(Victim { what, among: self.count + self.members[group as usize] })
    }
}

/// Two levels of lists: groups by use, and the pages of each by use (Wang 2013 6.3.2).
#[derive(Clone, Debug)]
struct ByGroup {
    groups: Groups,
    pages: LinkedLists,
}

impl ByGroup {
    fn new(room_pages: usize, groups: u32) -> Self {
        Self { groups: Groups::new(groups), pages: LinkedLists::new(room_pages, groups as usize) }
    }
}

impl Order for ByGroup {
    fn on_lookup(&mut self, group: u32, _lpn: Lpn) {
        self.groups.on_lookup(group);
    }

    fn on_inserted(&mut self, group: u32, place: u32, _lpn: Lpn) {
        self.pages.push_back(group, place);
        self.groups.members[group as usize] += 1;
    }

    fn on_used(&mut self, group: u32, place: u32, _lpn: Lpn) {
        self.pages.move_back(group, place);
    }

    fn on_left(&mut self, group: u32, place: u32, _lpn: Lpn) {
        self.pages.remove(place);
        self.groups.members[group as usize] -= 1;
    }

    fn evict(&mut self, group: u32) {
        self.groups.evict(group);
    }

    fn next(&mut self, held: &DataCache, _in_use: Option<u32>) -> Option<Victim> {
        self.groups.next(|group| self.pages.front(group).map(|place| held.at(place).lpn))
    }

    #[inline]
    fn prefetch(&self, place: u32, stage: PrefetchStage) {
        match stage {
            PrefetchStage::Far => {}
            PrefetchStage::Near => self.pages.prefetch(place),
            PrefetchStage::Next => self.pages.prefetch_neighbours(place),
        }
    }

    #[inline]
    fn prefetch_group(&self, group: u32) {
        self.groups.order.prefetch(group);
        self.pages.prefetch_ends(group);
    }

    #[inline]
    fn leaves_after(&self, place: u32) -> Option<u32> {
        self.pages.after(place).or_else(|| {
            let group = self.groups.order.after(self.pages.chain_of(place)?)?;
            self.pages.front(group)
        })
    }
}

/// The table of last access times (Wang 2013 6.3.1): groups by use; of a group its pages by offset,
/// the one used last after all others. Times are kept as an order, which is the same.
#[derive(Clone, Debug)]
struct LastAccessTable {
    groups: Groups,
    last_used: Vec<Option<Lpn>>,
    pages: BTreeSet<Lpn>,
    group_pages: u32,
}

impl LastAccessTable {
    fn new(groups: u32, group_pages: u32) -> Self {
        Self {
            groups: Groups::new(groups),
            last_used: vec![None; groups as usize],
            pages: BTreeSet::new(),
            group_pages,
        }
    }
}

impl Order for LastAccessTable {
    fn on_lookup(&mut self, group: u32, _lpn: Lpn) {
        self.groups.on_lookup(group);
    }

    fn on_inserted(&mut self, group: u32, place: u32, lpn: Lpn) {
        self.pages.insert(lpn);
        self.groups.members[group as usize] += 1;
        self.on_used(group, place, lpn);
    }

    fn on_used(&mut self, group: u32, _place: u32, lpn: Lpn) {
        self.last_used[group as usize] = Some(lpn);
    }

    fn on_left(&mut self, group: u32, _place: u32, lpn: Lpn) {
        self.pages.remove(&lpn);
        self.groups.members[group as usize] -= 1;
    }

    fn evict(&mut self, group: u32) {
        self.groups.evict(group);
    }

    fn next(&mut self, _held: &DataCache, _in_use: Option<u32>) -> Option<Victim> {
        self.groups.next(|group| {
            let first = group * self.group_pages;
            let mut pages = self.pages.range(Lpn::new(first)..Lpn::new(first + self.group_pages)).copied();
            let lowest = pages.next()?;
            if Some(lowest) == self.last_used[group as usize] { pages.next().or(Some(lowest)) } else { Some(lowest) }
        })
    }
}

/// One list of all pages by use (Tree-PL of Wang 2013 6.5.3). A translation page counts as used
/// after each of its data pages, so it is never before them.
#[derive(Clone, Debug)]
struct ByPage {
    pages: LinkedLists,
    /// The first node that is a data page.
    groups: u32,
    count: u64,
}

impl ByPage {
    fn new(room_pages: usize, groups: u32) -> Self {
        Self { pages: LinkedLists::new(groups as usize + room_pages, 1), groups, count: 0 }
    }
}

impl Order for ByPage {
    fn on_lookup(&mut self, group: u32, _lpn: Lpn) {
        if self.pages.chain_of(group).is_none() {
            self.pages.push_back(0, group);
            self.count += 1;
        } else {
            self.pages.move_back(0, group);
        }
    }

    fn on_inserted(&mut self, group: u32, place: u32, _lpn: Lpn) {
        self.pages.push_back(0, self.groups + place);
        self.pages.move_back(0, group);
        self.count += 1;
    }

    fn on_used(&mut self, group: u32, place: u32, _lpn: Lpn) {
        self.pages.move_back(0, self.groups + place);
        self.pages.move_back(0, group);
    }

    fn on_left(&mut self, _group: u32, place: u32, _lpn: Lpn) {
        self.pages.remove(self.groups + place);
        self.count -= 1;
    }

    fn evict(&mut self, group: u32) {
        self.pages.remove(group);
        self.count -= 1;
    }

    fn next(&mut self, held: &DataCache, _in_use: Option<u32>) -> Option<Victim> {
        let node = self.pages.front(0)?;
        let what =
            node.checked_sub(self.groups).map_or(Evict::Translation(node), |place| Evict::Data(held.at(place).lpn));
        Some(Victim { what, among: self.count })
    }
}

#[cfg(test)]
mod tests;
