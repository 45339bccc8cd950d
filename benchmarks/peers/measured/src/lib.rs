//! What all programs share: the stream of changes, the clock, and the sums that answers are checked by.
//!
//! A program is called as `PROGRAM FILE --query Q --plan P --commit N --workers W --loaded L --modulus M` and prints
//! one line of JSON. FILE holds triples of 32-bit integers: source, target, and 1 for an edge that comes or -1 for one
//! that goes. The first L changes are loaded before the clock starts.

use std::fs;
use std::ops::AddAssign;
use std::time::{Duration, Instant};

/// The number of a node.
pub type Node = u32;

/// What stands for NULL in a row: nodes are not negative.
pub const NULL: i64 = -1;

/// Changes that are loaded at a time before the clock starts.
const LOADED: usize = 10_000;

/// An edge that comes (weight 1) or goes (weight -1).
#[derive(Clone, Copy, Debug)]
pub struct Change {
    pub edge: (Node, Node),
    pub weight: isize,
}

/// What a program is asked to do.
pub struct Job {
    pub query: String,
    pub plan: String,
    pub workers: usize,
    pub modulus: Node,
    commit: usize,
    loaded: usize,
    changes: Vec<Change>,
}

impl Job {
    /// Reads the arguments of the process and the file that they name.
    ///
    /// # Panics
    ///
    /// An argument is missing or not what it should be: the message says which.
    pub fn from_arguments() -> Job {
        let given: Vec<String> = std::env::args().skip(1).collect();
        let path = given.first().expect("a file of changes comes first");
        let text = |name: &str| -> String {
            let at = given.iter().position(|word| word == name);
            let value = at.and_then(|at| given.get(at + 1));
            value.unwrap_or_else(|| panic!("{name} is missing")).clone()
        };
        let number = |name: &str| -> usize {
            let value = text(name);
            value
                .parse()
                .unwrap_or_else(|_| panic!("{name} {value} is not a number"))
        };
        let bytes = fs::read(path).unwrap_or_else(|error| panic!("{path}: {error}"));
        let words: Vec<i32> = bytes
            .chunks_exact(4)
            .map(|four| i32::from_le_bytes(four.try_into().unwrap()))
            .collect();
        let changes = words.chunks_exact(3).map(|triple| Change {
            edge: (triple[0] as Node, triple[1] as Node),
            weight: triple[2] as isize,
        });
        Job {
            query: text("--query"),
            plan: text("--plan"),
            workers: number("--workers"),
            modulus: number("--modulus") as Node,
            commit: number("--commit"),
            loaded: number("--loaded"),
            changes: changes.collect(),
        }
    }

    /// The changes that are there when the clock starts, in commits of a size that suits loading.
    pub fn load(&self) -> impl Iterator<Item = &[Change]> {
        self.changes[..self.loaded].chunks(LOADED)
    }

    /// The commits that are measured.
    pub fn commits(&self) -> impl Iterator<Item = &[Change]> {
        self.changes[self.loaded..].chunks(self.commit)
    }

    /// Says that the program has no such query or plan, and ends it.
    pub fn refuse(&self) -> ! {
        panic!("there is no plan {:?} for {:?}", self.plan, self.query)
    }

    /// Prints what was measured: `loaded` are the sums over the changes before the clock, `delta` those after it.
    ///
    /// A program that counts rows and does not make them has no hashes to sum.
    pub fn print(&self, clock: &Stopped, loaded: Tally, delta: Tally, hashed: bool) {
        let mut result = loaded;
        result += delta;
        let sums = |tally: Tally| match hashed {
            true => format!("[{}, {}]", tally.number, tally.hash),
            false => format!("[{}, null]", tally.number),
        };
        println!(
            "{{\"query\": {:?}, \"plan\": {:?}, \"commit\": {}, \"workers\": {}, \"changes\": {}, \"wall\": {}, \
             \"processor\": {}, \"rows\": {}, \"delta\": {}, \"result\": {}}}",
            self.query,
            self.plan,
            self.commit,
            self.workers,
            self.changes.len() - self.loaded,
            clock.wall.as_secs_f64(),
            clock.processor.as_secs_f64(),
            delta.rows,
            sums(delta),
            sums(result),
        );
    }
}

/// Sums over rows with weights that do not depend on their order; those of a result are those of its deltas, added up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Rows that came or went, each as often as it did.
    pub rows: u64,
    /// Rows that came, less those that went.
    pub number: i64,
    /// The hashes of those that came, less the hashes of those that went.
    pub hash: u64,
}

impl Tally {
    /// Counts a row.
    #[inline]
    pub fn add<const N: usize>(&mut self, row: [i64; N], weight: isize) {
        self.rows += weight.unsigned_abs() as u64;
        self.number += weight as i64;
        self.hash = self.hash.wrapping_add(hash(row).wrapping_mul(weight as u64));
    }

    /// Counts that the number in the only row is another one; there is no row before the first commit.
    pub fn replace(&mut self, before: Option<i64>, after: i64) {
        if before != Some(after) {
            before.into_iter().for_each(|number| self.add([number], -1));
            self.add([after], 1);
        }
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Tally) {
        self.rows += other.rows;
        self.number += other.number;
        self.hash = self.hash.wrapping_add(other.hash);
    }
}

/// The hash of a row: that of `benchmarks.peers.answers`.
#[inline]
fn hash<const N: usize>(row: [i64; N]) -> u64 {
    row.into_iter().fold(0, |sum, word| {
        let mixed = (sum ^ word as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        mixed ^ (mixed >> 29)
    })
}

/// Time on the wall, and time of the processor for all threads of the process.
pub struct Clock {
    wall: Instant,
    processor: Duration,
}

/// What a clock showed.
pub struct Stopped {
    pub wall: Duration,
    pub processor: Duration,
}

impl Clock {
    /// A clock that runs.
    pub fn start() -> Clock {
        Clock {
            wall: Instant::now(),
            processor: processor(),
        }
    }

    /// What has passed.
    pub fn stop(&self) -> Stopped {
        Stopped {
            wall: self.wall.elapsed(),
            processor: processor() - self.processor,
        }
    }
}

fn processor() -> Duration {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a timespec that lives until the call is over.
    let failed = unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut now) };
    assert_eq!(failed, 0, "this system has no clock of the process");
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_and_went_leaves_no_trace_but_its_rows() {
        let mut tally = Tally::default();
        tally.add([3, -1], 2);
        tally.add([3, -1], -2);
        assert_eq!(
            tally,
            Tally {
                rows: 4,
                number: 0,
                hash: 0
            }
        );
    }

    #[test]
    fn hashes_are_those_of_python() {
        assert_eq!(hash([1, -2]), 0xEAE9_8E3D_FE0F_9975);
        assert_ne!(hash([1, -2]), hash([-2, 1]));
    }
}
