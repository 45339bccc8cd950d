//! The floor: paths of three edges and triangles by adjacency lists, written for these queries and no other.
//!
//! An edge `u -> v` that comes or goes changes the paths that have it first, second or third. Edges are handled one
//! after the other, so each changed path is met once. In a commit those that go are handled first: a path that went had
//! one of them, a path that comes has none, so where no edge is there twice nothing cancels and the delta is net as it
//! is made. Where one is, the delta is sorted and added up.
//!
//! Plan `paths` writes every changed path into a buffer. Plan `counts` keeps for each node how many edges enter it and
//! how many edges that the filter keeps leave it, and only says how many paths an edge changes.

mod triangles;

use std::ops::AddAssign;

use measured::{Change, Clock, Job, Node, Tally};
use triangles::Triangles;

fn main() {
    let job = Job::from_arguments();
    let graph = Graph {
        modulus: job.modulus,
        ..Graph::default()
    };
    match (job.query.as_str(), job.plan.as_str()) {
        ("3-Hop", "paths") => run(&job, graph, true, paths),
        ("3-Hop", "counts") => run(&job, graph, false, counts),
        ("3-Hop COUNT(*)", "counts") => run(&job, graph, true, total),
        ("triangle count", "counts") => run(&job, Triangles::default(), true, triangles::total),
        _ => job.refuse(),
    }
}

/// Loads, then measures; `commit` applies net changes to the graph and tells what they did.
fn run<G>(job: &Job, mut graph: G, hashed: bool, commit: impl Fn(&mut G, &[Change], &mut Tally)) {
    let (mut loaded, mut delta) = (Tally::default(), Tally::default());
    for changes in job.load() {
        commit(&mut graph, &net(changes), &mut loaded);
    }
    let clock = Clock::start();
    for changes in job.commits() {
        commit(&mut graph, &net(changes), &mut delta);
    }
    job.print(&clock.stop(), loaded, delta, hashed);
}

/// What is left of changes when those of the same edge are added up; edges that go come first.
fn net(changes: &[Change]) -> Vec<Change> {
    let mut left = added_up(changes.iter().map(|change| (change.edge, change.weight)).collect());
    left.sort_by_key(|one| one.1);
    let singles = left.into_iter().flat_map(|(edge, weight)| {
        std::iter::repeat_n(
            Change {
                edge,
                weight: weight.signum(),
            },
            weight.unsigned_abs(),
        )
    });
    singles.collect()
}

fn paths(graph: &mut Graph, changes: &[Change], tally: &mut Tally) {
    let mut delta = std::mem::take(&mut graph.delta);
    let twice = graph.twice > 0;
    for change in changes {
        graph.change(change, |path| delta.push((path, change.weight as i32)));
    }
    if twice || graph.twice > 0 {
        delta = added_up(delta);
    }
    for (path, weight) in delta.drain(..) {
        tally.add(path.map(i64::from), weight as isize);
    }
    graph.delta = delta;
}

fn added_up<K: Copy + Ord, W: AddAssign>(mut rows: Vec<(K, W)>) -> Vec<(K, W)> {
    rows.sort_unstable_by_key(|row| row.0);
    let mut left: Vec<(K, W)> = Vec::with_capacity(rows.len());
    for (row, weight) in rows {
        match left.last_mut() {
            Some(last) if last.0 == row => last.1 += weight,
            _ => left.push((row, weight)),
        }
    }
    left
}

fn counts(graph: &mut Graph, changes: &[Change], tally: &mut Tally) {
    for change in changes {
        let changed = graph.count(change);
        tally.rows += changed;
        tally.number += changed as i64 * change.weight as i64;
    }
}

fn total(graph: &mut Graph, changes: &[Change], tally: &mut Tally) {
    let before = graph.total;
    let mut after = before.unwrap_or(0);
    for change in changes {
        after += graph.count(change) as i64 * change.weight as i64;
    }
    graph.total = Some(after);
    tally.replace(before, after);
}

/// Who points where; nodes are places.
#[derive(Default)]
struct Graph {
    modulus: Node,
    total: Option<i64>,
    /// The delta that is being written: the memory of the one before.
    delta: Vec<([Node; 4], i32)>,
    /// Edges that came while the same edge was there, less those that went and left one.
    twice: isize,
    from: Vec<Vec<Node>>,
    to: Vec<Vec<Node>>,
    kept: Vec<u64>,
}

