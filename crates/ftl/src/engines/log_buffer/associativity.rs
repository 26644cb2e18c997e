//! A(L), the associativity of log blocks: how many logical blocks have a newest page there.
//!
//! It is what a full merge of the block costs (A-SAST eq. 1). Each physical block has the list of its owners with their pages; a log
//! block has few owners, at most as many as pages, so the list is searched from end to end.

use flash::{Geometry, Lbn, Lpn, Pbn, Ppn};

/// The owners of the newest pages in each block.
#[derive(Clone, Debug)]
pub struct Associativity {
    geometry: Geometry,
    owners: Vec<Vec<(Lbn, u32)>>,
}

impl Associativity {
    /// No block holds a newest page.
    pub fn new(geometry: Geometry) -> Self {
        Self { geometry, owners: vec![Vec::new(); geometry.blocks() as usize] }
    }

    /// The newest log page of a logical page was one and is another.
    #[inline]
    pub fn moved(&mut self, lpn: Lpn, from: Option<Ppn>, to: Option<Ppn>) {
        let (lbn, _) = self.geometry.split_logical(lpn);
        if let Some(ppn) = from {
            self.removed(self.geometry.block_of(ppn), lbn);
        }
        if let Some(ppn) = to {
            self.added(self.geometry.block_of(ppn), lbn);
        }
    }

    fn added(&mut self, pbn: Pbn, lbn: Lbn) {
        let owners = &mut self.owners[pbn.index()];
        match owners.iter_mut().rfind(|(owner, _)| *owner == lbn) {
            Some((_, pages)) => *pages += 1,
            None => owners.push((lbn, 1)),
        }
    }

    fn removed(&mut self, pbn: Pbn, lbn: Lbn) {
        let owners = &mut self.owners[pbn.index()];
        let Some(at) = owners.iter().position(|&(owner, _)| owner == lbn) else { return };
        owners[at].1 -= 1;
        if owners[at].1 == 0 {
            owners.remove(at);
        }
    }

    /// How many logical blocks have a newest page in a block.
    #[inline]
    pub fn of(&self, pbn: Pbn) -> u32 {
        self.owners[pbn.index()].len() as u32
    }

    /// Which ones, each with its pages.
    pub fn owners(&self, pbn: Pbn) -> &[(Lbn, u32)] {
        &self.owners[pbn.index()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flash::Shape;

    /// Against the definition, recounted from a map of all pages.
    #[test]
    fn it_counts_the_logical_blocks_of_the_newest_pages() {
        let geometry = Geometry::new(Shape {
            channels: 1,
            dies_per_channel: 1,
            planes_per_die: 1,
            blocks_per_plane: 4,
            pages_per_block: 4,
            page_size_bytes: 512,
        })
        .expect("valid");
        let mut associativity = Associativity::new(geometry);
        let mut map: Vec<Option<Ppn>> = vec![None; 16];
        let mut state = 1_u32;
        for _ in 0..500 {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let (lpn, place) = ((state >> 8) % 16, (state >> 16) % 20);
            let to = (place < 16).then(|| Ppn::new(place)).filter(|to| !map.contains(&Some(*to)));
            associativity.moved(Lpn::new(lpn), map[lpn as usize], to);
            map[lpn as usize] = to;
            for pbn in (0..4).map(Pbn::new) {
                let here = |at: &Option<Ppn>| at.is_some_and(|at| geometry.block_of(at) == pbn);
                let mut owners: Vec<usize> = (0..16).filter(|&lpn| here(&map[lpn])).map(|lpn| lpn / 4).collect();
                assert_eq!(
                    associativity.owners(pbn).iter().map(|(_, pages)| *pages as usize).sum::<usize>(),
                    owners.len()
                );
                owners.dedup();
                assert_eq!(associativity.of(pbn) as usize, owners.len());
            }
        }
    }
}
