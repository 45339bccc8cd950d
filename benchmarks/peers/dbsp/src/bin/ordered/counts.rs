//! The number of pairs.
//!
//! `best` cuts time as a tree does: a quote stands in the piece of each level that it is in, a trade in the few pieces
//! that its range is made of, and multiplicities of equal pieces multiply. No pair is made: a change costs O(levels).

use dbsp::utils::{Tup2, Tup3, Tup4};

use crate::joins::{by_symbol, in_band, prices};
use crate::stream::{Symbol, Time};
use crate::{BAND, Keyed, Quote, Rows, Trade};

/// The pieces of a band have at most so many levels.
const BAND_LEVELS: u32 = (BAND + 1).ilog2() + 1;

/// Symbol, level, and number of a piece on its level.
type Piece = Tup3<Symbol, u32, Time>;

pub fn before_best(trades: &Rows<Trade>, quotes: &Rows<Quote>, bits: u32) -> Rows<i64> {
    let trades = trades.flat_map_index(|Tup3(symbol, time, _)| pieces(*symbol, 0, *time));
    number(&trades.join(&around(quotes, bits + 1), |_, (), ()| ()))
}

pub fn before_text(trades: &Rows<Trade>, quotes: &Rows<Quote>) -> Rows<i64> {
    number(
        &by_symbol(trades).join_flatmap(&prices(quotes), |_, Tup2(at, _), Tup2(time, _)| {
            (time < at).then_some(())
        }),
    )
}

pub fn band_best(trades: &Rows<Trade>, quotes: &Rows<Quote>) -> Rows<i64> {
    let trades = trades.flat_map_index(|Tup3(symbol, time, _)| pieces(*symbol, (time - BAND).max(0), time + 1));
    number(&trades.join(&around(quotes, BAND_LEVELS), |_, (), ()| ()))
}

pub fn band_text(trades: &Rows<Trade>, quotes: &Rows<Quote>) -> Rows<i64> {
    number(
        &by_symbol(trades).join_flatmap(&prices(quotes), |_, Tup2(at, _), Tup2(time, _)| {
            in_band(*at, *time).then_some(())
        }),
    )
}

/// How many rows there are; no row if there are none.
fn number(rows: &Rows<()>) -> Rows<i64> {
    rows.weighted_count().map(|(_, n)| *n)
}

/// The pieces around each quote, one of each level.
fn around(quotes: &Rows<Quote>, levels: u32) -> Keyed<Piece, ()> {
    quotes.flat_map_index(move |Tup4(symbol, time, _, _)| {
        let (symbol, time) = (*symbol, *time);
        (0..levels).map(move |level| (Tup3(symbol, level, time >> level), ()))
    })
}

/// The pieces that times from the first one on, before the last one, are made of.
fn pieces(symbol: Symbol, mut first: Time, mut last: Time) -> Vec<(Piece, ())> {
    let mut found = Vec::new();
    let mut level = 0;
    while first < last {
        if first & 1 == 1 {
            found.push((Tup3(symbol, level, first), ()));
            first += 1;
        }
        if last & 1 == 1 {
            last -= 1;
            found.push((Tup3(symbol, level, last), ()));
        }
        (first, last, level) = (first >> 1, last >> 1, level + 1);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_time_of_a_range_is_in_one_piece() {
        for (first, last) in [(0, 0), (0, 1), (3, 84), (5, 86), (0, 1000), (81, 162)] {
            let pieces = pieces(7, first, last);
            assert!(
                pieces
                    .iter()
                    .all(|(Tup3(_, level, _), ())| last - first > BAND + 1 || *level < BAND_LEVELS)
            );
            for time in 0..1100_i64 {
                let around = pieces
                    .iter()
                    .filter(|(Tup3(_, level, number), ())| time >> level == *number);
                assert_eq!(
                    around.count(),
                    usize::from((first..last).contains(&time)),
                    "{first} {last} {time}"
                );
            }
        }
    }
}
