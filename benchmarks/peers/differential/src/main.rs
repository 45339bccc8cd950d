//! The graph queries in differential dataflow, each by two plans.
//!
//! `text` joins in the order of the SQL text, with the columns that nothing needs left out; `best` is the best plan that
//! we know. A commit is one time: all its changes are given, and the workers run until the frontier has passed it. Then
//! each worker consolidates what it has of the delta and reads each row; where there are several, a row's changes are
//! sent to one of them first. For one worker that takes a quarter less time than the operator `consolidate`.

mod edges;
mod groups;
mod triangles;

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use differential_dataflow::consolidation::consolidate;
use differential_dataflow::input::{Input, InputSession};
use differential_dataflow::operators::{CountTotal, ThresholdTotal};
use differential_dataflow::{AsCollection, ExchangeData, Hashable, VecCollection};
use measured::{Change, Clock, Job, NULL, Node, Stopped, Tally};
use timely::dataflow::operators::Exchange;
use timely::dataflow::operators::probe::Handle;
use timely::worker::Worker;

type Time = u32;
type Rows<'scope, D> = VecCollection<'scope, Time, D, isize>;
type Edges<'scope> = Rows<'scope, (Node, Node)>;

/// Tells when a commit is through, and counts its delta.
type Reader = (Handle<Time>, Box<dyn FnMut(Time, &mut Tally)>);

fn main() {
    let job = Arc::new(Job::from_arguments());
    let config = timely::Config::process(job.workers);
    let shared = Arc::clone(&job);
    let workers = timely::execute(config, move |worker| run(&shared, worker)).expect("threads for the workers");
    let found: Vec<_> = workers
        .join()
        .into_iter()
        .map(|one| one.expect("a worker failed"))
        .collect();
    let (mut loaded, mut delta) = (Tally::default(), Tally::default());
    for (_, before, after) in &found {
        loaded += *before;
        delta += *after;
    }
    job.print(&found[0].0, loaded, delta, true);
}

/// One worker: it gives its share of each commit, and works until all workers are through with it.
fn run(job: &Job, worker: &mut Worker) -> (Stopped, Tally, Tally) {
    let (index, peers) = (worker.index(), worker.peers());
    // A worker that waits for another sleeps: where others need the cores too, to spin made commits 3 to 90 times slower.
    let rest = (peers == 1).then_some(Duration::ZERO);
    let mut input = InputSession::new();
    let (probe, mut read) = worker.dataflow(|scope| build(job, input.to_collection(scope)));
    let mut commit = |changes: &[Change], tally: &mut Tally| {
        for change in changes.iter().skip(index).step_by(peers) {
            input.update(change.edge, change.weight);
        }
        let time = *input.time();
        input.advance_to(time + 1);
        input.flush();
        worker.step_or_park_while(rest, || probe.less_than(input.time()));
        read(time, tally);
    };
    let (mut loaded, mut delta) = (Tally::default(), Tally::default());
    job.load().for_each(|changes| commit(changes, &mut loaded));
    let clock = Clock::start();
    job.commits().for_each(|changes| commit(changes, &mut delta));
    (clock.stop(), loaded, delta)
}

