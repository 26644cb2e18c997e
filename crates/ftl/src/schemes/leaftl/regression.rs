//! Greedy piecewise linear regression: points in the order of their offsets, cut into segments that
//! each map as many of them as one line can within the error bound.
//!
//! A line is pinned to the middle of its first two points, and every further point narrows the
//! slopes that pass it within the bound, until none is left. Then the slope is rounded to half
//! precision and *every point is checked again* with the segment's own arithmetic. A segment that
//! fails gives up its last point.
//!
//! A predicted page is always one between those of the segment's first and last point, which were
//! written together, so that it has a tag that names its neighbours.

use crate::schemes::leaftl::segment::{Segment, Slope};

/// A page to be learned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Point {
    /// Its logical page, as an offset in the group.
    pub(super) offset: u8,
    /// Its physical page.
    pub(super) page: u32,
}

/// How far predictions may be off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ErrorBound {
    /// Pages, in one direction.
    pub(super) pages: u32,
    /// Whether a prediction may be behind the page alone, and not before it.
    pub(super) is_behind: bool,
}

/// The segment of the first of some points, as many as it can map, and how many these are.
pub(super) fn first_segment(points: &[Point], bound: ErrorBound) -> (Segment, usize) {
    debug_assert!(points.windows(2).all(|pair| pair[0].offset < pair[1].offset), "points are not in order");
    let (segment, exact) = accurate(points);
    match approximate(points, bound) {
        Some((longer, count)) if count > exact => (longer, count),
        _ => (segment, exact),
    }
}

/// The accurate segment of the first points: neighbouring pages, at a constant stride.
fn accurate(points: &[Point]) -> (Segment, usize) {
    let Point { offset: start, page } = points[0];
    let alone = (Segment { start, length: 0, slope: Slope::FLAT, intercept: page }, 1);
    let Some(second) = points.get(1) else { return alone };
    let stride = second.offset - start;
    let follows = |pair: &&[Point]| pair[1].page == pair[0].page + 1 && pair[1].offset - pair[0].offset == stride;
    let count = 1 + points.windows(2).take_while(follows).count();
    if count == 1 {
        return alone;
    }
    let slope = Slope::of_stride(stride);
    let length = points[count - 1].offset - start;
    let segment = Segment { start, length, slope, intercept: page.wrapping_sub(slope.rise(start)) };
    let is_exact = |point: &Point| segment.page(point.offset) == point.page;
    debug_assert!(points[..count].iter().all(is_exact), "{segment:?} misses one of {:?}", &points[..count]);
    (segment, count)
}

/// The approximate segment of the first points, if it has two or more.
fn approximate(points: &[Point], bound: ErrorBound) -> Option<(Segment, usize)> {
    if bound.pages == 0 {
        return None;
    }
    let mut points = points;
    loop {
        let (count, slopes) = reach(points, bound)?;
        points = &points[..count];
        let found = slopes.into_iter().flat_map(Slope::around).find_map(|slope| rechecked(points, slope, bound));
        if found.is_some() {
            return found.map(|segment| (segment, count));
        }
        points = &points[..count - 1];
    }
}

/// How many of some points a line reaches, and slopes with which it does: the middle one first.
fn reach(points: &[Point], bound: ErrorBound) -> Option<(usize, [f64; 3])> {
    let [first, second] = *points.first_chunk::<2>()?;
    let error = f64::from(bound.pages) / if bound.is_behind { 2.0 } else { 1.0 };
    // Pages from the first one on, which are exact as floats.
    let at = |point: Point| (f64::from(point.offset), f64::from(point.page - first.page));
    let ((x0, y0), (x1, y1)) = (at(first), at(second));
    let (x, y) = (f64::midpoint(x0, x1), f64::midpoint(y0, y1));
    let (mut low, mut high) = ((y1 - y0 - 2.0 * error) / (x1 - x0), (y1 - y0 + 2.0 * error) / (x1 - x0));
    let mut count = 2;
    for &point in &points[2..] {
        let (px, py) = at(point);
        let [below, above] = [py - error, py + error].map(|edge| (edge - y) / (px - x));
        if below > high || above < low {
            break;
        }
        (low, high) = (low.max(below), high.min(above));
        count += 1;
    }
    Some((count, [f64::midpoint(low, high), low, high]))
}

