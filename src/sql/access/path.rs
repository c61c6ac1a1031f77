//! The four ways to read a table.

use std::fmt;

use rowkey_model::{KeyCut, KeySet};

/// How a table is read, cheapest first: the kinds of query of the Table service's design guide.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum AccessPath {
    /// Single keys.
    Point,
    /// Ranges of RowKeys within partitions.
    Range,
    /// Whole partitions, named or in a bounded span.
    Partition,
    /// Anything else.
    #[default]
    Table,
}

impl AccessPath {
    /// The path that a set of keys takes, by its shape alone. The empty set is read like single
    /// keys: there are none.
    pub fn of(keys: &KeySet) -> Self {
        let path = keys.ranges().iter().map(|range| {
            if range.as_point().is_some() {
                AccessPath::Point
            } else if range.is_whole_partition() {
                AccessPath::Partition
            } else if range.single_partition().is_some() {
                AccessPath::Range
            } else if *range.lower() == KeyCut::Start || *range.upper() == KeyCut::End {
                AccessPath::Table
            } else {
                AccessPath::Partition
            }
        });
        path.max().unwrap_or(AccessPath::Point)
    }

    /// The label in EXPLAIN.
    pub fn label(self) -> &'static str {
        match self {
            AccessPath::Point => "point",
            AccessPath::Range => "range",
            AccessPath::Partition => "partition",
            AccessPath::Table => "table",
        }
    }
}

impl fmt::Display for AccessPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.label())
    }
}

#[cfg(test)]
mod tests;
