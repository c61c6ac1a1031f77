//! Which relations the filters of a scan ask for, so that one table's columns are not looked for
//! among those of all.

use std::sync::Arc;

use datafusion::logical_expr::expr::InList;
use datafusion::logical_expr::{BinaryExpr, Expr, Operator};
use datafusion::scalar::ScalarValue;

/// Bounds on the relations that can have rows for a scan: each is a list of those that can, or none
/// for all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Wanted {
    oids: Option<Arc<[u32]>>,
    names: Option<Arc<[String]>>,
    schemas: Option<Arc<[String]>>,
}

/// The columns of a catalog relation that say which relation a row tells of; empty where there is
/// none.
#[derive(Debug, Clone, Copy)]
pub(super) struct Telling {
    pub oid: &'static str,
    pub name: &'static str,
    pub schema: &'static str,
}

impl Wanted {
    /// What conjuncts leave over. One that is not understood leaves everything.
    pub(super) fn by(filters: &[Expr], telling: &Telling) -> Self {
        let mut wanted = Self::default();
        for filter in filters {
            wanted.narrow(filter, telling);
        }
        wanted
    }

    pub(super) fn has(&self, oid: u32, name: &str, schema: &str) -> bool {
        self.oids.as_ref().is_none_or(|oids| oids.contains(&oid))
            && self.names.as_ref().is_none_or(|names| names.iter().any(|wanted| wanted == name))
            && self.schemas.as_ref().is_none_or(|schemas| schemas.iter().any(|wanted| wanted == schema))
    }

    fn narrow(&mut self, filter: &Expr, telling: &Telling) {
        match filter {
            Expr::BinaryExpr(BinaryExpr { left, op: Operator::And, right }) => {
                self.narrow(left, telling);
                self.narrow(right, telling);
            }
            Expr::BinaryExpr(BinaryExpr { left, op: Operator::Eq, right }) => {
                match (column(left), literal(right), column(right), literal(left)) {
                    (Some(column), Some(value), ..) | (_, _, Some(column), Some(value)) => {
                        self.keep(column, &[value], telling);
                    }
                    _ => {}
                }
            }
            Expr::InList(InList { expr, list, negated: false }) => {
                let values: Option<Vec<&ScalarValue>> = list.iter().map(literal).collect();
                if let (Some(column), Some(values)) = (column(expr), values) {
                    self.keep(column, &values, telling);
                }
            }
            _ => {}
        }
    }

    /// Of two lists for the same column the second counts: either is right.
    fn keep(&mut self, column: &str, values: &[&ScalarValue], telling: &Telling) {
        if column.is_empty() {
            return;
        }
        if column == telling.oid {
            if let Some(oids) = values.iter().map(|value| oid(value)).collect::<Option<Vec<u32>>>() {
                self.oids = Some(oids.into());
            }
        } else if let Some(texts) = values.iter().map(|value| text(value)).collect::<Option<Vec<String>>>() {
            if column == telling.name {
                self.names = Some(texts.into());
            } else if column == telling.schema {
                self.schemas = Some(texts.into());
            }
        }
    }
}

/// The column that an expression is. A cast of it is the same to us: values that are equal after it
/// have the same oid or name.
fn column(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Column(column) => Some(&column.name),
        Expr::Cast(cast) => column(&cast.expr),
        _ => None,
    }
}

fn literal(expr: &Expr) -> Option<&ScalarValue> {
    match expr {
        Expr::Literal(value, _) => Some(value),
        _ => None,
    }
}

fn oid(value: &ScalarValue) -> Option<u32> {
    match value {
        ScalarValue::UInt32(oid) => *oid,
        ScalarValue::Int64(Some(oid)) => u32::try_from(*oid).ok(),
        ScalarValue::UInt64(Some(oid)) => u32::try_from(*oid).ok(),
        ScalarValue::Int32(Some(oid)) => u32::try_from(*oid).ok(),
        // Clients write `oid = '16392'`.
        _ => text(value)?.parse().ok(),
    }
}

fn text(value: &ScalarValue) -> Option<String> {
    match value {
        ScalarValue::Utf8(text) | ScalarValue::Utf8View(text) | ScalarValue::LargeUtf8(text) => text.clone(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use datafusion::prelude::{col, lit};

    use super::*;

    const TELLING: Telling = Telling { oid: "attrelid", name: "table_name", schema: "" };

    fn has(filters: &[Expr], oid: u32, name: &str) -> bool {
        Wanted::by(filters, &TELLING).has(oid, name, "public")
    }

    #[test]
    fn equality_narrows_and_anything_else_does_not() {
        let by_oid = [col("attrelid").eq(lit(5_u32)).and(col("attnum").gt(lit(0)))];
        assert!(has(&by_oid, 5, "a") && !has(&by_oid, 6, "a"));
        let either = [col("attrelid").eq(lit(5_u32)).or(col("attnum").gt(lit(0)))];
        assert!(has(&either, 6, "a"));
        let listed = [col("attrelid").in_list(vec![lit(1_i64), lit(2_i64)], false)];
        assert!(has(&listed, 2, "a") && !has(&listed, 3, "a"));
        assert!(has(&[col("attrelid").in_list(vec![lit(1_i64)], true)], 3, "a"));
        let by_name = [lit("T").eq(col("table_name"))];
        assert!(has(&by_name, 1, "T") && !has(&by_name, 1, "t"));
        assert!(has(&[col("attrelid").eq(lit(ScalarValue::UInt32(None)))], 3, "a"));
    }
}
