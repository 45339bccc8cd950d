//! Queries of TPC-H in DBSP: `tpch FOLDER --query Q --plan P --tables T,T --workers W --points N,N`.
//!
//! `text` joins in the order of the SQL text; `best` is the best plan that we know. In both, conditions on one table and
//! the choice of columns are plain Rust in front of the circuit, which gets no row that they drop. A commit is one
//! transaction. After so many changes as the points say, the clock stands still, and the result is printed: a line of
//! JSON for each point, and one with the times.

mod grouped;
mod joined;
mod parts;
mod result;
mod stream;

use std::time::Duration;

use dbsp::mimalloc::MiMalloc;
use dbsp::utils::Tup2;
use dbsp::{DBData, OrdIndexedZSet, OrdZSet, RootCircuit, Runtime, Stream, ZWeight};
use measured::Clock;

use crate::result::Result;
use crate::stream::Change;

#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

type Rows<D> = Stream<RootCircuit, OrdZSet<D>>;
type Keyed<K, V> = Stream<RootCircuit, OrdIndexedZSet<K, V>>;
/// Gives the changes of a commit to an input of the circuit.
type Feed = Box<dyn Fn(&[Change]) + Send>;

fn main() {
    let given: Vec<String> = std::env::args().skip(1).collect();
    let text = |name: &str| -> String {
        let place = given.iter().position(|word| word == name);
        let value = place.and_then(|place| given.get(place + 1));
        value.unwrap_or_else(|| panic!("{name} is missing")).clone()
    };
    let folder = given.first().expect("a folder comes first");
    let changes: &'static stream::Stream = Box::leak(Box::new(stream::Stream::open(folder, &text("--tables"))));
    let points: Vec<usize> = text("--points")
        .split(',')
        .map(|word| word.parse().expect("a number"))
        .collect();
    let workers: usize = text("--workers").parse().expect("a number of workers");
    let (query, plan) = (text("--query"), text("--plan"));
    let (mut circuit, (feeds, mut kept)) =
        Runtime::init_circuit(workers, move |circuit| Ok(build(circuit, changes, &query, &plan))).expect("a circuit");
    let mut commit = |changes: &[Change]| {
        feeds.iter().for_each(|feed| feed(changes));
        circuit.transaction().expect("a transaction");
    };
    commit(changes.always());
    commit(changes.load());
    kept.read();
    let (mut wall, mut processor, mut delta) = (Duration::ZERO, Duration::ZERO, 0);
    let mut clock = Clock::start();
    for (done, changes) in changes.commits() {
        commit(changes);
        delta += kept.read();
        if points.contains(&done) {
            let stopped = clock.stop();
            (wall, processor) = (wall + stopped.wall, processor + stopped.processor);
            println!("{{\"changes\": {done}, \"rows\": [{}]}}", kept.rows().join(", "));
            clock = Clock::start();
        }
    }
    let (wall, processor) = (wall.as_secs_f64(), processor.as_secs_f64());
    println!("{{\"wall\": {wall}, \"processor\": {processor}, \"delta\": {delta}}}");
    circuit.kill().expect("the end of the circuit");
}

fn build(
    circuit: &mut RootCircuit,
    stream: &'static stream::Stream,
    query: &str,
    plan: &str,
) -> (Vec<Feed>, Box<dyn Result>) {
    let mut inputs = Inputs {
        circuit,
        stream,
        feeds: Vec::new(),
    };
    let kept = match (query, plan) {
        ("q01", "best") => grouped::pricing(&mut inputs),
        ("q03", "best") => joined::shipping_best(&mut inputs),
        ("q03", "text") => joined::shipping_text(&mut inputs),
        ("q05", "best") => joined::volume_best(&mut inputs),
        ("q05", "text") => joined::volume_text(&mut inputs),
        ("q13", "best") => grouped::orders_best(&mut inputs),
        ("q13", "text") => grouped::orders_text(&mut inputs),
        ("q17", "best") => parts::small_best(&mut inputs),
        ("q17", "text") => parts::small_text(&mut inputs),
        _ => panic!("there is no plan {plan:?} for {query:?}"),
    };
    (inputs.feeds, kept)
}

/// The inputs of a circuit, made one after the other.
struct Inputs<'a> {
    circuit: &'a mut RootCircuit,
    stream: &'static stream::Stream,
    feeds: Vec<Feed>,
}

impl Inputs<'_> {
    /// The rows of a table that a condition keeps, with the columns that are needed, once each.
    fn rows<D: DBData>(&mut self, table: &str, row: impl Fn(usize) -> Option<D> + Send + 'static) -> Rows<D> {
        self.weighed(table, move |number| row(number).map(|row| Tup2(row, 1)))
    }

    /// The same with a weight each, which joins multiply and counts add up.
    fn weighed<D: DBData>(
        &mut self,
        table: &str,
        row: impl Fn(usize) -> Option<Tup2<D, ZWeight>> + Send + 'static,
    ) -> Rows<D> {
        let (rows, input) = self.circuit.add_input_zset::<D>();
        let table = self.stream.table(table);
        let feed = move |changes: &[Change]| {
            let mine = changes.iter().filter(|change| change.table == table);
            let signed = |change: &Change| row(change.row).map(|Tup2(row, weight)| Tup2(row, weight * change.weight));
            input.append(&mut mine.filter_map(signed).collect());
        };
        self.feeds.push(Box::new(feed));
        rows
    }
}
