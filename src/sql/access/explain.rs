//! Access plans in words.

use super::key_region::Slab;
use super::operand::{PARTITION_KEY, ROW_KEY};
use super::path::AccessPath;
use super::plan::AccessPlan;
use rowkey_model::{Cut, IntervalSet, KeySet};

/// Most ranges spelled out; of more, the first few and a count.
const RANGES_SHOWN_MAX: usize = 3;

impl AccessPlan {
    /// The key bounds, as one would write them in SQL: the ranges that are read, or where they hold
    /// more than the filters ask for (RowKeys bounded in a span of partitions), what is asked for.
    pub fn describe(&self) -> String {
        if self.keys.is_empty() || self.ranges_are_region() {
            describe_keys(&self.keys)
        } else {
            either(self.region().slabs().iter().map(describe_slab))
        }
    }

    /// Whether a span of partitions is read: one with a bound, below, above, or both.
    pub fn is_partition_range(&self) -> bool {
        match self.path {
            AccessPath::Partition => self.keys.ranges().iter().any(|range| range.single_partition().is_none()),
            AccessPath::Table => {
                let slabs = self.region().slabs();
                let lower = slabs.first().is_some_and(|slab| *slab.partitions.lower() != Cut::Start);
                lower || slabs.last().is_some_and(|slab| *slab.partitions.upper() != Cut::End)
            }
            AccessPath::Point | AccessPath::Range => false,
        }
    }

    /// For a table scan, the key bound that would make it cheaper.
    pub fn hint(&self) -> Option<String> {
        if self.path != AccessPath::Table {
            return None;
        }
        let slabs = self.region().slabs();
        let row_bound = !slabs.is_empty() && slabs.iter().all(|slab| !slab.rows.is_all());
        let row_points = slabs.iter().all(|slab| is_points(&slab.rows));
        let lower = slabs.first().is_some_and(|slab| *slab.partitions.lower() != Cut::Start);
        let upper = slabs.last().is_some_and(|slab| *slab.partitions.upper() != Cut::End);
        let hint = if self.residual_reads_partition_key() && !lower && !upper {
            "PartitionKey is used in a way that gives no bound (in a function, after a leading wildcard, or in an OR \
             with other columns): compare it with a constant in a condition of its own, PartitionKey = '...', to read \
             one partition"
        } else if row_bound && row_points {
            "RowKey is bound but PartitionKey is not, so every partition is read: add PartitionKey = '...' to make it \
             a point query"
        } else if row_bound {
            "RowKey is bound but PartitionKey is not, so every partition is read: add PartitionKey = '...' to make it \
             a range query"
        } else if lower {
            "PartitionKey has no upper bound: add PartitionKey < '...' to read a span of partitions, or \
             PartitionKey = '...' to read one"
        } else if upper {
            "PartitionKey has no lower bound: add PartitionKey >= '...' to read a span of partitions, or \
             PartitionKey = '...' to read one"
        } else if self.residual_reads_row_key() {
            "RowKey is used in a way that gives no bound, and PartitionKey is not bound: add PartitionKey = '...' to \
             read one partition"
        } else if !self.region().is_all() {
            "the filters leave out some keys but do not bound PartitionKey: add PartitionKey = '...' to read one \
             partition"
        } else {
            "neither PartitionKey nor RowKey is bound: add PartitionKey = '...' to read one partition, and a bound on \
             RowKey to read a part of it"
        };
        Some(hint.to_owned())
    }
}

/// Ranges of keys, as one would write them in SQL.
pub(crate) fn describe_keys(keys: &KeySet) -> String {
    match keys.is_empty() {
        true => "no keys".to_owned(),
        false => either(keys.ranges().iter().map(ToString::to_string)),
    }
}

/// The first few alternatives, and how many there are beside them.
fn either(alternatives: impl ExactSizeIterator<Item = String>) -> String {
    let more = alternatives.len().saturating_sub(RANGES_SHOWN_MAX);
    let mut shown: Vec<String> = alternatives.take(RANGES_SHOWN_MAX).collect();
    if more > 0 {
        shown.push(format!("{more} more"));
    }
    shown.join(" OR ")
}

fn describe_slab(slab: &Slab) -> String {
    let partitions = slab.partitions.condition(PARTITION_KEY);
    let rows = either(slab.rows.intervals().iter().map(|interval| interval.condition(ROW_KEY)));
    match (partitions.is_empty(), rows.is_empty()) {
        (true, true) => "all keys".to_owned(),
        (true, false) => rows,
        (false, true) => partitions,
        (false, false) if slab.rows.intervals().len() > 1 => format!("{partitions} AND ({rows})"),
        (false, false) => format!("{partitions} AND {rows}"),
    }
}

fn is_points(rows: &IntervalSet) -> bool {
    rows.intervals().iter().all(|interval| interval.as_point().is_some())
}

#[cfg(test)]
mod tests;
