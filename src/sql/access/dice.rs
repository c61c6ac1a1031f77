//! Repeatable random choices over a small universe of keys, for tests.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, StringViewArray};
use datafusion::logical_expr::expr::{Between, InList, Like};
use datafusion::logical_expr::{BinaryExpr, Expr, Operator, col, lit};
use datafusion::scalar::ScalarValue;

use super::oracle::{call, row_literal};
use rowkey_base::testing::Dice;
use rowkey_model::{Cut, Interval, IntervalSet, KeyRef};
use rowkey_postgres::functions::RowIn;

/// Shared prefixes, wildcards, the empty text, and characters on both sides of the surrogates,
/// where UTF-16 order differs from the order of UTF-8 bytes.
pub(super) const TEXTS: [&str; 13] =
    ["", "A", "a", "a%b", "aa", "ab", "a\u{10FFFF}", "b", "é", "\u{D7FF}", "\u{E000}", "\u{FFFD}x", "\u{10000}"];

const PATTERNS: [&str; 14] =
    ["", "%", "a%", "a%%", "a_", "_", "%b", "a%b", r"a\%b", r"a\%%", "aa", "\u{D7FF}%", "a\u{10FFFF}%", r"a\"];

const COMPARISONS: [Operator; 8] = [
    Operator::Eq,
    Operator::NotEq,
    Operator::Lt,
    Operator::LtEq,
    Operator::Gt,
    Operator::GtEq,
    Operator::IsDistinctFrom,
    Operator::IsNotDistinctFrom,
];

pub(super) fn all_keys() -> impl Iterator<Item = KeyRef<'static>> {
    TEXTS.into_iter().flat_map(|partition| TEXTS.into_iter().map(move |row| KeyRef { partition, row }))
}

/// Choices of keys and of predicates over them.
pub(super) struct PredicateDice(Dice);

impl PredicateDice {
    pub(super) fn new(seed: u64) -> Self {
        Self(Dice(seed))
    }

    pub(super) fn below(&mut self, bound: usize) -> usize {
        self.0.below(bound)
    }

    pub(super) fn chance(&mut self, one_in: usize) -> bool {
        self.0.chance(one_in)
    }

    fn cut(&mut self) -> Cut {
        let text = self.0.pick(&TEXTS).to_owned();
        match self.below(6) {
            0 => Cut::Start,
            1 | 2 => Cut::Before(text),
            3 | 4 => Cut::After(text),
            _ => Cut::End,
        }
    }

    pub(super) fn interval_set(&mut self) -> IntervalSet {
        let count = self.below(4);
        let intervals: Vec<_> = (0..count).filter_map(|_| Interval::new(self.cut(), self.cut())).collect();
        IntervalSet::from_intervals(intervals)
    }

    /// A key column, sometimes behind a cast that changes nothing.
    fn key(&mut self) -> Expr {
        let column = match self.below(2) {
            0 => col("\"PartitionKey\""),
            _ => col("t.\"RowKey\""),
        };
        self.between_string_types(column)
    }

    fn between_string_types(&mut self, expr: Expr) -> Expr {
        use datafusion::arrow::datatypes::DataType;
        use datafusion::logical_expr::{cast, try_cast};
        match self.below(12) {
            0 => cast(expr, DataType::Utf8View),
            1 => try_cast(expr, DataType::LargeUtf8),
            2 => expr.alias("other"),
            _ => expr,
        }
    }

    /// A text of any string type, sometimes NULL.
    fn literal(&mut self) -> Expr {
        let text = (!self.chance(12)).then(|| self.0.pick(&TEXTS).to_owned());
        let literal = match self.below(4) {
            0 => ScalarValue::Utf8View(text),
            1 => ScalarValue::LargeUtf8(text),
            _ => ScalarValue::Utf8(text),
        };
        let literal = if self.chance(30) { ScalarValue::Null } else { literal };
        self.between_string_types(Expr::Literal(literal, None))
    }

    fn text(&mut self) -> Expr {
        if self.chance(3) { self.key() } else { self.literal() }
    }

