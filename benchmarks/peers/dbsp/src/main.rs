//! The graph queries in DBSP, each by two plans.
//!
//! `text` joins in the order of the SQL text, with the columns that nothing needs left out; `best` is the best plan that
//! we know. A commit is one transaction. The deltas of the workers are put together and consolidated, and each row of
//! theirs is read.

mod edges;
mod groups;

use dbsp::mimalloc::MiMalloc;
use dbsp::typed_batch::IndexedZSetReader;
use dbsp::utils::{Tup2, Tup3, Tup4};
use dbsp::{DBData, OrdIndexedZSet, OrdZSet, RootCircuit, Runtime, Stream, ZSetHandle, ZWeight};
use measured::{Change, Clock, Job, NULL, Node, Tally};

#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

type Rows<D> = Stream<RootCircuit, OrdZSet<D>>;
type Keyed<V> = Stream<RootCircuit, OrdIndexedZSet<Node, V>>;
type Edge = Tup2<Node, Node>;
type Reader = Box<dyn FnMut(&mut Tally) + Send>;

fn main() {
    let job: &'static Job = Box::leak(Box::new(Job::from_arguments()));
    let (mut circuit, (input, one, mut read)) = Runtime::init_circuit(job.workers, move |circuit| {
        let (edges, input): (Rows<Edge>, ZSetHandle<Edge>) = circuit.add_input_zset();
        let (unit, one): (Rows<()>, ZSetHandle<()>) = circuit.add_input_zset();
        Ok((input, one, build(job, &edges, &unit)))
    })
    .expect("a circuit");
    one.append(&mut vec![Tup2((), 1)]);
    let mut commit = |changes: &[Change], tally: &mut Tally| {
        let given = |change: &Change| Tup2(Tup2(change.edge.0, change.edge.1), change.weight as ZWeight);
        input.append(&mut changes.iter().map(given).collect());
        circuit.transaction().expect("a transaction");
        read(tally);
    };
    let (mut loaded, mut delta) = (Tally::default(), Tally::default());
    job.load().for_each(|changes| commit(changes, &mut loaded));
    let clock = Clock::start();
    job.commits().for_each(|changes| commit(changes, &mut delta));
    job.print(&clock.stop(), loaded, delta, true);
    circuit.kill().expect("the end of the circuit");
}

fn build(job: &Job, edges: &Rows<Edge>, one: &Rows<()>) -> Reader {
    let modulus = job.modulus;
    let path = |row: &Tup4<Node, Node, Node, Node>| [row.0, row.1, row.2, row.3].map(i64::from);
    let triple = |row: &Tup3<Node, Node, Node>| [row.0, row.1, row.2].map(i64::from);
    let pair = |row: &Edge| [row.0, row.1].map(i64::from);
    let counted = |row: &Tup2<Node, i64>| [i64::from(row.0), row.1];
    let pair_counted = |row: &Tup3<Node, Node, i64>| [i64::from(row.0), i64::from(row.1), row.2];
    let summed = |row: &Tup3<Node, i64, i64>| [i64::from(row.0), row.1, row.2];
    let perhaps = |row: &Tup3<Node, Node, Option<Node>>| [row.0.into(), row.1.into(), row.2.map_or(NULL, i64::from)];
    match (job.query.as_str(), job.plan.as_str()) {
        ("3-Hop", "text") => read(&hop3_text(edges, modulus), path),
        ("3-Hop", "best") => read(&hop3_best(edges, modulus), path),
        ("3-Hop COUNT(*)", "text") => read(&total(&hop3_text(edges, modulus).map(|_| ()), one), |n| [*n]),
        ("3-Hop COUNT(*)", "best") => read(&total(&hop3_count_best(edges, modulus), one), |n| [*n]),
        ("4-Hop projected", "text") => read(&hop4_text(edges, modulus), triple),
        ("4-Hop projected", "best") => read(&hop4_best(edges, modulus), triple),
        ("star count", "text") => read(&star_text(edges), counted),
        ("star count", "best") => read(&star_best(edges), counted),
        ("triangle count", "best") => read(&total(&paths_of_triangles(edges), one), |n| [*n]),
        ("triangles", "best") => read(&triangles(edges), triple),
        ("3-Hop GROUP BY, free-connex", "text") => read(&groups::by_second_text(edges, modulus), summed),
        ("3-Hop GROUP BY, free-connex", "best") => read(&groups::by_second_best(edges, modulus), summed),
        ("3-Hop GROUP BY, not free-connex", "text") => read(&groups::by_ends_text(edges, modulus), pair_counted),
        ("3-Hop GROUP BY, not free-connex", "best") => read(&groups::by_ends_best(edges, modulus), pair_counted),
        ("2-Hop DISTINCT, not free-connex", "best") => read(&groups::distinct_ends(edges), pair),
        ("top 100 of a GROUP BY", "best") => read(&groups::top(edges), counted),
        ("2-Hop", "best") => read(&edges::inner(edges, modulus), perhaps),
        ("2-Hop, optional", "best") => read(&edges::optional(edges, modulus), perhaps),
        ("2-Hop, exists", "best") => read(&edges::exists(edges, modulus), pair),
        ("2-Hop, not exists", "best") => read(&edges::not_exists(edges, modulus), pair),
        _ => job.refuse(),
    }
}

fn read<D: DBData, const N: usize>(rows: &Rows<D>, columns: impl Fn(&D) -> [i64; N] + Send + 'static) -> Reader {
    let output = rows.accumulate_output();
    Box::new(move |tally| {
        for (row, (), weight) in output.concat().consolidate().iter() {
            tally.add(columns(&row), weight as isize);
        }
    })
}

