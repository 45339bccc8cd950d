//! Edges of the join tree: paths of two edges whose second, which the filter keeps, is joined, optional, demanded or
//! forbidden; by DBSP's own operators.

use dbsp::utils::{Tup2, Tup3};
use measured::Node;

use crate::{Edge, Keyed, Rows, by_end, by_source, kept, sources};

type Path = Tup3<Node, Node, Option<Node>>;

pub fn inner(edges: &Rows<Edge>, modulus: Node) -> Rows<Path> {
    by_end(edges).join(&by_source(&kept(edges, modulus)), |b, a, c| Tup3(*a, *b, Some(*c)))
}

pub fn optional(edges: &Rows<Edge>, modulus: Node) -> Rows<Path> {
    let second: Keyed<Option<Node>> = kept(edges, modulus).map_index(|Tup2(src, dst)| (*src, Some(*dst)));
    by_end(edges).left_join(&second, |b, a, c| Tup3(*a, *b, *c))
}

pub fn exists(edges: &Rows<Edge>, modulus: Node) -> Rows<Edge> {
    let starts = sources(&kept(edges, modulus)).distinct();
    by_end(edges).join(&starts, |b, a, ()| Tup2(*a, *b))
}

pub fn not_exists(edges: &Rows<Edge>, modulus: Node) -> Rows<Edge> {
    by_end(edges)
        .antijoin(&sources(&kept(edges, modulus)))
        .map(|(b, a)| Tup2(*a, *b))
}
