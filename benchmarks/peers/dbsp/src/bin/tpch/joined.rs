//! Sums over joins: Q3, the first orders by revenue, and Q5, revenue by nation.
//!
//! By the best plan a line comes with its revenue as its weight: joins multiply weights, so that the sums are there when
//! the join is, and an order (and supplier) has one row however many lines it has. A revenue is never 0.

use dbsp::utils::{Tup2, Tup3, Tup4};

use crate::result::{Result, decimal, kept};
use crate::stream::Key;
use crate::{Inputs, Keyed, Rows};

const MARCH: i64 = 9_204; // 1995-03-15
const YEAR: std::ops::Range<i64> = 8_766..9_131; // 1994

/// Date and priority of an order.
type About = Tup2<i32, i32>;

/// Q3: `(customer orders) lineitem`, where lines are weights.
pub fn shipping_best(inputs: &mut Inputs) -> Box<dyn Result> {
    let (stream, shipped, revenue) = (inputs.stream, shipped(inputs), revenue(inputs));
    let orders = stream.keys("lineitem", "l_orderkey");
    let lines = inputs.weighed("lineitem", move |row| {
        (shipped[row] > MARCH).then(|| Tup2(orders[row], revenue(row)))
    });
    let sums = building_orders(inputs)
        .join(
            &lines.map_index(|order| (*order, ())),
            |order, Tup2(date, priority), ()| Tup3(*order, *date, *priority),
        )
        .weighted_count()
        .map(|(Tup3(order, date, priority), sum)| Tup4(*order, *date, *priority, *sum));
    first_ten(&sums)
}

/// Q3: `(customer orders) lineitem`, then the groups.
pub fn shipping_text(inputs: &mut Inputs) -> Box<dyn Result> {
    let (stream, shipped, revenue) = (inputs.stream, shipped(inputs), revenue(inputs));
    let orders = stream.keys("lineitem", "l_orderkey");
    let lines = inputs.rows("lineitem", move |row| {
        (shipped[row] > MARCH).then(|| Tup2(orders[row], revenue(row)))
    });
    let lines = lines.map_index(|Tup2(order, revenue)| (*order, *revenue));
    let sums = building_orders(inputs)
        .join_index(&lines, |order, Tup2(date, priority), sum| {
            Some((Tup3(*order, *date, *priority), *sum))
        })
        .aggregate_linear(|revenue| *revenue)
        .map(|(Tup3(order, date, priority), sum)| Tup4(*order, *date, *priority, *sum));
    first_ten(&sums)
}

/// The orders before March 15, 1995 of customers in the segment BUILDING.
fn building_orders(inputs: &mut Inputs) -> Keyed<Key, About> {
    let stream = inputs.stream;
    let (customer, segment) = (
        stream.keys("customer", "c_custkey"),
        stream.texts("customer", "c_mktsegment"),
    );
    let (order, of) = (stream.keys("orders", "o_orderkey"), stream.keys("orders", "o_custkey"));
    let (date, priority) = (
        stream.keys("orders", "o_orderdate"),
        stream.keys("orders", "o_shippriority"),
    );
    let customers = inputs.rows("customer", move |row| {
        (segment[row] == "BUILDING").then_some(customer[row])
    });
    let orders = inputs.rows("orders", move |row| {
        (i64::from(date[row]) < MARCH).then(|| Tup4(of[row], order[row], date[row], priority[row]))
    });
    customers.map_index(|key| (*key, ())).join_index(
        &orders.map_index(|Tup4(of, order, date, priority)| (*of, Tup3(*order, *date, *priority))),
        |_, (), Tup3(order, date, priority)| Some((*order, Tup2(*date, *priority))),
    )
}

/// The ten orders with the largest revenue, of equal ones the oldest, of these the least key.
fn first_ten(sums: &Rows<Tup4<Key, i32, i32, i64>>) -> Box<dyn Result> {
    let first = sums
        .map_index(|Tup4(order, date, priority, sum)| ((), Tup4(-sum, *date, *order, *priority)))
        .topk_asc(10)
        .map(|((), first)| first.clone());
    kept(&first, |Tup4(negative, date, order, priority)| {
        format!("[{order}, {}, {date}, {priority}]", decimal(-negative, 4))
    })
}

/// Q5: from the region on, `((region nation) customer) orders) lineitem) supplier`, where lines are weights.
pub fn volume_best(inputs: &mut Inputs) -> Box<dyn Result> {
    let (stream, revenue, orders) = (inputs.stream, revenue(inputs), orders_of_the_year(inputs));
    let (order, supplier) = (
        stream.keys("lineitem", "l_orderkey"),
        stream.keys("lineitem", "l_suppkey"),
    );
    let lines = inputs.weighed("lineitem", move |row| {
        Some(Tup2(Tup2(order[row], supplier[row]), revenue(row)))
    });
    let names = asian_nations(inputs);
    let sums = customers(inputs)
        .map_index(|Tup2(nation, customer)| (*nation, *customer))
        .join_index(&names, |nation, customer, _| Some((*customer, *nation)))
        .join_index(&orders, |_, nation, order| Some((*order, *nation)))
        .join_index(
            &lines.map_index(|Tup2(order, supplier)| (*order, *supplier)),
            |_, nation, supplier| Some((Tup2(*supplier, *nation), ())),
        )
        .join_index(&suppliers(inputs), |Tup2(_, nation), (), ()| Some((*nation, ())))
        .join(&names, |_, (), name| name.clone())
        .weighted_count()
        .map(|(name, sum)| Tup2(name.clone(), *sum));
    volumes(&sums)
}