    fn row(&mut self) -> Expr {
        match self.below(3) {
            0 => call("struct", vec![col("\"PartitionKey\""), col("\"RowKey\"")]),
            1 => call("struct", vec![self.text(), self.text()]),
            _ => row_literal(&[self.0.pick(&TEXTS), self.0.pick(&TEXTS)]),
        }
    }

    /// Some rows, a NULL among them now and then, in which the values of as many columns are looked
    /// for, or one value twice.
    fn row_in(&mut self) -> Expr {
        let width = 1 + self.below(2);
        let rows = self.below(6);
        let column = |dice: &mut Self| -> ArrayRef {
            let text = |dice: &mut Self| (!dice.chance(12)).then(|| dice.0.pick(&TEXTS));
            Arc::new(StringViewArray::from_iter((0..rows).map(|_| text(dice))))
        };
        let columns: Vec<ArrayRef> = (0..width).map(|_| column(self)).collect();
        let sought = (0..width).map(|_| self.text()).collect();
        RowIn::call(sought, &columns).expect("columns of one type")
    }

    fn boxed_text(&mut self) -> Box<Expr> {
        Box::new(self.text())
    }

    fn leaf(&mut self) -> Expr {
        let negated = self.chance(3);
        let op = self.0.pick(&COMPARISONS);
        match self.below(22) {
            0..4 => Expr::BinaryExpr(BinaryExpr::new(Box::new(self.key()), op, Box::new(self.literal()))),
            4 | 5 => Expr::BinaryExpr(BinaryExpr::new(self.boxed_text(), op, self.boxed_text())),
            6 | 7 => Expr::BinaryExpr(BinaryExpr::new(Box::new(self.row()), op, Box::new(self.row()))),
            8 | 9 => {
                let (low, high) = (self.boxed_text(), self.boxed_text());
                Expr::Between(Between::new(self.boxed_text(), negated, low, high))
            }
            10 | 11 => {
                let list = (0..self.below(5)).map(|_| self.literal()).collect();
                Expr::InList(InList::new(Box::new(self.key()), list, negated))
            }
            12 => {
                let list = (0..self.below(4)).map(|_| self.text()).collect();
                Expr::InList(InList::new(self.boxed_text(), list, negated))
            }
            13 => {
                let list = (0..self.below(4)).map(|_| self.row()).collect();
                Expr::InList(InList::new(Box::new(self.row()), list, negated))
            }
            14 | 15 => {
                let pattern = Box::new(lit(self.0.pick(&PATTERNS)));
                let case_insensitive = self.chance(8);
                Expr::Like(Like::new(negated, Box::new(self.key()), pattern, None, case_insensitive))
            }
            20 | 21 => self.row_in(),
            16 => call("starts_with", vec![self.key(), self.literal()]),
            17 => Expr::IsNull(self.boxed_text()),
            18 => Expr::Literal(ScalarValue::Boolean(self.0.pick(&[Some(true), Some(false), None])), None),
            _ => col("\"Flag\""),
        }
    }

    /// A predicate over the key columns and the nullable boolean column `Flag`.
    pub(super) fn predicate(&mut self, depth: usize) -> Expr {
        if depth == 0 || self.chance(5) {
            return self.leaf();
        }
        let mut inner = || Box::new(self.predicate(depth - 1));
        let (first, second) = (inner(), inner());
        match self.below(16) {
            0..5 => Expr::BinaryExpr(BinaryExpr::new(first, Operator::And, second)),
            5..10 => Expr::BinaryExpr(BinaryExpr::new(first, Operator::Or, second)),
            10 | 11 => Expr::Not(first),
            12 => self.0.pick(&[Expr::IsTrue, Expr::IsFalse, Expr::IsUnknown])(first),
            13 => self.0.pick(&[Expr::IsNotTrue, Expr::IsNotFalse, Expr::IsNotUnknown])(first),
            14 => self.0.pick(&[Expr::IsNull, Expr::IsNotNull])(first),
            _ => first.alias("other"),
        }
    }
}
