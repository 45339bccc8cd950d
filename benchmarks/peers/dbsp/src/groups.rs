//! Groups of paths, distinct ends of paths, and the first groups of an order.

use dbsp::utils::{Tup2, Tup3};
use measured::Node;

use crate::{Edge, Keyed, Rows, by_end, by_source, ends, kept, sources};

const FIRST: usize = 100;

/// 3-Hop by its second node: a linear aggregate of the paths of two edges from the filter on, times the edges that enter.
pub fn by_second_best(edges: &Rows<Edge>, modulus: Node) -> Rows<Tup3<Node, i64, i64>> {
    let entering = edges.map(|Tup2(_, dst)| *dst).weighted_count();
    summed(&by_end(edges).join_index(&by_source(&kept(edges, modulus)), |_, b, d| Some((*b, *d))))
        .join(&entering, |b, Tup2(n, s), times| Tup3(*b, n * times, s * times))
}

/// `(G1 G2) G3`, then the groups; of G1 only the column that is joined is there.
pub fn by_second_text(edges: &Rows<Edge>, modulus: Node) -> Rows<Tup3<Node, i64, i64>> {
    let paths = ends(edges)
        .join_index(&by_source(edges), |b, (), c| Some((*c, *b)))
        .join_index(&by_source(&kept(edges, modulus)), |_, b, d| Some((*b, *d)));
    summed(&paths).map(|(b, Tup2(n, s))| Tup3(*b, *n, *s))
}

/// The number of values of each key, and their sum.
fn summed(rows: &Keyed<Node>) -> Keyed<Tup2<i64, i64>> {
    rows.aggregate_linear(|d| Tup2(1_i64, i64::from(*d)))
}

/// 3-Hop by its two ends, from the filter on; the nodes between are left out.
pub fn by_ends_best(edges: &Rows<Edge>, modulus: Node) -> Rows<Tup3<Node, Node, i64>> {
    let by_end = by_end(edges);
    by_end
        .join_index(&by_source(&kept(edges, modulus)), |_, b, d| Some((*b, *d)))
        .join(&by_end, |_, d, a| Tup2(*a, *d))
        .weighted_count()
        .map(|(Tup2(a, d), n)| Tup3(*a, *d, *n))
}

/// `(G1 G2) G3`, then the groups; the nodes between are left out.
pub fn by_ends_text(edges: &Rows<Edge>, modulus: Node) -> Rows<Tup3<Node, Node, i64>> {
    by_end(edges)
        .join_index(&by_source(edges), |_, a, c| Some((*c, *a)))
        .join(&by_source(&kept(edges, modulus)), |_, a, d| Tup2(*a, *d))
        .weighted_count()
        .map(|(Tup2(a, d), n)| Tup3(*a, *d, *n))
}

pub fn distinct_ends(edges: &Rows<Edge>) -> Rows<Edge> {
    by_end(edges).join(&by_source(edges), |_, a, c| Tup2(*a, *c)).distinct()
}

/// The groups of paths of two edges with most of them, of equals the least node.
pub fn top(edges: &Rows<Edge>) -> Rows<Tup2<Node, i64>> {
    by_end(edges)
        .join(&sources(edges), |_, a, ()| *a)
        .weighted_count()
        .map_index(|(a, n)| ((), Tup2(-n, *a)))
        .topk_asc(FIRST)
        .map(|(_, Tup2(n, a))| Tup2(*a, -n))
}
