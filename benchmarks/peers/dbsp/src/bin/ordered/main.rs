//! Joins by order in DBSP: `ordered FILE RESULT --query Q --plan P --commit N --loaded L --workers W`.
//!
//! FILE holds changes (see `stream`), of which the first L are loaded before the clock starts. A commit is one
//! transaction. The final result, which is the sum of all deltas, goes to the file RESULT as 64-bit integers, a row
//! after the other; one line of JSON has the times.

mod counts;
mod joins;
mod stream;

use std::collections::HashMap;
use std::fs;
use std::time::Instant;

use dbsp::mimalloc::MiMalloc;
use dbsp::typed_batch::IndexedZSetReader;
use dbsp::utils::{Tup2, Tup3, Tup4};
use dbsp::{DBData, OrdIndexedZSet, OrdZSet, RootCircuit, Runtime, Stream, ZSetHandle};
use measured::Clock;

use crate::stream::{Change, Symbol, TRADE, Time};

#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// Stands for NULL in a row.
const NULL: i64 = i64::MIN;

/// How long before a trade a quote of its band may be.
const BAND: Time = 80;

type Rows<D> = Stream<RootCircuit, OrdZSet<D>>;
type Keyed<K, V> = Stream<RootCircuit, OrdIndexedZSet<K, V>>;
/// Symbol, time, id.
type Trade = Tup3<Symbol, Time, i64>;
/// Symbol, time, price, and until when it is valid.
type Quote = Tup4<Symbol, Time, i64, Time>;
type Rowed = (Vec<i64>, i64);
type Reader = Box<dyn FnMut(&mut Vec<Rowed>) + Send>;

fn main() {
    let given: Vec<String> = std::env::args().skip(1).collect();
    let text = |name: &str| -> String {
        let place = given.iter().position(|word| word == name);
        let value = place.and_then(|place| given.get(place + 1));
        value.unwrap_or_else(|| panic!("{name} is missing")).clone()
    };
    let number = |name: &str| -> usize { text(name).parse().unwrap_or_else(|_| panic!("{name} is no number")) };
    let changes = stream::read(given.first().expect("a file of changes comes first"));
    let result = given.get(1).expect("a file for the result comes second");
    let (query, plan) = (text("--query"), text("--plan"));
    let bits = stream::bits(&changes);
    let (mut circuit, (trades, quotes, mut read)) = Runtime::init_circuit(number("--workers"), move |circuit| {
        let (trades, given_trades): (Rows<Trade>, ZSetHandle<Trade>) = circuit.add_input_zset();
        let (quotes, given_quotes): (Rows<Quote>, ZSetHandle<Quote>) = circuit.add_input_zset();
        Ok((given_trades, given_quotes, build(&query, &plan, bits, &trades, &quotes)))
    })
    .expect("a circuit");
    let mut commit = |changes: &[Change], deltas: &mut Vec<Rowed>| {
        let (left, right): (Vec<&Change>, Vec<&Change>) = changes.iter().partition(|change| change.table == TRADE);
        let trade = |one: &&Change| Tup2(Tup3(one.symbol, one.time, one.number), one.weight);
        let quote = |one: &&Change| Tup2(Tup4(one.symbol, one.time, one.number, one.until), one.weight);
        trades.append(&mut left.iter().map(trade).collect());
        quotes.append(&mut right.iter().map(quote).collect());
        circuit.transaction().expect("a transaction");
        read(deltas);
    };
    let (mut before, mut deltas) = (Vec::new(), Vec::new());
    let (first, others) = changes.split_at(number("--loaded"));
    first
        .chunks(stream::LOADED)
        .for_each(|changes| commit(changes, &mut before));
    let mut times = Vec::new();
    let clock = Clock::start();
    for changes in others.chunks(number("--commit")) {
        let began = Instant::now();
        commit(changes, &mut deltas);
        times.push(began.elapsed().as_secs_f64());
    }
    let stopped = clock.stop();
    times.sort_by(f64::total_cmp);
    let rows: u64 = deltas.iter().map(|(_, weight)| weight.unsigned_abs()).sum();
    println!(
        "{{\"wall\": {}, \"processor\": {}, \"median\": {}, \"rows\": {rows}}}",
        stopped.wall.as_secs_f64(),
        stopped.processor.as_secs_f64(),
        times[times.len() / 2],
    );
    write(before.into_iter().chain(deltas), result);
    circuit.kill().expect("the end of the circuit");
}

fn build(query: &str, plan: &str, bits: u32, trades: &Rows<Trade>, quotes: &Rows<Quote>) -> Reader {
    let pair = |Tup2(id, price): &Tup2<i64, i64>| [*id, *price];
    let one = |number: &i64| [*number];
    match (query, plan) {
        ("ASOF LEFT JOIN", "best") => read(&joins::as_of(trades, quotes), pair),
        ("valid at", "best") => read(&joins::valid_best(trades, quotes), pair),
        ("valid at", "text") => read(&joins::valid_text(trades, quotes), pair),
        ("pairs in a band", "best") => read(&joins::band_buckets(trades, quotes), pair),
        ("pairs in a band", "range join") => read(&joins::band_range(trades, quotes), pair),
        ("pairs in a band", "text") => read(&joins::band_text(trades, quotes), pair),
        ("COUNT(*) in a band", "best") => read(&counts::band_best(trades, quotes), one),
        ("COUNT(*) in a band", "text") => read(&counts::band_text(trades, quotes), one),
        ("COUNT(*) before", "best") => read(&counts::before_best(trades, quotes, bits), one),
        ("COUNT(*) before", "text") => read(&counts::before_text(trades, quotes), one),
        _ => panic!("there is no plan {plan:?} for {query:?}"),
    }
}

fn read<D: DBData, const N: usize>(rows: &Rows<D>, columns: impl Fn(&D) -> [i64; N] + Send + 'static) -> Reader {
    let output = rows.accumulate_output();
    Box::new(move |deltas| {
        for (row, (), weight) in output.concat().consolidate().iter() {
            deltas.push((columns(&row).to_vec(), weight));
        }
    })
}

/// Writes the rows that are left of all deltas, each as often as it is there.
fn write(deltas: impl Iterator<Item = Rowed>, file: &str) {
    let mut there: HashMap<Vec<i64>, i64> = HashMap::new();
    for (row, weight) in deltas {
        *there.entry(row).or_default() += weight;
    }
    let mut bytes = Vec::new();
    for (row, weight) in there {
        assert!(weight >= 0, "{row:?} is there {weight} times");
        for _ in 0..weight {
            row.iter().for_each(|word| bytes.extend(word.to_le_bytes()));
        }
    }
    fs::write(file, bytes).unwrap_or_else(|error| panic!("{file}: {error}"));
}
