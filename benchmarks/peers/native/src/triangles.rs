//! How many triangles there are, by the intersection of two lists of neighbours.
//!
//! With M the matrix of how often each edge is there, the rows of `a -> b -> c -> a` are the trace of M³. An edge
//! `u -> v` that comes or goes changes that by three times the number of paths of two edges from v to u; where u is v, the
//! edge can be in a triangle twice and thrice as well.

use measured::{Change, Node, Tally};

/// Who points where; lists are sorted, and have a neighbour as often as the edge is there.
#[derive(Default)]
pub struct Triangles {
    total: Option<i64>,
    from: Vec<Vec<Node>>,
    to: Vec<Vec<Node>>,
}

/// Applies net changes, and tells what became of the number.
pub fn total(triangles: &mut Triangles, changes: &[Change], tally: &mut Tally) {
    let before = triangles.total;
    let more: i64 = changes.iter().map(|change| triangles.change(change)).sum();
    let after = before.unwrap_or(0) + more;
    triangles.total = Some(after);
    tally.replace(before, after);
}

impl Triangles {
    /// Applies an edge that comes or goes; how many triangles more there are.
    fn change(&mut self, change: &Change) -> i64 {
        let (u, v) = change.edge;
        let (weight, places) = (change.weight as i64, u.max(v) as usize + 1);
        if self.to.len() < places {
            self.from.resize_with(places, Vec::new);
            self.to.resize_with(places, Vec::new);
        }
        let (out, into) = (&self.to[v as usize], &self.from[u as usize]);
        let mut more = 3 * weight * common(out, into);
        if u == v {
            more += 3 * range(out, u).len() as i64 + weight;
        }
        alter(&mut self.to[u as usize], v, weight);
        alter(&mut self.from[v as usize], u, weight);
        more
    }
}

/// How many pairs of equal neighbours two lists have: each of the shorter is looked up in the longer.
fn common(one: &[Node], other: &[Node]) -> i64 {
    let (few, many) = if one.len() < other.len() {
        (one, other)
    } else {
        (other, one)
    };
    few.iter().map(|node| range(many, *node).len() as i64).sum()
}

/// The places of a node in a sorted list.
fn range(list: &[Node], node: Node) -> std::ops::Range<usize> {
    let first = list.partition_point(|other| *other < node);
    first..first + list[first..].iter().take_while(|other| **other == node).count()
}

fn alter(list: &mut Vec<Node>, node: Node, weight: i64) {
    let place = list.partition_point(|other| *other < node);
    if weight > 0 {
        list.insert(place, node);
    } else {
        assert_eq!(list.remove(place), node, "an edge that goes was there");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_add_up_to_all_triangles() {
        let (mut triangles, mut tally) = (Triangles::default(), Tally::default());
        let (mut edges, mut seed, mut most) = (Vec::new(), 7_u64, 0);
        for _ in 0..400 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let edge = ((seed >> 33) as Node % 4, (seed >> 45) as Node % 4);
            let weight = if (seed >> 60) < 9 || !edges.contains(&edge) {
                1
            } else {
                -1
            };
            match edges.iter().position(|&other| other == edge).filter(|_| weight < 0) {
                Some(place) => drop(edges.swap_remove(place)),
                None => edges.push(edge),
            }
            total(&mut triangles, &[Change { edge, weight }], &mut tally);
            let times = |u, v| edges.iter().filter(|&&other| other == (u, v)).count() as i64;
            let nodes = || 0..4;
            let expected = nodes()
                .flat_map(|a| nodes().flat_map(move |b| nodes().map(move |c| (a, b, c))))
                .map(|(a, b, c)| times(a, b) * times(b, c) * times(c, a))
                .sum();
            assert_eq!(triangles.total, Some(expected));
            most = most.max(expected);
        }
        assert!(most > 1_000);
        assert_eq!(tally.number, 1);
    }
}