fn by_source(edges: &Rows<Edge>) -> Keyed<Node> {
    edges.map_index(|Tup2(src, dst)| (*src, *dst))
}

fn by_end(edges: &Rows<Edge>) -> Keyed<Node> {
    edges.map_index(|Tup2(src, dst)| (*dst, *src))
}

/// One column, whose rows are there as often as edges have it.
fn sources(edges: &Rows<Edge>) -> Keyed<()> {
    edges.map_index(|Tup2(src, _)| (*src, ()))
}

fn ends(edges: &Rows<Edge>) -> Keyed<()> {
    edges.map_index(|Tup2(_, dst)| (*dst, ()))
}

/// The edges whose end point the filter keeps.
fn kept(edges: &Rows<Edge>, modulus: Node) -> Rows<Edge> {
    edges.filter(move |Tup2(_, dst)| dst % modulus == 0)
}

/// How many rows there are: one more is counted and taken off again, because no rows have a count too.
fn total(rows: &Rows<()>, one: &Rows<()>) -> Rows<i64> {
    rows.plus(one).weighted_count().map(|(_, n)| *n - 1)
}

/// `(G1 G2) G3`.
fn hop3_text(edges: &Rows<Edge>, modulus: Node) -> Rows<Tup4<Node, Node, Node, Node>> {
    by_end(edges)
        .join_index(&by_source(edges), |b, a, c| Some((*c, Tup2(*a, *b))))
        .join(&by_source(&kept(edges, modulus)), |c, Tup2(a, b), d| {
            Tup4(*a, *b, *c, *d)
        })
}

/// `G1 (G2 G3)`: from the filter on, which leaves a tenth; G1 and G2 have one index.
fn hop3_best(edges: &Rows<Edge>, modulus: Node) -> Rows<Tup4<Node, Node, Node, Node>> {
    let by_end = by_end(edges);
    by_end
        .join_index(&by_source(&kept(edges, modulus)), |c, b, d| Some((*b, Tup2(*c, *d))))
        .join(&by_end, |b, Tup2(c, d), a| Tup4(*a, *b, *c, *d))
}

/// Multiplicities instead of rows: how many kept paths of one and of two edges begin at each node, and how many edges
/// end there.
fn hop3_count_best(edges: &Rows<Edge>, modulus: Node) -> Rows<()> {
    sources(&kept(edges, modulus))
        .join_index(&by_end(edges), |_, (), b| Some((*b, ())))
        .join(&ends(edges), |_, (), ()| ())
}

/// `((G1 G2) G3) G4`, then distinct; of G1 and of G4 only the column that is joined is there.
fn hop4_text(edges: &Rows<Edge>, modulus: Node) -> Rows<Tup3<Node, Node, Node>> {
    let by_source = by_source(edges);
    ends(edges)
        .join_index(&by_source, |b, (), c| Some((*c, *b)))
        .join_index(&by_source, |c, b, d| Some((*d, Tup2(*b, *c))))
        .join(&sources(&kept(edges, modulus)), |d, Tup2(b, c), ()| Tup3(*b, *c, *d))
        .distinct()
}

/// Distinct edges, semijoined with the ends of G1 and the starts of the kept edges; what is joined then is distinct.
fn hop4_best(edges: &Rows<Edge>, modulus: Node) -> Rows<Tup3<Node, Node, Node>> {
    let ends = ends(edges).distinct();
    let starts = sources(&kept(edges, modulus)).distinct();
    let once = edges.distinct();
    let second = by_source(&once).join_index(&ends, |b, c, ()| Some((*c, *b)));
    let third = by_end(&once).join_index(&starts, |d, c, ()| Some((*c, *d)));
    second.join(&third, |c, b, d| Tup3(*b, *c, *d))
}

/// The joins of four copies of the joined column, whose multiplicities multiply, then a count.
fn star_text(edges: &Rows<Edge>) -> Rows<Tup2<Node, i64>> {
    let sources = sources(edges);
    sources
        .join_index(&sources, |a, (), ()| Some((*a, ())))
        .join_index(&sources, |a, (), ()| Some((*a, ())))
        .join(&sources, |a, (), ()| *a)
        .weighted_count()
        .map(|(a, n)| Tup2(*a, *n))
}

/// The number of edges of each source, to the fourth.
fn star_best(edges: &Rows<Edge>) -> Rows<Tup2<Node, i64>> {
    edges
        .map(|Tup2(src, _)| *src)
        .weighted_count()
        .map(|(a, n)| Tup2(*a, n.pow(4)))
}

/// `(G1 G2) G3`, where the node in the middle is left out: how many paths of two edges there are between two nodes.
fn paths_of_triangles(edges: &Rows<Edge>) -> Rows<()> {
    by_end(edges)
        .join_index(&by_source(edges), |_, a, c| Some((Tup2(*c, *a), ())))
        .join(&edges.map_index(|edge| (*edge, ())), |_, (), ()| ())
}

/// `(G1 G2) G3`.
fn triangles(edges: &Rows<Edge>) -> Rows<Tup3<Node, Node, Node>> {
    by_end(edges)
        .join_index(&by_source(edges), |b, a, c| Some((Tup2(*c, *a), *b)))
        .join(&edges.map_index(|edge| (*edge, ())), |Tup2(c, a), b, ()| {
            Tup3(*a, *b, *c)
        })
}