impl Graph {
    /// Applies an edge that comes or goes and gives each path that it changes.
    ///
    /// The delta of a product, one factor after the other: the lists of what enters a node change after the paths that
    /// have the edge first, the lists of what leaves one before those that have it third. The edge is so counted once
    /// where a path has it twice.
    fn change(&mut self, change: &Change, mut give: impl FnMut([Node; 4])) {
        let (u, v) = change.edge;
        self.reach(u.max(v));
        for &c in &self.to[v as usize] {
            for &d in self.to[c as usize].iter().filter(|&d| d % self.modulus == 0) {
                give([u, v, c, d]);
            }
        }
        let others = self.to[u as usize].iter().filter(|&&other| other == v).count();
        self.twice += change.weight * isize::from(others > usize::from(change.weight < 0));
        alter(&mut self.from[v as usize], u, change.weight);
        for &a in &self.from[u as usize] {
            for &d in self.to[v as usize].iter().filter(|&d| d % self.modulus == 0) {
                give([a, u, v, d]);
            }
        }
        alter(&mut self.to[u as usize], v, change.weight);
        if v % self.modulus == 0 {
            for &b in &self.from[u as usize] {
                for &a in &self.from[b as usize] {
                    give([a, b, u, v]);
                }
            }
        }
    }

    /// As `change`, but says only how many paths there are.
    fn count(&mut self, change: &Change) -> u64 {
        let (u, v) = change.edge;
        self.reach(u.max(v));
        let first: u64 = self.to[v as usize].iter().map(|&c| self.kept[c as usize]).sum();
        alter(&mut self.from[v as usize], u, change.weight);
        let second = self.from[u as usize].len() as u64 * self.kept[v as usize];
        alter(&mut self.to[u as usize], v, change.weight);
        if v % self.modulus != 0 {
            return first + second;
        }
        self.kept[u as usize] = self.kept[u as usize].wrapping_add_signed(change.weight as i64);
        let third: usize = self.from[u as usize].iter().map(|&b| self.from[b as usize].len()).sum();
        first + second + third as u64
    }

    /// Makes place for nodes up to this one.
    fn reach(&mut self, node: Node) {
        let places = node as usize + 1;
        if self.from.len() < places {
            self.from.resize_with(places, Vec::new);
            self.to.resize_with(places, Vec::new);
            self.kept.resize(places, 0);
        }
    }
}

/// Adds a neighbour or takes it away; the order of a list means nothing.
fn alter(list: &mut Vec<Node>, node: Node, weight: isize) {
    if weight > 0 {
        list.push(node);
    } else {
        let place = list
            .iter()
            .position(|&other| other == node)
            .expect("an edge that goes was there");
        list.swap_remove(place);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All paths of three edges, with the third end divisible by the modulus, by trying all triples.
    fn all(edges: &[(Node, Node)], modulus: Node) -> Tally {
        let mut tally = Tally::default();
        for one in edges {
            for two in edges.iter().filter(|two| two.0 == one.1) {
                for three in edges.iter().filter(|three| three.0 == two.1 && three.1 % modulus == 0) {
                    tally.add([one.0, two.0, three.0, three.1].map(i64::from), 1);
                }
            }
        }
        tally
    }

    #[test]
    fn changes_add_up_to_all_paths() {
        let mut graph = Graph {
            modulus: 2,
            ..Graph::default()
        };
        let mut counted = Graph {
            modulus: 2,
            ..Graph::default()
        };
        let (mut tally, mut number) = (Tally::default(), Tally::default());
        let (mut edges, mut seed) = (Vec::new(), 7_u64);
        for _ in 0..400 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let edge = ((seed >> 33) as Node % 6, (seed >> 45) as Node % 6);
            let weight = match edges.iter().position(|&other| other == edge) {
                Some(place) => (edges.swap_remove(place), -1).1,
                None => (edges.push(edge), 1).1,
            };
            let changes = [Change { edge, weight }];
            paths(&mut graph, &changes, &mut tally);
            counts(&mut counted, &changes, &mut number);
            let expected = all(&edges, 2);
            assert_eq!((tally.number, tally.hash), (expected.number, expected.hash));
            assert_eq!((number.number, number.rows), (tally.number, tally.rows));
        }
        assert!(tally.rows > 4_000);
    }

    #[test]
    fn deltas_are_net_where_an_edge_is_there_twice() {
        let mut graph = Graph {
            modulus: 1,
            ..Graph::default()
        };
        let change = |edge, weight| Change { edge, weight };
        let mut commit = |changes: &[Change]| {
            let mut tally = Tally::default();
            paths(&mut graph, &net(changes), &mut tally);
            (tally.rows, tally.number)
        };
        let (one, two) = ((1, 2), (2, 3));
        assert_eq!(commit(&[change(one, 2), change(two, 1), change((3, 4), 1)]), (2, 2));
        assert_eq!(commit(&[change(one, -1), change(two, 1)]), (0, 0));
        assert_eq!(commit(&[change(two, -2)]), (2, -2));
        assert_eq!(graph.twice, 0);
    }

    #[test]
    fn edges_that_come_and_go_are_no_changes() {
        let change = |weight| Change { edge: (1, 2), weight };
        assert!(net(&[change(1), change(-1)]).is_empty());
        assert_eq!(net(&[change(1), change(1)]).len(), 2);
    }
}
