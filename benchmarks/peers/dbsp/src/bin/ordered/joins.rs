//! Rows of joins by order.

use dbsp::utils::{Tup2, Tup3, Tup4};

use crate::stream::{Symbol, Time};
use crate::{BAND, Keyed, NULL, Quote, Rows, Trade};

type Pair = Tup2<i64, i64>;
type Place = Tup2<Symbol, Time>;

/// By symbol: time and id.
pub fn by_symbol(trades: &Rows<Trade>) -> Keyed<Symbol, Tup2<Time, i64>> {
    trades.map_index(|Tup3(symbol, time, id)| (*symbol, Tup2(*time, *id)))
}

/// By symbol: time and price.
pub fn prices(quotes: &Rows<Quote>) -> Keyed<Symbol, Tup2<Time, i64>> {
    quotes.map_index(|Tup4(symbol, time, price, _)| (*symbol, Tup2(*time, *price)))
}

/// By symbol: time, until, and price.
fn valid(quotes: &Rows<Quote>) -> Keyed<Symbol, Tup3<Time, Time, i64>> {
    quotes.map_index(|Tup4(symbol, time, price, until)| (*symbol, Tup3(*time, *until, *price)))
}

/// DBSP's own operator, which is a left join.
pub fn as_of(trades: &Rows<Trade>, quotes: &Rows<Quote>) -> Rows<Pair> {
    by_symbol(trades).asof_join(
        &prices(quotes),
        |_, Tup2(_, id), quote| Tup2(*id, quote.map_or(NULL, |Tup2(_, price)| *price)),
        |Tup2(time, _)| *time,
        |Tup2(time, _)| *time,
    )
}

/// The last quote, if it is still valid: intervals of a symbol do not overlap.
pub fn valid_best(trades: &Rows<Trade>, quotes: &Rows<Quote>) -> Rows<Pair> {
    let last = by_symbol(trades).asof_join(
        &valid(quotes),
        |_, Tup2(at, id), quote| match quote {
            Some(Tup3(_, until, price)) if at < until => Tup2(*id, *price),
            _ => Tup2(*id, NULL),
        },
        |Tup2(time, _)| *time,
        |Tup3(time, _, _)| *time,
    );
    last.filter(|Tup2(_, price)| *price != NULL)
}

/// A join by symbol with a condition.
pub fn valid_text(trades: &Rows<Trade>, quotes: &Rows<Quote>) -> Rows<Pair> {
    by_symbol(trades).join_flatmap(&valid(quotes), |_, Tup2(at, id), Tup3(from, until, price)| {
        (from <= at && at < until).then_some(Tup2(*id, *price))
    })
}

/// A join by symbol and by pieces of time as long as the band: a quote stands in its own and in the next one.
pub fn band_buckets(trades: &Rows<Trade>, quotes: &Rows<Quote>) -> Rows<Pair> {
    const LONG: Time = BAND + 1;
    let trades: Keyed<Place, Pair> =
        trades.map_index(|Tup3(symbol, time, id)| (Tup2(*symbol, time / LONG), Tup2(*time, *id)));
    let quotes: Keyed<Place, Pair> = quotes.flat_map_index(|Tup4(symbol, time, price, _)| {
        [0, 1].map(|more| (Tup2(*symbol, time / LONG + more), Tup2(*time, *price)))
    });
    trades.join_flatmap(&quotes, |_, Tup2(at, id), Tup2(time, price)| {
        in_band(*at, *time).then_some(Tup2(*id, *price))
    })
}

/// DBSP's range join, which joins two batches alone, made incremental: new rows of each side with all of the other,
/// without those that are new on both.
pub fn band_range(trades: &Rows<Trade>, quotes: &Rows<Quote>) -> Rows<Pair> {
    let trades: Keyed<Place, i64> = trades.map_index(|Tup3(symbol, time, id)| (Tup2(*symbol, *time), *id));
    let quotes: Keyed<Place, i64> = quotes.map_index(|Tup4(symbol, time, price, _)| (Tup2(*symbol, *time), *price));
    let before = |Tup2(symbol, at): &Place| (Tup2(*symbol, at - BAND), Tup2(*symbol, at + 1));
    let behind = |Tup2(symbol, time): &Place| (Tup2(*symbol, *time), Tup2(*symbol, time + BAND + 1));
    let given = |_: &Place, id: &i64, _: &Place, price: &i64| Some(Tup2(*id, *price));
    let turned = |_: &Place, price: &i64, _: &Place, id: &i64| Some(Tup2(*id, *price));
    trades
        .stream_join_range(&quotes.integrate_trace(), before, given)
        .plus(&quotes.stream_join_range(&trades.integrate_trace(), behind, turned))
        .minus(&trades.stream_join_range(&quotes, before, given))
}

/// A join by symbol with a condition.
pub fn band_text(trades: &Rows<Trade>, quotes: &Rows<Quote>) -> Rows<Pair> {
    by_symbol(trades).join_flatmap(&prices(quotes), |_, Tup2(at, id), Tup2(time, price)| {
        in_band(*at, *time).then_some(Tup2(*id, *price))
    })
}

/// Whether a quote is in the band of a trade.
pub fn in_band(at: Time, time: Time) -> bool {
    (at - BAND..=at).contains(&time)
}
