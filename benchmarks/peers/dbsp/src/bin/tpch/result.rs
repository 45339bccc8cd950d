//! A result, which is the sum of its deltas, and its rows as JSON.

use std::collections::BTreeMap;

use dbsp::DBData;
use dbsp::typed_batch::IndexedZSetReader;

use crate::Rows;

/// A result that is kept by its deltas.
pub trait Result: Send {
    /// Takes the delta of a commit; how many rows it has, each as often as it comes or goes.
    fn read(&mut self) -> u64;

    /// The rows that are there, as lists of JSON.
    fn rows(&self) -> Vec<String>;
}

struct Kept<D, N, T> {
    next: N,
    there: BTreeMap<D, i64>,
    text: T,
    empty: Vec<String>,
}

/// The rows of a stream, and how they are written: as a list of numbers, texts, and quotients `[dividend, divisor]`.
pub fn kept<D: DBData>(rows: &Rows<D>, text: impl Fn(&D) -> String + Send + 'static) -> Box<dyn Result> {
    kept_or(rows, text, &[])
}

/// The same, and the rows that stand there where the stream has none: an aggregate without groups has one of NULL.
pub fn kept_or<D: DBData>(
    rows: &Rows<D>,
    text: impl Fn(&D) -> String + Send + 'static,
    empty: &[&str],
) -> Box<dyn Result> {
    let output = rows.accumulate_output();
    let next = move || {
        let delta = output.concat().consolidate();
        delta.iter().map(|(row, (), weight)| (row, weight)).collect::<Vec<_>>()
    };
    Box::new(Kept {
        next,
        there: BTreeMap::new(),
        text,
        empty: empty.iter().map(|row| row.to_string()).collect(),
    })
}

impl<D: DBData, N: FnMut() -> Vec<(D, i64)> + Send, T: Fn(&D) -> String + Send> Result for Kept<D, N, T> {
    fn read(&mut self) -> u64 {
        let mut number = 0;
        for (row, weight) in (self.next)() {
            number += weight.unsigned_abs();
            *self.there.entry(row).or_default() += weight;
        }
        self.there.retain(|_, weight| *weight != 0);
        number
    }

    fn rows(&self) -> Vec<String> {
        let copies = |(row, weight): (&D, &i64)| {
            assert!(*weight > 0, "{row:?} is there {weight} times");
            vec![(self.text)(row); *weight as usize]
        };
        match self.there.is_empty() {
            true => self.empty.clone(),
            false => self.there.iter().flat_map(copies).collect(),
        }
    }
}

/// A decimal number with so many digits behind its point.
pub fn decimal(number: i64, digits: u32) -> String {
    let (size, unit) = (number.unsigned_abs(), 10_u64.pow(digits));
    let sign = if number < 0 { "-" } else { "" };
    format!("{sign}{}.{:0width$}", size / unit, size % unit, width = digits as usize)
}

#[cfg(test)]
mod tests {
    use super::decimal;

    #[test]
    fn decimals_keep_their_digits() {
        assert_eq!(decimal(1234, 2), "12.34");
        assert_eq!(decimal(-5, 4), "-0.0005");
    }
}
