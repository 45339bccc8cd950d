//! Q17: lines of chosen parts with less than a fifth of the average quantity.

use dbsp::utils::{Tup2, Tup3};

use crate::result::{Result, decimal, kept_or};
use crate::stream::Key;
use crate::{Inputs, Keyed, Rows};

/// Quantity and price of a line.
type Sold = Tup2<i64, i64>;

/// The lines of the chosen parts first; averages of these parts alone.
pub fn small_best(inputs: &mut Inputs) -> Box<dyn Result> {
    let lines = lines(inputs).join_index(&chosen(inputs), |part, sold, ()| Some((*part, sold.clone())));
    prices(&lines, &sums(&lines))
}

/// The averages of all parts, joined with the lines of the chosen ones.
pub fn small_text(inputs: &mut Inputs) -> Box<dyn Result> {
    let lines = lines(inputs);
    let some = lines.join_index(&chosen(inputs), |part, sold, ()| Some((*part, sold.clone())));
    prices(&some, &sums(&lines))
}

/// The lines of each part.
fn lines(inputs: &mut Inputs) -> Keyed<Key, Sold> {
    let stream = inputs.stream;
    let part = stream.keys("lineitem", "l_partkey");
    let (quantity, price) = (
        stream.numbers("lineitem", "l_quantity"),
        stream.numbers("lineitem", "l_extendedprice"),
    );
    inputs
        .rows("lineitem", move |row| Some(Tup3(part[row], quantity[row], price[row])))
        .map_index(|Tup3(part, quantity, price)| (*part, Tup2(*quantity, *price)))
}

fn chosen(inputs: &mut Inputs) -> Keyed<Key, ()> {
    let stream = inputs.stream;
    let (key, brand) = (stream.keys("part", "p_partkey"), stream.texts("part", "p_brand"));
    let container = stream.texts("part", "p_container");
    inputs
        .rows("part", move |row| {
            (brand[row] == "Brand#23" && container[row] == "MED BOX").then_some(key[row])
        })
        .map_index(|key| (*key, ()))
}

/// The sum of the quantities of each part, and the number of its lines.
fn sums(lines: &Keyed<Key, Sold>) -> Keyed<Key, Tup2<i64, i64>> {
    lines.aggregate_linear(|Tup2(quantity, _)| Tup2(*quantity, 1_i64))
}

/// The prices of lines with less than a fifth of the average, a seventh of their sum; NULL if there are none.
fn prices(lines: &Keyed<Key, Sold>, sums: &Keyed<Key, Tup2<i64, i64>>) -> Box<dyn Result> {
    let total: Rows<Tup2<i64, i64>> = lines
        .join_index(sums, |_, Tup2(quantity, price), Tup2(sum, number)| {
            (5 * quantity * number < *sum).then_some(((), *price))
        })
        .aggregate_linear(|price| Tup2(*price, 1_i64))
        .map(|(_, sum)| sum.clone());
    kept_or(
        &total,
        |Tup2(sum, _)| format!("[[{}, 7]]", decimal(*sum, 2)),
        &["[null]"],
    )
}
