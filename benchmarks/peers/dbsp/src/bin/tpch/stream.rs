//! What the program is given: a folder with the columns of the tables, and changes of their rows.
//!
//! `TABLE.COLUMN.numbers` holds 64-bit integers (decimals in cents, dates in days since 1970), `TABLE.COLUMN.texts` a
//! text a line; `changes` holds triples of 32-bit integers: table, row, and 1 for a row that comes or -1 for one that
//! goes; `always` the same for the rows of tables that do not change; `ends` the 64-bit numbers of changes after which
//! commits end. The first one ends what is loaded before the clock starts. The least byte comes first everywhere.

use std::fs;
use std::path::PathBuf;

/// A row that comes (weight 1) or goes (weight -1).
#[derive(Clone, Copy, Debug)]
pub struct Change {
    pub table: usize,
    pub row: usize,
    pub weight: i64,
}

/// Changes in commits, over tables.
pub struct Stream {
    folder: PathBuf,
    tables: Vec<String>,
    always: Vec<Change>,
    changes: Vec<Change>,
    ends: Vec<usize>,
}

impl Stream {
    /// Reads the changes of a folder; columns are read when they are asked for.
    ///
    /// # Panics
    ///
    /// A file is not there: the message says which.
    pub fn open(folder: &str, tables: &str) -> Stream {
        let folder = PathBuf::from(folder);
        let ends: Vec<i64> = words_of_64_bits(&folder.join("ends"));
        Stream {
            tables: tables.split(',').map(String::from).collect(),
            always: changes(&folder.join("always")),
            changes: changes(&folder.join("changes")),
            ends: ends.into_iter().map(|end| end as usize).collect(),
            folder,
        }
    }

    /// The number by which changes name a table.
    pub fn table(&self, name: &str) -> usize {
        let place = self.tables.iter().position(|table| table == name);
        place.unwrap_or_else(|| panic!("there is no table {name}"))
    }

    /// A column of integers.
    pub fn numbers(&self, table: &str, column: &str) -> &'static [i64] {
        let file = self.folder.join(format!("{table}.{column}.numbers"));
        words_of_64_bits(&file).leak()
    }

    /// A column of keys, which fit 32 bits.
    pub fn keys(&self, table: &str, column: &str) -> &'static [Key] {
        let numbers = self.numbers(table, column).iter();
        numbers
            .map(|&key| Key::try_from(key).expect("a key of 32 bits"))
            .collect::<Vec<_>>()
            .leak()
    }

    /// A column of texts.
    pub fn texts(&self, table: &str, column: &str) -> &'static [String] {
        let file = self.folder.join(format!("{table}.{column}.texts"));
        let read = fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        read.lines().map(String::from).collect::<Vec<_>>().leak()
    }

    /// The rows of tables that do not change, as changes.
    pub fn always(&self) -> &[Change] {
        &self.always
    }

    /// The changes before the clock starts.
    pub fn load(&self) -> &[Change] {
        &self.changes[..self.ends[0]]
    }

    /// The commits that are measured, each with the number of changes after it.
    pub fn commits(&self) -> impl Iterator<Item = (usize, &[Change])> {
        self.ends
            .windows(2)
            .map(|ends| (ends[1], &self.changes[ends[0]..ends[1]]))
    }
}

/// A key of a row.
pub type Key = i32;

fn change(triple: &[i32]) -> Change {
    Change {
        table: triple[0] as usize,
        row: triple[1] as usize,
        weight: triple[2].into(),
    }
}

fn changes(file: &PathBuf) -> Vec<Change> {
    words(file, i32::from_le_bytes).chunks_exact(3).map(change).collect()
}

fn words_of_64_bits(file: &PathBuf) -> Vec<i64> {
    words(file, i64::from_le_bytes)
}

fn words<const N: usize, W>(file: &PathBuf, word: impl Fn([u8; N]) -> W) -> Vec<W> {
    let bytes = fs::read(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    bytes
        .chunks_exact(N)
        .map(|bytes| word(bytes.try_into().unwrap()))
        .collect()
}
