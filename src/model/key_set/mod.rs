//! Sets of keys: what a predicate over the key columns allows, and what storage is asked to read.
//!
//! Two axes. [`IntervalSet`] is a set of strings (one key column); [`KeySet`] a set of composite
//! keys. Both are sorted lists of disjoint, non-adjacent, non-empty spans, so equal sets have equal
//! lists, and membership is a binary search. A bound is a *cut*, a place between two neighbours in
//! byte order: "before s" and "after s" are different places, and the ends of the axis are places
//! of their own. "" is the smallest string and never stands for "no bound".

mod interval;
mod range;
mod set;
mod spans;

pub use interval::{Cut, Interval, IntervalSet};
pub use range::{KeyCut, KeyRange};
pub use set::KeySet;

#[cfg(test)]
mod tests;