fn build(job: &Job, edges: Edges) -> Reader {
    let modulus = job.modulus;
    let path = |(a, b, c, d): &(Node, Node, Node, Node)| [*a, *b, *c, *d].map(i64::from);
    let triple = |(b, c, d): &(Node, Node, Node)| [*b, *c, *d].map(i64::from);
    let pair = |(a, b): &(Node, Node)| [*a, *b].map(i64::from);
    let counted = |(a, n): &(Node, isize)| [i64::from(*a), *n as i64];
    let pair_counted = |((a, d), n): &((Node, Node), isize)| [i64::from(*a), i64::from(*d), *n as i64];
    let summed = |(b, (n, s)): &(Node, (isize, isize))| [i64::from(*b), *n as i64, *s as i64];
    let perhaps = |(a, b, c): &(Node, Node, Option<Node>)| [i64::from(*a), i64::from(*b), c.map_or(NULL, i64::from)];
    match (job.query.as_str(), job.plan.as_str()) {
        ("3-Hop", "text") => read(job, hop3_text(edges, modulus), path),
        ("3-Hop", "best") => read(job, hop3_best(edges, modulus), path),
        ("3-Hop COUNT(*)", "text") => read(job, hop3_count_text(edges, modulus), |n| [*n as i64]),
        ("3-Hop COUNT(*)", "best") => read(job, hop3_count_best(edges, modulus), |n| [*n as i64]),
        ("4-Hop projected", "text") => read(job, hop4_text(edges, modulus), triple),
        ("4-Hop projected", "best") => read(job, hop4_best(edges, modulus), triple),
        ("star count", "text") => read(job, star_text(edges), counted),
        ("star count", "best") => read(job, star_best(edges), counted),
        ("triangle count", "text") => read(job, triangles::count_text(edges), |n| [*n as i64]),
        ("triangle count", "best") => read(job, triangles::count_best(edges), |n| [*n as i64]),
        ("triangles", "text") => read(job, triangles::text(edges), triple),
        ("triangles", "best") => read(job, triangles::best(edges), triple),
        ("3-Hop GROUP BY, free-connex", "text") => read(job, groups::by_second_text(edges, modulus), summed),
        ("3-Hop GROUP BY, free-connex", "best") => read(job, groups::by_second_best(edges, modulus), summed),
        ("3-Hop GROUP BY, not free-connex", "text") => read(job, groups::by_ends_text(edges, modulus), pair_counted),
        ("3-Hop GROUP BY, not free-connex", "best") => read(job, groups::by_ends_best(edges, modulus), pair_counted),
        ("2-Hop DISTINCT, not free-connex", "best") => read(job, groups::distinct_ends(edges), pair),
        ("top 100 of a GROUP BY", "best") => read(job, groups::top(edges), counted),
        ("2-Hop", "best") => read(job, edges::inner(edges, modulus), perhaps),
        ("2-Hop, optional", "best") => read(job, edges::optional(edges, modulus), perhaps),
        ("2-Hop, exists", "best") => read(job, edges::exists(edges, modulus), pair),
        ("2-Hop, not exists", "best") => read(job, edges::not_exists(edges, modulus), pair),
        _ => job.refuse(),
    }
}

/// Counts the delta of each time. Where there are several workers, one of them may be a commit ahead before another has
/// read the last one: the rows of even and of odd times are kept apart.
fn read<D: ExchangeData + Hashable<Output: Into<u64>>, const N: usize>(
    job: &Job,
    mut rows: Rows<D>,
    columns: impl Fn(&D) -> [i64; N] + 'static,
) -> Reader {
    if job.workers > 1 {
        rows = rows.inner.exchange(|(row, _, _)| row.hashed().into()).as_collection();
    }
    let written = Rc::new(RefCell::new([Vec::new(), Vec::new()]));
    let deltas = Rc::clone(&written);
    let (probe, _) = rows
        .inspect(move |(row, time, weight)| written.borrow_mut()[*time as usize % 2].push((row.clone(), *weight)))
        .probe();
    let read = move |time: Time, tally: &mut Tally| {
        let delta = &mut deltas.borrow_mut()[time as usize % 2];
        consolidate(delta);
        for (row, weight) in delta.drain(..) {
            tally.add(columns(&row), weight);
        }
    };
    (probe, Box::new(read))
}

/// Rows that are there, once. (`distinct_total` of 0.25.1 takes a row whose count went back to 0 for one that is there.)
fn distinct<'scope, D: ExchangeData + Hashable>(rows: Rows<'scope, D>) -> Rows<'scope, D> {
    rows.threshold_total(|_, count| isize::from(*count > 0))
}

fn swapped<'scope>(edges: Edges<'scope>) -> Edges<'scope> {
    edges.map(|(src, dst)| (dst, src))
}

/// The edges whose end point the filter keeps.
fn kept<'scope>(edges: Edges<'scope>, modulus: Node) -> Edges<'scope> {
    edges.filter(move |(_, dst)| dst % modulus == 0)
}

/// How many rows there are: one more is counted and taken off again, because no rows have a count too.
fn total<'scope>(rows: Rows<'scope, ()>) -> Rows<'scope, isize> {
    let scope = rows.scope();
    let (_, one) = scope.new_collection_from((scope.index() == 0).then_some(()));
    rows.concat(one).count_total().map(|((), n)| n - 1)
}

