//! Groups: Q1, whose table is alone, and Q13, customers by the number of their orders.

use dbsp::utils::{Tup2, Tup4, Tup6, Tup8};

use crate::result::{Result, decimal, kept};
use crate::stream::Key;
use crate::{Inputs, Rows};

const LAST_SHIPPED: i64 = 10_471; // 1998-09-02, 90 days before 1998-12-01

/// Q1: a linear aggregate of the rows, of which none is kept.
pub fn pricing(inputs: &mut Inputs) -> Box<dyn Result> {
    let stream = inputs.stream;
    let number = |column: &str| stream.numbers("lineitem", column);
    let flag = |column: &str| -> Vec<u8> {
        stream
            .texts("lineitem", column)
            .iter()
            .map(|text| text.as_bytes()[0])
            .collect()
    };
    let (returned, status, shipped) = (flag("l_returnflag"), flag("l_linestatus"), number("l_shipdate"));
    let (quantity, price) = (number("l_quantity"), number("l_extendedprice"));
    let (discount, tax) = (number("l_discount"), number("l_tax"));
    let lines = inputs.rows("lineitem", move |row| {
        let values = Tup6(
            returned[row],
            status[row],
            quantity[row],
            price[row],
            discount[row],
            tax[row],
        );
        (shipped[row] <= LAST_SHIPPED).then_some(values)
    });
    let sums = lines
        .map_index(|Tup6(returned, status, quantity, price, discount, tax)| {
            (Tup2(*returned, *status), Tup4(*quantity, *price, *discount, *tax))
        })
        .aggregate_linear(|Tup4(quantity, price, discount, tax)| {
            let sold = price * (100 - discount);
            Tup6(*quantity, *price, sold, sold * (100 + tax), *discount, 1_i64)
        })
        .map(
            |(Tup2(returned, status), Tup6(quantity, price, sold, charged, discount, number))| {
                Tup8(
                    *returned, *status, *quantity, *price, *sold, *charged, *discount, *number,
                )
            },
        );
    kept(
        &sums,
        |Tup8(returned, status, quantity, price, sold, charged, discount, number)| {
            let average = |sum: &i64| format!("[{}, {number}]", decimal(*sum, 2));
            let (returned, status) = (char::from(*returned), char::from(*status));
            let (all, cost, taxed) = (decimal(*quantity, 2), decimal(*price, 2), decimal(*charged, 6));
            let averages = [quantity, price, discount].map(average).join(", ");
            format!(
                "[\"{returned}\", \"{status}\", {all}, {cost}, {}, {taxed}, {averages}, {number}]",
                decimal(*sold, 4)
            )
        },
    )
}

/// Q13: each customer stands once, and once more for each order, so that one count gives both; then their numbers.
pub fn orders_best(inputs: &mut Inputs) -> Box<dyn Result> {
    let (customers, orders) = (customers(inputs), orders(inputs));
    let matched = orders
        .map_index(|key| (*key, ()))
        .join(&customers.map_index(|key| (*key, ())), |key, (), ()| *key);
    let numbers = customers.plus(&matched).weighted_count().map(|(_, number)| number - 1);
    distribution(&numbers)
}

/// Q13: LEFT JOIN, then both groupings.
pub fn orders_text(inputs: &mut Inputs) -> Box<dyn Result> {
    let (customers, orders) = (customers(inputs), orders(inputs));
    let matched = customers
        .map_index(|key| (*key, ()))
        .left_join(&orders.map_index(|key| (*key, Some(()))), |key, (), order| {
            Tup2(*key, order.is_some())
        });
    let numbers = matched
        .map_index(|Tup2(key, there)| (*key, *there))
        .aggregate_linear(|there| Tup2(1_i64, i64::from(*there)))
        .map(|(_, Tup2(_, number))| *number);
    distribution(&numbers)
}

fn customers(inputs: &mut Inputs) -> Rows<Key> {
    let keys = inputs.stream.keys("customer", "c_custkey");
    inputs.rows("customer", move |row| Some(keys[row]))
}

/// The customers of the orders whose comment has no special requests.
fn orders(inputs: &mut Inputs) -> Rows<Key> {
    let customers = inputs.stream.keys("orders", "o_custkey");
    let comments = inputs.stream.texts("orders", "o_comment");
    inputs.rows("orders", move |row| {
        (!is_special(&comments[row])).then_some(customers[row])
    })
}

/// `LIKE '%special%requests%'`
fn is_special(comment: &str) -> bool {
    let behind = comment.find("special").map(|place| &comment[place + "special".len()..]);
    behind.is_some_and(|rest| rest.contains("requests"))
}

fn distribution(numbers: &Rows<i64>) -> Box<dyn Result> {
    let groups = numbers
        .weighted_count()
        .map(|(orders, customers)| Tup2(*orders, *customers));
    kept(&groups, |Tup2(orders, customers)| format!("[{orders}, {customers}]"))
}

#[cfg(test)]
mod tests {
    use super::is_special;

    #[test]
    fn requests_come_behind_special() {
        assert!(is_special("the specialrequests"));
        assert!(!is_special("requests are special"));
        assert!(!is_special("special"));
    }
}
