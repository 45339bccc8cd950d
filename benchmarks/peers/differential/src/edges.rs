//! Edges of the join tree: paths of two edges whose second, which the filter keeps, is joined, optional, demanded or
//! forbidden.

use measured::Node;

use crate::{Edges, Rows, distinct, kept, swapped};

type Path = (Node, Node, Option<Node>);

pub fn inner<'scope>(edges: Edges<'scope>, modulus: Node) -> Rows<'scope, Path> {
    let second = kept(edges.clone(), modulus).arrange_by_key();
    let first = swapped(edges).arrange_by_key();
    first.join_core(second, |b, a, c| Some((*a, *b, Some(*c))))
}

/// The inner join and, with NULL, the edges that nothing continues; both read one arrangement of the first edges.
pub fn optional<'scope>(edges: Edges<'scope>, modulus: Node) -> Rows<'scope, Path> {
    let second = kept(edges.clone(), modulus).arrange_by_key();
    let starts = distinct(kept(edges.clone(), modulus).map(|(src, _)| src)).arrange_by_self();
    let first = swapped(edges.clone()).arrange_by_key();
    let alone = first.clone().join_core(starts, |b, a, ()| Some((*a, *b))).negate();
    first
        .join_core(second, |b, a, c| Some((*a, *b, Some(*c))))
        .concat(edges.concat(alone).map(|(a, b)| (a, b, None)))
}

pub fn exists<'scope>(edges: Edges<'scope>, modulus: Node) -> Rows<'scope, (Node, Node)> {
    let starts = distinct(kept(edges.clone(), modulus).map(|(src, _)| src));
    swapped(edges).semijoin(starts).map(|(b, a)| (a, b))
}

pub fn not_exists<'scope>(edges: Edges<'scope>, modulus: Node) -> Rows<'scope, (Node, Node)> {
    let starts = distinct(kept(edges.clone(), modulus).map(|(src, _)| src));
    swapped(edges).antijoin(starts).map(|(b, a)| (a, b))
}