/// `(G1 G2) G3`.
fn hop3_text<'scope>(edges: Edges<'scope>, modulus: Node) -> Rows<'scope, (Node, Node, Node, Node)> {
    let first = swapped(edges.clone()).arrange_by_key();
    let second = edges.clone().arrange_by_key();
    let third = kept(edges, modulus).arrange_by_key();
    first
        .join_core(second, |b, a, c| Some((*c, (*a, *b))))
        .arrange_by_key()
        .join_core(third, |c, (a, b), d| Some((*a, *b, *c, *d)))
}

/// `G1 (G2 G3)`: from the filter on, which leaves a tenth; G1 and G2 are one arrangement.
fn hop3_best<'scope>(edges: Edges<'scope>, modulus: Node) -> Rows<'scope, (Node, Node, Node, Node)> {
    let by_end = swapped(edges.clone()).arrange_by_key();
    let third = kept(edges, modulus).arrange_by_key();
    by_end
        .clone()
        .join_core(third, |c, b, d| Some((*b, (*c, *d))))
        .arrange_by_key()
        .join_core(by_end, |b, (c, d), a| Some((*a, *b, *c, *d)))
}

fn hop3_count_text<'scope>(edges: Edges<'scope>, modulus: Node) -> Rows<'scope, isize> {
    total(hop3_text(edges, modulus).map(|_| ()))
}

/// Multiplicities instead of rows: how many kept paths of one and of two edges begin at each node, and how many edges
/// end there.
fn hop3_count_best<'scope>(edges: Edges<'scope>, modulus: Node) -> Rows<'scope, isize> {
    let first = edges.clone().map(|(_, dst)| dst).arrange_by_self();
    let second = swapped(edges.clone()).arrange_by_key();
    let third = kept(edges, modulus).map(|(src, _)| src).arrange_by_self();
    let paths = third
        .join_core(second, |_, (), b| Some(*b))
        .arrange_by_self()
        .join_core(first, |_, (), ()| Some(()));
    total(paths)
}

/// `((G1 G2) G3) G4`, then distinct; of G1 and of G4 only the column that is joined is there.
fn hop4_text<'scope>(edges: Edges<'scope>, modulus: Node) -> Rows<'scope, (Node, Node, Node)> {
    let first = edges.clone().map(|(_, dst)| dst).arrange_by_self();
    let by_source = edges.clone().arrange_by_key();
    let fourth = kept(edges, modulus).map(|(src, _)| src).arrange_by_self();
    let paths = first
        .join_core(by_source.clone(), |b, (), c| Some((*c, *b)))
        .arrange_by_key()
        .join_core(by_source, |c, b, d| Some((*d, (*b, *c))))
        .arrange_by_key()
        .join_core(fourth, |d, (b, c), ()| Some((*b, *c, *d)));
    distinct(paths)
}

/// Distinct edges, semijoined with the ends of G1 and the starts of the kept edges; what is joined then is distinct.
fn hop4_best<'scope>(edges: Edges<'scope>, modulus: Node) -> Rows<'scope, (Node, Node, Node)> {
    let ends = distinct(edges.clone().map(|(_, dst)| dst));
    let starts = distinct(kept(edges.clone(), modulus).map(|(src, _)| src));
    let once = distinct(edges);
    let second = once.clone().semijoin(ends).map(|(b, c)| (c, b)).arrange_by_key();
    let third = swapped(once).semijoin(starts).map(|(d, c)| (c, d)).arrange_by_key();
    second.join_core(third, |c, b, d| Some((*b, *c, *d)))
}

/// The joins of four copies of the joined column, whose multiplicities multiply, then a count.
fn star_text<'scope>(edges: Edges<'scope>) -> Rows<'scope, (Node, isize)> {
    let sources = edges.map(|(src, _)| src).arrange_by_self();
    let two = sources.clone().join_core(sources.clone(), |a, (), ()| Some(*a));
    let three = two.arrange_by_self().join_core(sources.clone(), |a, (), ()| Some(*a));
    let four = three.arrange_by_self().join_core(sources, |a, (), ()| Some(*a));
    four.count_total()
}

/// The number of edges of each source, to the fourth.
fn star_best<'scope>(edges: Edges<'scope>) -> Rows<'scope, (Node, isize)> {
    edges.map(|(src, _)| src).count_total().map(|(src, n)| (src, n.pow(4)))
}