/// The segment of all points with a slope, if its predictions keep the bound.
fn rechecked(points: &[Point], slope: Slope, bound: ErrorBound) -> Option<Segment> {
    let [first, last] = [points[0], points[points.len() - 1]];
    let rise = |point: &Point| i64::from(slope.rise(point.offset));
    let (before, behind) = (if bound.is_behind { 0 } else { i64::from(bound.pages) }, i64::from(bound.pages));
    let mut low = i64::from(first.page) - rise(&first);
    let mut high = i64::from(last.page) - rise(&last);
    for point in points {
        let exact = i64::from(point.page) - rise(point);
        (low, high) = (low.max(exact - before), high.min(exact + behind));
    }
    // A slope may also be too steep to stay within the pages of the segment.
    (low <= high).then(|| Segment {
        start: first.offset,
        length: last.offset - first.offset,
        slope,
        intercept: i64::midpoint(low, high) as u32,
    })
}

#[cfg(test)]
mod tests {
    use random::SeededRng;

    use super::*;

    fn points(pages: &[(u8, u32)]) -> Vec<Point> {
        pages.iter().map(|&(offset, page)| Point { offset, page }).collect()
    }

    const EXACT: ErrorBound = ErrorBound { pages: 0, is_behind: false };

    #[test]
    fn a_constant_stride_makes_one_accurate_segment_and_a_change_ends_it() {
        let (segment, count) = first_segment(&points(&[(4, 90), (7, 91), (10, 92), (11, 93)]), EXACT);
        assert_eq!((count, segment.start, segment.length, segment.is_approximate()), (3, 4, 6, false));
        let (single, count) = first_segment(&points(&[(4, 90), (7, 95)]), EXACT);
        assert_eq!((count, single.length, single.page(4)), (1, 0, 90));
    }

    #[test]
    fn an_approximate_segment_is_taken_only_where_it_reaches_further() {
        let bound = ErrorBound { pages: 4, is_behind: false };
        let (even, count) = first_segment(&points(&[(4, 90), (7, 91), (10, 92)]), bound);
        assert_eq!((count, even.is_approximate()), (3, false));
        let (uneven, count) = first_segment(&points(&[(4, 90), (5, 91), (10, 92), (30, 93)]), bound);
        assert_eq!((count, uneven.is_approximate()), (4, true));
    }

    #[test]
    fn every_prediction_keeps_the_bound_and_stays_among_the_segments_pages() {
        let mut rng = SeededRng::new(7);
        let (mut approximate, mut off) = (0, 0);
        for round in 0..4000_u32 {
            let bound = ErrorBound { pages: [1, 2, 4, 16][round as usize % 4], is_behind: round.is_multiple_of(3) };
            let dense = 1 + rng.bits() % 40;
            let offsets: Vec<u8> = (0..=255).filter(|_| rng.bits() % 41 < dense).collect();
            let first = (rng.bits() % 100_000) as u32 + if round.is_multiple_of(5) { u32::MAX - 200_000 } else { 0 };
            let all: Vec<_> = offsets.iter().zip(first..).map(|(&offset, page)| Point { offset, page }).collect();
            let mut rest = &all[..];
            while !rest.is_empty() {
                let (segment, count) = first_segment(rest, bound);
                let learned = &rest[..count];
                rest = &rest[count..];
                approximate += u32::from(segment.is_approximate());
                for point in learned {
                    let predicted = segment.page(point.offset);
                    let error = i64::from(predicted) - i64::from(point.page);
                    let most = if segment.is_approximate() { i64::from(bound.pages) } else { 0 };
                    let least = if bound.is_behind { 0 } else { -most };
                    assert!((least..=most).contains(&error), "{segment:?} is off by {error} at {point:?}: {bound:?}");
                    let pages = learned[0].page..=learned[count - 1].page;
                    assert!(pages.contains(&predicted), "{segment:?} maps {point:?} to {predicted}");
                    off += u32::from(error != 0);
                }
                assert_eq!((segment.start, segment.end()), (learned[0].offset, learned[count - 1].offset));
            }
        }
        assert!(approximate > 1000 && off > 1000, "{approximate} approximate segments, {off} predictions off");
    }

    #[test]
    fn a_wider_bound_makes_fewer_segments() {
        let mut rng = SeededRng::new(9);
        let offsets: Vec<u8> = (0..=255).filter(|_| !rng.bits().is_multiple_of(3)).collect();
        let all: Vec<_> = offsets.iter().zip(500..).map(|(&offset, page)| Point { offset, page }).collect();
        let segments = [0, 1, 4, 16].map(|pages| {
            let (mut rest, mut count) = (&all[..], 0);
            while !rest.is_empty() {
                rest = &rest[first_segment(rest, ErrorBound { pages, is_behind: false }).1..];
                count += 1;
            }
            count
        });
        assert!(segments.windows(2).all(|pair| pair[0] > pair[1]) && segments[0] > 50, "{segments:?}");
    }
}
