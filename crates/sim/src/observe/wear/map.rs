//! The map of wear: the device drawn block by block, or in cells of neighbouring blocks where it
//! has more than are drawn.

use flash::{Pbn, Shape};

use crate::result::WearMap;

/// The most cells of a map: a square of 32 by 32 still shows each, and the maps of a dozen runs are
/// half a megabyte of results.
const MOST_CELLS: u32 = 1024;

/// Draws a map from each good block with its erases and whether it has failed since.
pub(super) fn draw(shape: Shape, blocks: impl Iterator<Item = ((Pbn, u32), bool)>) -> WearMap {
    let cells = Cells::of(shape);
    let mut drawn = vec![Cell::default(); cells.count() as usize];
    for ((pbn, erases), failed) in blocks {
        let cell = &mut drawn[cells.of_block(pbn) as usize];
        cell.blocks += 1;
        cell.erases += u64::from(erases);
        cell.max = cell.max.max(erases);
        cell.failed += u32::from(failed);
    }
    WearMap {
        planes_per_cell: cells.planes_per_cell,
        blocks_per_cell: cells.blocks_per_cell,
        mean: drawn.iter().map(|cell| cell.has_blocks().then(|| cell.erases as f64 / f64::from(cell.blocks))).collect(),
        max: drawn.iter().map(|cell| cell.has_blocks().then_some(cell.max)).collect(),
        failed: drawn.iter().map(|cell| cell.failed).collect(),
    }
}

#[derive(Clone, Default)]
struct Cell {
    blocks: u32,
    erases: u64,
    max: u32,
    failed: u32,
}

impl Cell {
    fn has_blocks(&self) -> bool {
        self.blocks > 0
    }
}

/// How blocks are shared out to cells: the fewest blocks a cell with which no more than
/// [`MOST_CELLS`] are drawn.
struct Cells {
    planes: u32,
    blocks_per_plane: u32,
    planes_per_cell: u32,
    blocks_per_cell: u32,
}

impl Cells {
    fn of(shape: Shape) -> Self {
        let (planes, blocks_per_plane) =
            (shape.channels * shape.dies_per_channel * shape.planes_per_die, shape.blocks_per_plane);
        let planes_per_cell = planes.div_ceil(MOST_CELLS);
        let cells_of_plane = (MOST_CELLS / planes).max(1);
        Self { planes, blocks_per_plane, planes_per_cell, blocks_per_cell: blocks_per_plane.div_ceil(cells_of_plane) }
    }

    fn of_each_plane(&self) -> u32 {
        self.blocks_per_plane.div_ceil(self.blocks_per_cell)
    }

    fn count(&self) -> u32 {
        self.planes.div_ceil(self.planes_per_cell) * self.of_each_plane()
    }

    fn of_block(&self, pbn: Pbn) -> u32 {
        let (plane, block) = (pbn.get() / self.blocks_per_plane, pbn.get() % self.blocks_per_plane);
        plane / self.planes_per_cell * self.of_each_plane() + block / self.blocks_per_cell
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(channels: u32, dies_per_channel: u32, planes_per_die: u32, blocks_per_plane: u32) -> Shape {
        Shape {
            channels,
            dies_per_channel,
            planes_per_die,
            blocks_per_plane,
            pages_per_block: 64,
            page_size_bytes: 4096,
        }
    }

    /// Every block erased as often as its number says; the first one is bad, the last one has
    /// failed.
    fn map(shape: Shape) -> WearMap {
        let blocks = shape.channels * shape.dies_per_channel * shape.planes_per_die * shape.blocks_per_plane;
        draw(shape, (1..blocks).map(|block| ((Pbn::new(block), block), block + 1 == blocks)))
    }

    #[test]
    fn a_small_device_is_drawn_block_by_block() {
        let drawn = map(shape(2, 1, 1, 3));
        assert_eq!((drawn.planes_per_cell, drawn.blocks_per_cell), (1, 1));
        assert_eq!(drawn.mean, [None, Some(1.0), Some(2.0), Some(3.0), Some(4.0), Some(5.0)]);
        assert_eq!(drawn.max, [None, Some(1), Some(2), Some(3), Some(4), Some(5)]);
        assert_eq!(drawn.failed, [0, 0, 0, 0, 0, 1]);
    }

    /// Two planes of 1000 blocks: two blocks a cell, and no cell of both planes.
    #[test]
    fn cells_hold_neighbours_of_one_plane() {
        let drawn = map(shape(1, 1, 2, 1000));
        assert_eq!((drawn.blocks_per_cell, drawn.mean.len()), (2, 1000));
        assert_eq!(drawn.mean[..2], [Some(1.0), Some(2.5)]);
        assert_eq!((drawn.mean[500], drawn.max[500]), (Some(1000.5), Some(1001)));
    }

    #[test]
    fn no_device_has_more_cells_than_are_drawn_and_every_block_is_in_one() {
        for shape in [
            shape(1, 1, 1, 1),
            shape(1, 1, 1, 1024),
            shape(1, 1, 1, 1025),
            shape(3, 5, 2, 77),
            shape(8, 4, 1, 972),
            shape(16, 1, 1, 8192),
            shape(256, 4, 1, 2),
            shape(256, 5, 1, 2),
            shape(512, 7, 2, 3),
        ] {
            let blocks = shape.channels * shape.dies_per_channel * shape.planes_per_die * shape.blocks_per_plane;
            let drawn = draw(shape, (0..blocks).map(|block| ((Pbn::new(block), 1), true)));
            assert!(drawn.mean.len() <= MOST_CELLS as usize, "{shape:?}: {}", drawn.mean.len());
            assert_eq!(drawn.failed.iter().sum::<u32>(), blocks, "{shape:?}");
            assert!(drawn.mean.iter().all(|&mean| mean == Some(1.0)), "{shape:?}");
            assert_eq!([drawn.max.len(), drawn.failed.len()], [drawn.mean.len(); 2], "{shape:?}");
        }
    }
}
