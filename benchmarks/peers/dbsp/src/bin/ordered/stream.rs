//! What the program is given: a file of changes, each six 64-bit integers, the least byte first.
//!
//! They are the table (0 for trades, 1 for quotes), 1 for a row that comes or -1 for one that goes, the symbol, the time,
//! until when a quote is valid, and the id of a trade or the price of a quote.

use std::fs;

/// The number of the table of trades.
pub const TRADE: i64 = 0;

/// Changes that are loaded at a time before the clock starts.
pub const LOADED: usize = 10_000;

/// The number of a symbol.
pub type Symbol = u32;

/// A time, which is not negative.
pub type Time = i64;

/// A row that comes (weight 1) or goes (weight -1).
#[derive(Clone, Copy, Debug)]
pub struct Change {
    pub table: i64,
    pub weight: i64,
    pub symbol: Symbol,
    pub time: Time,
    pub until: Time,
    pub number: i64,
}

/// The changes of a file.
///
/// # Panics
///
/// The file is not there: the message says which.
pub fn read(file: &str) -> Vec<Change> {
    let bytes = fs::read(file).unwrap_or_else(|error| panic!("{file}: {error}"));
    let words: Vec<i64> = bytes
        .chunks_exact(8)
        .map(|bytes| i64::from_le_bytes(bytes.try_into().unwrap()))
        .collect();
    let change = |six: &[i64]| Change {
        table: six[0],
        weight: six[1],
        symbol: six[2].try_into().expect("a symbol of 32 bits"),
        time: six[3],
        until: six[4],
        number: six[5],
    };
    words.chunks_exact(6).map(change).collect()
}

/// How many bits the times have.
pub fn bits(changes: &[Change]) -> u32 {
    let last = changes.iter().map(|change| change.time).max().unwrap_or(0);
    i64::BITS - last.leading_zeros()
}