/// Q5: `((((customer orders) lineitem) supplier) nation) region`, then the groups.
pub fn volume_text(inputs: &mut Inputs) -> Box<dyn Result> {
    let (stream, revenue, orders) = (inputs.stream, revenue(inputs), orders_of_the_year(inputs));
    let (order, supplier) = (
        stream.keys("lineitem", "l_orderkey"),
        stream.keys("lineitem", "l_suppkey"),
    );
    let lines = inputs.rows("lineitem", move |row| {
        Some(Tup3(order[row], supplier[row], revenue(row)))
    });
    let sums = customers(inputs)
        .map_index(|Tup2(nation, customer)| (*customer, *nation))
        .join_index(&orders, |_, nation, order| Some((*order, *nation)))
        .join_index(
            &lines.map_index(|Tup3(order, supplier, revenue)| (*order, Tup2(*supplier, *revenue))),
            |_, nation, Tup2(supplier, revenue)| Some((Tup2(*supplier, *nation), *revenue)),
        )
        .join_index(&suppliers(inputs), |Tup2(_, nation), revenue, ()| {
            Some((*nation, *revenue))
        })
        .join_index(&asian_nations(inputs), |_, revenue, name| {
            Some((name.clone(), *revenue))
        })
        .aggregate_linear(|revenue| *revenue)
        .map(|(name, sum)| Tup2(name.clone(), *sum));
    volumes(&sums)
}

fn orders_of_the_year(inputs: &mut Inputs) -> Keyed<Key, Key> {
    let stream = inputs.stream;
    let (order, of) = (stream.keys("orders", "o_orderkey"), stream.keys("orders", "o_custkey"));
    let date = stream.numbers("orders", "o_orderdate");
    let orders = inputs.rows("orders", move |row| {
        YEAR.contains(&date[row]).then(|| Tup2(of[row], order[row]))
    });
    orders.map_index(|Tup2(customer, order)| (*customer, *order))
}

/// Nation and key of each customer.
fn customers(inputs: &mut Inputs) -> Rows<Tup2<Key, Key>> {
    let stream = inputs.stream;
    let (nation, key) = (
        stream.keys("customer", "c_nationkey"),
        stream.keys("customer", "c_custkey"),
    );
    inputs.rows("customer", move |row| Some(Tup2(nation[row], key[row])))
}

/// Suppliers with their nations.
fn suppliers(inputs: &mut Inputs) -> Keyed<Tup2<Key, Key>, ()> {
    let stream = inputs.stream;
    let (nation, key) = (
        stream.keys("supplier", "s_nationkey"),
        stream.keys("supplier", "s_suppkey"),
    );
    inputs
        .rows("supplier", move |row| Some(Tup2(key[row], nation[row])))
        .map_index(|both| (both.clone(), ()))
}

/// The names of the nations of Asia.
fn asian_nations(inputs: &mut Inputs) -> Keyed<Key, String> {
    let stream = inputs.stream;
    let (region, name) = (stream.keys("region", "r_regionkey"), stream.texts("region", "r_name"));
    let regions = inputs.rows("region", move |row| (name[row] == "ASIA").then_some(region[row]));
    let (key, of) = (
        stream.keys("nation", "n_nationkey"),
        stream.keys("nation", "n_regionkey"),
    );
    let names = stream.texts("nation", "n_name");
    let nations = inputs.rows("nation", move |row| Some(Tup3(of[row], key[row], names[row].clone())));
    regions.map_index(|region| (*region, ())).join_index(
        &nations.map_index(|Tup3(region, key, name)| (*region, Tup2(*key, name.clone()))),
        |_, (), Tup2(key, name)| Some((*key, name.clone())),
    )
}

fn volumes(sums: &Rows<Tup2<String, i64>>) -> Box<dyn Result> {
    kept(sums, |Tup2(name, sum)| format!("[\"{name}\", {}]", decimal(*sum, 4)))
}

fn shipped(inputs: &Inputs) -> &'static [i64] {
    inputs.stream.numbers("lineitem", "l_shipdate")
}

/// The revenue of a line, in hundredths of cents.
fn revenue(inputs: &Inputs) -> impl Fn(usize) -> i64 + Send + use<> {
    let price = inputs.stream.numbers("lineitem", "l_extendedprice");
    let discount = inputs.stream.numbers("lineitem", "l_discount");
    move |row| price[row] * (100 - discount[row])
}
