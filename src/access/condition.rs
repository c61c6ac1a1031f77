//! Key sets as expressions again: what is left to check in a file.

use datafusion::common::Column;
use datafusion::logical_expr::expr::InList;
use datafusion::logical_expr::{Expr, lit};

use super::operand::{PARTITION_KEY, ROW_KEY};
use super::plan::AccessPlan;
use crate::model::{KeyCut, KeyRange, KeyRef};

impl AccessPlan {
    /// What a scan of a file whose keys lie from `first` to `last`, both included, has to check so that no exact filter
    /// is lost; `None` when nothing is left to check.
    ///
    /// Where `keys_exact` allows it this is the key set, cut down to what divides the file: neither bounds outside the
    /// file nor ranges beside it, and no PartitionKey when the file has only one. Otherwise it is the exact filters.
    /// `filters` are those the plan was made of; `literal` makes a constant of the type of the key columns.
    pub fn condition_within(
        &self,
        filters: &[Expr],
        first: KeyRef<'_>,
        last: KeyRef<'_>,
        literal: impl Fn(&str) -> Expr,
    ) -> Option<Expr> {
        if !self.keys_exact {
            let exact = filters.iter().zip(&self.exact).filter(|(_, exact)| **exact);
            return balanced(exact.map(|(filter, _)| filter.clone()).collect(), Expr::and);
        }
        if self.keys.covers(first, last) {
            return None;
        }
        let span = Span { first, last, literal };
        let alike = |a: &KeyRange, b: &KeyRange| match (a.as_point(), b.as_point()) {
            (Some(a), Some(b)) => a.partition == b.partition,
            _ => a.is_whole_partition() && b.is_whole_partition(),
        };
        let groups = self.keys.overlapping(first, last).chunk_by(alike);
        let conditions = groups.map(|group| span.group(group)).collect();
        // Not covered and no range in reach: no key of the file is wanted.
        balanced(conditions, Expr::or).or_else(|| Some(lit(false)))
    }
}

/// Combines expressions into a tree of logarithmic depth: everything that walks expressions recurses.
fn balanced(mut exprs: Vec<Expr>, with: fn(Expr, Expr) -> Expr) -> Option<Expr> {
    while exprs.len() > 1 {
        let mut halved = Vec::with_capacity(exprs.len().div_ceil(2));
        let mut rest = exprs.into_iter();
        while let Some(left) = rest.next() {
            halved.push(match rest.next() {
                Some(right) => with(left, right),
                None => left,
            });
        }
        exprs = halved;
    }
    exprs.pop()
}

fn column(name: &str) -> Expr {
    Expr::Column(Column::from_name(name))
}

/// The keys of a file.
struct Span<'a, L> {
    first: KeyRef<'a>,
    last: KeyRef<'a>,
    literal: L,
}

impl<L: Fn(&str) -> Expr> Span<'_, L> {
    /// Points of one partition, several whole partitions, or any one range.
    fn group(&self, group: &[KeyRange]) -> Expr {
        let points: Option<Vec<KeyRef>> = group.iter().map(KeyRange::as_point).collect();
        let partitions: Option<Vec<&str>> = group.iter().map(KeyRange::single_partition).collect();
        let conditions = match (points.as_deref(), partitions.as_deref(), group) {
            (Some(points @ [point, ..]), _, _) => {
                let rows = points.iter().map(|key| key.row).collect();
                vec![self.in_partition(point.partition), Some(self.one_of(ROW_KEY, rows))]
            }
            (_, Some([partition]), [range]) => {
                vec![self.in_partition(partition), self.row_above(range.lower()), self.row_below(range.upper())]
            }
            (_, Some(partitions), _) => vec![Some(self.one_of(PARTITION_KEY, partitions.to_vec()))],
            _ => group.iter().flat_map(|range| [self.above(range.lower()), self.below(range.upper())]).collect(),
        };
        let conditions = conditions.into_iter().flatten().collect();
        balanced(conditions, Expr::and).unwrap_or_else(|| lit(true))
    }

    fn one_of(&self, name: &str, texts: Vec<&str>) -> Expr {
        match texts.as_slice() {
            [text] => column(name).eq((self.literal)(text)),
            _ => {
                let list = texts.into_iter().map(&self.literal).collect();
                Expr::InList(InList::new(Box::new(column(name)), list, false))
            }
        }
    }

    /// Nothing to check when every key of the file has that PartitionKey.
    fn in_partition(&self, partition: &str) -> Option<Expr> {
        let only = self.first.partition == partition && self.last.partition == partition;
        (!only).then(|| column(PARTITION_KEY).eq((self.literal)(partition)))
    }

    /// The RowKey is above a cut within the partition that is known already.
    fn row_above(&self, cut: &KeyCut) -> Option<Expr> {
        match cut {
            _ if cut.is_below(self.first) => None,
            KeyCut::Before(key) => Some(column(ROW_KEY).gt_eq((self.literal)(&key.row))),
            KeyCut::After(key) => Some(column(ROW_KEY).gt((self.literal)(&key.row))),
            _ => None,
        }
    }

    /// The RowKey is below a cut within the partition that is known already.
    fn row_below(&self, cut: &KeyCut) -> Option<Expr> {
        match cut {
            _ if !cut.is_below(self.last) => None,
            KeyCut::Before(key) => Some(column(ROW_KEY).lt((self.literal)(&key.row))),
            KeyCut::After(key) => Some(column(ROW_KEY).lt_eq((self.literal)(&key.row))),
            _ => None,
        }
    }

    fn above(&self, cut: &KeyCut) -> Option<Expr> {
        if cut.is_below(self.first) {
            return None;
        }
        let partition = || column(PARTITION_KEY);
        match cut {
            KeyCut::Start | KeyCut::End => None,
            KeyCut::BeforePartition(bound) => Some(partition().gt_eq((self.literal)(bound))),
            KeyCut::AfterPartition(bound) => Some(partition().gt((self.literal)(bound))),
            KeyCut::Before(key) | KeyCut::After(key) => {
                let row = self.row_above(cut)?;
                Some(match self.in_partition(&key.partition) {
                    Some(same) => partition().gt((self.literal)(&key.partition)).or(same.and(row)),
                    None => row,
                })
            }
        }
    }

    fn below(&self, cut: &KeyCut) -> Option<Expr> {
        if !cut.is_below(self.last) {
            return None;
        }
        let partition = || column(PARTITION_KEY);
        match cut {
            KeyCut::Start | KeyCut::End => None,
            KeyCut::BeforePartition(bound) => Some(partition().lt((self.literal)(bound))),
            KeyCut::AfterPartition(bound) => Some(partition().lt_eq((self.literal)(bound))),
            KeyCut::Before(key) | KeyCut::After(key) => {
                let row = self.row_below(cut)?;
                Some(match self.in_partition(&key.partition) {
                    Some(same) => partition().lt((self.literal)(&key.partition)).or(same.and(row)),
                    None => row,
                })
            }
        }
    }
}

#[cfg(test)]
mod tests;
