//! Triangles by two plans.
//!
//! `best` is a delta query that is worst-case optimal (Ammar, McSherry, Salihoglu and Joglekar, PVLDB 11(6), 2018;
//! `differential-dogs3`): each changed edge asks both of its ends how many third nodes they would propose, takes those of
//! the one with fewer, and looks each up at the other. No row of two edges is kept. The crate's own `validate` takes an
//! edge that is there twice for one; here multiplicities multiply.

use differential_dataflow::AsCollection;
use differential_dataflow::VecCollection;
use differential_dataflow::operators::arrange::{Arranged, TraceAgent};
use differential_dataflow::trace::implementations::{KeySpine, ValSpine};
use differential_dogs3::altneu::AltNeu;
use differential_dogs3::operators::{count::count, lookup_map, propose::propose};
use measured::Node;
use timely::dataflow::operators::vec::Partition;

use crate::{Edges, Rows, Time, swapped, total};

/// A time twice: `neu` follows `alt`, and a relation that is delayed to it is not yet what it becomes in this commit.
type Twice = AltNeu<Time>;
type Triple = (Node, Node, Node);
type Inner<'scope, D> = VecCollection<'scope, Twice, D, isize>;

/// Neighbours by node: how many, which, and whether two nodes are neighbours.
struct Index<'scope> {
    numbers: Arranged<'scope, TraceAgent<KeySpine<Node, Twice, isize>>>,
    neighbours: Arranged<'scope, TraceAgent<ValSpine<Node, Node, Twice, isize>>>,
    pairs: Arranged<'scope, TraceAgent<KeySpine<(Node, Node), Twice, isize>>>,
}

impl<'scope> Index<'scope> {
    fn of(pairs: Inner<'scope, (Node, Node)>) -> Index<'scope> {
        Index {
            numbers: pairs.clone().map(|(node, _)| node).arrange_by_self(),
            neighbours: pairs.clone().arrange_by_key(),
            pairs: pairs.arrange_by_self(),
        }
    }

    /// What is kept of proposed nodes, as often as the pair of its end and the node is there.
    fn keep(
        &self,
        proposed: Inner<'scope, ((Node, Node), Node)>,
        end: impl Fn(&(Node, Node)) -> Node + Clone + 'static,
    ) -> Inner<'scope, ((Node, Node), Node)> {
        lookup_map(
            proposed,
            self.pairs.clone(),
            move |(edge, node), key| *key = (end(edge), *node),
            |found, weight, _, times| (*found, weight * times),
            Default::default(),
            Default::default(),
            Default::default(),
        )
    }
}

/// The rows of triangles: `a -> b -> c -> a`.
pub fn best<'scope>(edges: Edges<'scope>) -> Rows<'scope, Triple> {
    let outer = edges.scope();
    outer.scoped::<Twice, _, _>("triangles", |scope| {
        let edges = edges.enter(scope);
        let later = edges.clone().delay(|time| AltNeu::neu(time.time));
        let (out, into) = (Index::of(edges.clone()), Index::of(back(edges.clone())));
        let (out_later, into_later) = (Index::of(later.clone()), Index::of(back(later)));
        let first = third_nodes(edges.clone(), &out_later, &into_later).map(|((a, b), c)| (a, b, c));
        let second = third_nodes(edges.clone(), &out_later, &into).map(|((b, c), a)| (a, b, c));
        let third = third_nodes(edges, &out, &into).map(|((c, a), b)| (a, b, c));
        first.concat(second).concat(third).leave(outer)
    })
}

fn back<'scope>(edges: Inner<'scope, (Node, Node)>) -> Inner<'scope, (Node, Node)> {
    edges.map(|(src, dst)| (dst, src))
}

/// Nodes that an edge's end points to and that point to its source.
fn third_nodes<'scope>(
    edges: Inner<'scope, (Node, Node)>,
    out: &Index<'scope>,
    into: &Index<'scope>,
) -> Inner<'scope, ((Node, Node), Node)> {
    let (source, end) = (|edge: &(Node, Node)| edge.0, |edge: &(Node, Node)| edge.1);
    let asked = edges.map(|edge| (edge, usize::MAX, 0));
    let asked = count(asked, out.numbers.clone(), end, 0);
    let asked = count(asked, into.numbers.clone(), source, 1);
    let mut parts = asked.inner.partition(2, |((edge, _, fewer), time, weight)| {
        (fewer as u64, (edge, time, weight))
    });
    let by_source = parts.pop().expect("two parts").as_collection();
    let by_end = parts.pop().expect("two parts").as_collection();
    let by_end = into.keep(propose(by_end, out.neighbours.clone(), end), source);
    let by_source = out.keep(propose(by_source, into.neighbours.clone(), source), end);
    by_end.concat(by_source)
}

/// `(G1 G2) G3`.
pub fn text<'scope>(edges: Edges<'scope>) -> Rows<'scope, Triple> {
    let first = swapped(edges.clone()).arrange_by_key();
    let second = edges.clone().arrange_by_key();
    first
        .join_core(second, |b, a, c| Some(((*c, *a), *b)))
        .arrange_by_key()
        .join_core(edges.arrange_by_self(), |(c, a), b, ()| Some((*a, *b, *c)))
}

pub fn count_best<'scope>(edges: Edges<'scope>) -> Rows<'scope, isize> {
    total(best(edges).map(|_| ()))
}

/// `(G1 G2) G3`, where the node in the middle is left out: how many paths of two edges there are between two nodes.
pub fn count_text<'scope>(edges: Edges<'scope>) -> Rows<'scope, isize> {
    let first = swapped(edges.clone()).arrange_by_key();
    let second = edges.clone().arrange_by_key();
    let paths = first
        .join_core(second, |_, a, c| Some((*c, *a)))
        .arrange_by_self()
        .join_core(edges.arrange_by_self(), |_, (), ()| Some(()));
    total(paths)
}
