//! Belady's choice: OPT evicts the page whose next use is farthest away (Wang 2013 6.5.1, OPT).
//!
//! A translation page is used by each access to a page of its group. Of a data page the use that
//! counts is the next change: a write that replaces the version in RAM, or that goes around RAM, or
//! a trim, all spare that version its program. A read does not bring a page into RAM, so a page
//! that leaves misses all reads up to its next write however soon the first of them comes. With
//! this no order has more of both together: hits of translation pages, and versions of data that
//! are never programmed. Of pages that are never changed again the one that is read last leaves,
//! which costs none of these.
//!
//! So this is a bound on hits and on programs, not on time: a hit of a translation page spares a
//! read, a version a program, and a read if it is loaded, and the order weighs all alike. A version
//! that a flush has written counts like a newer one.
//!
//! What the host will ask is told by the shell (`Mapping::set_future`), also of what is in RAM by
//! then. Until then nothing is known: all counts as never used.

use std::collections::BTreeSet;

use flash::Lpn;
use host::HostOp;

use super::victims::Order;
use crate::api::mapping::FutureRequest;
use crate::api::request::Request;
use crate::engines::shared_ram::data_cache::DataCache;
use crate::engines::shared_ram::policy::{Evict, Victim};

/// A moment: the number of a request, and the position in it.
type Moment = u64;

const NEVER: Moment = Moment::MAX;

/// When what is in RAM is used: a group, or a data page that is changed; and when a page is read
/// that is not changed again.
type Next = (Moment, Moment);

/// The moment at which a request comes to a page; the page's translation page is used just before
/// it.
fn moment(number: u64, position: u32) -> Moment {
    number << 32 | u64::from(position) << 1 | 1
}

/// The order of Belady.
#[derive(Clone, Debug)]
pub(super) struct Opt {
    group_pages: u32,
    /// For each group and each request that uses it, when it does first; in order.
    group_uses: Vec<(u32, Moment)>,
    /// For each page when it is written or trimmed; in order.
    changes: Vec<(Lpn, Moment)>,
    /// For each page when it is read; in order.
    reads: Vec<(Lpn, Moment)>,
    number: u64,
    request: Request,
    /// Next use, whether it is data, and the place or the group.
    order: BTreeSet<(Next, bool, u32)>,
    next_of_group: Vec<Option<Next>>,
    next_of_place: Vec<Next>,
    members: Vec<u32>,
}

impl Opt {
    /// Nothing is known and nothing in RAM, which has room for this many pages.
    pub(super) fn new(room_pages: usize, groups: u32, group_pages: u32) -> Self {
        Self {
            group_pages,
            group_uses: Vec::new(),
            changes: Vec::new(),
            reads: Vec::new(),
            number: 0,
            request: Request::new(Lpn::new(0), 1),
            order: BTreeSet::new(),
            next_of_group: vec![None; groups as usize],
            next_of_place: vec![(NEVER, NEVER); room_pages],
            members: vec![0; groups as usize],
        }
    }

    fn now(&self, lpn: Lpn) -> Moment {
        moment(self.number, lpn.get().wrapping_sub(self.request.lpn.get()))
    }

    /// When a group is used after the access to a page.
    fn next_use(&self, group: u32, lpn: Lpn) -> Moment {
        let beyond = u64::from(lpn.get()) + 1;
        let of_request = u64::from(self.request.lpn.get()) + u64::from(self.request.pages);
        if beyond < of_request && beyond / u64::from(self.group_pages) == group.into() {
            return self.now(lpn) + 1;
        }
        self.use_after_request(group)
    }

    /// When a group is used by a later request.
    fn use_after_request(&self, group: u32) -> Moment {
        let later = self.group_uses.partition_point(|&each| each < (group, (self.number + 1) << 32));
        self.group_uses.get(later).filter(|&&(of, _)| of == group).map_or(NEVER, |&(_, at)| at)
    }

    /// When a data page is changed after a moment; if never, when it is read first.
    fn next_of_page(&self, lpn: Lpn, now: Moment) -> Next {
        let after = |uses: &[(Lpn, Moment)]| {
            let later = uses.get(uses.partition_point(|&each| each <= (lpn, now)));
            later.filter(|&&(of, _)| of == lpn).map(|&(_, at)| at)
        };
        match after(&self.changes) {
            Some(change) => (change, NEVER),
            None => (NEVER, after(&self.reads).unwrap_or(NEVER)),
        }
    }

    fn place_at(&mut self, place: u32, next: Next) {
        self.next_of_place[place as usize] = next;
        self.order.insert((next, true, place));
    }
}

impl Order for Opt {
    fn set_future(&mut self, held: &DataCache, future: &[FutureRequest]) {
        (self.number, self.group_uses, self.changes, self.reads) = (0, Vec::new(), Vec::new(), Vec::new());
        for (number, &FutureRequest { op, lpn, pages }) in (1..).zip(future) {
            let (first, end) = (lpn.get(), lpn.get() + pages);
            for group in first / self.group_pages..=(end - 1) / self.group_pages {
                let position = (group * self.group_pages).max(first) - first;
                self.group_uses.push((group, moment(number, position) - 1));
            }
            let uses = if op == HostOp::Read { &mut self.reads } else { &mut self.changes };
            uses.extend((first..end).map(|lpn| (Lpn::new(lpn), moment(number, lpn - first))));
        }
        self.group_uses.sort_unstable();
        self.changes.sort_unstable();
        self.reads.sort_unstable();
        self.order.clear();
        for (place, lpn) in held.iter().filter_map(|each| Some((held.find(each.lpn)?, each.lpn))) {
            self.place_at(place, self.next_of_page(lpn, 0));
        }
        for group in 0..self.next_of_group.len() as u32 {
            if self.next_of_group[group as usize].is_some() {
                let next = (self.use_after_request(group), NEVER);
                self.next_of_group[group as usize] = Some(next);
                self.order.insert((next, false, group));
            }
        }
    }

    fn begins(&mut self, request: &Request) {
        self.number += 1;
        self.request = *request;
    }

    fn on_lookup(&mut self, group: u32, lpn: Lpn) {
        let next = (self.next_use(group, lpn), NEVER);
        if let Some(before) = self.next_of_group[group as usize].replace(next) {
            self.order.remove(&(before, false, group));
        }
        self.order.insert((next, false, group));
    }

    fn on_inserted(&mut self, group: u32, place: u32, lpn: Lpn) {
        self.members[group as usize] += 1;
        self.place_at(place, self.next_of_page(lpn, self.now(lpn)));
    }

    fn on_used(&mut self, _group: u32, place: u32, lpn: Lpn) {
        self.order.remove(&(self.next_of_place[place as usize], true, place));
        self.place_at(place, self.next_of_page(lpn, self.now(lpn)));
    }

    fn on_left(&mut self, group: u32, place: u32, _lpn: Lpn) {
        self.members[group as usize] -= 1;
        self.order.remove(&(self.next_of_place[place as usize], true, place));
    }

    fn evict(&mut self, group: u32) {
        if let Some(next) = self.next_of_group[group as usize].take() {
            self.order.remove(&(next, false, group));
        }
    }

    fn next(&mut self, held: &DataCache, in_use: Option<u32>) -> Option<Victim> {
        let may_leave = |&&(_, is_data, which): &&(Next, bool, u32)| {
            is_data || self.members[which as usize] == 0 && Some(which) != in_use
        };
        let &(_, is_data, which) = self.order.iter().rev().find(may_leave)?;
        let what = if is_data { Evict::Data(held.at(which).lpn) } else { Evict::Translation(which) };
        Some(Victim { what, among: 0 })
    }
}
