//! Groups of paths, distinct ends of paths, and the first groups of an order.

use differential_dataflow::operators::CountTotal;
use measured::Node;

use crate::{Edges, Rows, distinct, kept, swapped};

const FIRST: usize = 100;

/// 3-Hop by its second node: multiplicities that are pairs, how many kept edges leave a node and the sum of their ends.
pub fn by_second_best<'scope>(edges: Edges<'scope>, modulus: Node) -> Rows<'scope, (Node, (isize, isize))> {
    let first = edges.clone().map(|(_, dst)| dst).arrange_by_self();
    let second = swapped(edges.clone()).arrange_by_key();
    let third = kept(edges, modulus).explode(|(src, dst)| Some((src, (1_isize, dst as isize))));
    third
        .arrange_by_self()
        .join_core(second, |_, (), b| Some(*b))
        .arrange_by_self()
        .join_core(first, |b, (), ()| Some(*b))
        .count_total()
}

/// `(G1 G2) G3`, then the groups; of G1 only the column that is joined is there.
pub fn by_second_text<'scope>(edges: Edges<'scope>, modulus: Node) -> Rows<'scope, (Node, (isize, isize))> {
    let first = edges.clone().map(|(_, dst)| dst).arrange_by_self();
    let second = edges.clone().arrange_by_key();
    let third = kept(edges, modulus).arrange_by_key();
    first
        .join_core(second, |b, (), c| Some((*c, *b)))
        .arrange_by_key()
        .join_core(third, |_, b, d| Some((*b, *d)))
        .explode(|(b, d)| Some((b, (1_isize, d as isize))))
        .count_total()
}

/// 3-Hop by its two ends, from the filter on; the nodes between are left out.
pub fn by_ends_best<'scope>(edges: Edges<'scope>, modulus: Node) -> Rows<'scope, ((Node, Node), isize)> {
    let by_end = swapped(edges.clone()).arrange_by_key();
    let third = kept(edges, modulus).arrange_by_key();
    by_end
        .clone()
        .join_core(third, |_, b, d| Some((*b, *d)))
        .arrange_by_key()
        .join_core(by_end, |_, d, a| Some((*a, *d)))
        .count_total()
}

/// `(G1 G2) G3`, then the groups; the nodes between are left out.
pub fn by_ends_text<'scope>(edges: Edges<'scope>, modulus: Node) -> Rows<'scope, ((Node, Node), isize)> {
    let third = kept(edges.clone(), modulus).arrange_by_key();
    ends_of_two(edges)
        .map(|(a, c)| (c, a))
        .arrange_by_key()
        .join_core(third, |_, a, d| Some((*a, *d)))
        .count_total()
}

/// Both ends of the paths of two edges, each as often as there are paths.
fn ends_of_two<'scope>(edges: Edges<'scope>) -> Rows<'scope, (Node, Node)> {
    let first = swapped(edges.clone()).arrange_by_key();
    first.join_core(edges.arrange_by_key(), |_, a, c| Some((*a, *c)))
}

pub fn distinct_ends<'scope>(edges: Edges<'scope>) -> Rows<'scope, (Node, Node)> {
    distinct(ends_of_two(edges))
}

/// The groups with most paths, of equals the least node. All groups are looked at where one changes; that takes less time
/// than it takes to divide them, and to hand on the first of each part.
pub fn top<'scope>(edges: Edges<'scope>) -> Rows<'scope, (Node, isize)> {
    paths_of_two(edges)
        .map(|(a, n)| ((), (-n, a)))
        .reduce(|(), rows, output| output.extend(rows.iter().take(FIRST).map(|(row, weight)| (**row, *weight))))
        .map(|((), (n, a))| (a, -n))
}

/// How many paths of two edges begin at a node.
fn paths_of_two<'scope>(edges: Edges<'scope>) -> Rows<'scope, (Node, isize)> {
    let second = edges.clone().map(|(src, _)| src).arrange_by_self();
    swapped(edges)
        .arrange_by_key()
        .join_core(second, |_, a, ()| Some(*a))
        .count_total()
}
