use datafusion::logical_expr::{Expr, col, lit};

use crate::access::oracle::{call, row_literal};
use crate::access::plan_access;

fn pk() -> Expr {
    col("\"PartitionKey\"")
}

fn rk() -> Expr {
    col("\"RowKey\"")
}

#[test]
fn key_bounds_read_as_sql() {
    let cases = [
        (vec![], "all keys"),
        (vec![pk().eq(lit("a")), pk().eq(lit("b"))], "no keys"),
        (vec![pk().eq(lit("a")), rk().gt(lit("1"))], "PartitionKey = 'a' AND RowKey > '1'"),
        (
            vec![pk().in_list(vec![lit("b"), lit("a")], false), rk().eq(lit("1"))],
            "PartitionKey = 'a' AND RowKey = '1' OR PartitionKey = 'b' AND RowKey = '1'",
        ),
        (vec![rk().eq(lit("1"))], "RowKey = '1'"),
        (vec![rk().in_list(vec![lit("1"), lit("2")], false)], "RowKey = '1' OR RowKey = '2'"),
        (
            vec![pk().gt_eq(lit("a")), rk().in_list(vec![lit("1"), lit("2")], false)],
            "PartitionKey >= 'a' AND (RowKey = '1' OR RowKey = '2')",
        ),
        (
            vec![pk().eq(lit("a")).or(rk().eq(lit("1")))],
            "PartitionKey < 'a' AND RowKey = '1' OR PartitionKey = 'a' OR PartitionKey > 'a' AND RowKey = '1'",
        ),
        (vec![call("struct", vec![pk(), rk()]).gt(row_literal(&["a", "1"]))], "(PartitionKey, RowKey) > ('a', '1')"),
    ];
    for (filters, expected) in cases {
        assert_eq!(plan_access(&filters).describe(), expected);
    }
}

#[test]
fn many_ranges_are_counted() {
    let names = |count: usize| (0..count).map(|at| lit(format!("p{at}"))).collect();
    let describe = |count| plan_access(&[pk().in_list(names(count), false)]).describe();
    let three = "PartitionKey = 'p0' OR PartitionKey = 'p1' OR PartitionKey = 'p2'";
    assert_eq!(describe(3), three);
    assert_eq!(describe(4), format!("{three} OR 1 more"));
    assert_eq!(describe(9), format!("{three} OR 6 more"));
}

#[test]
fn table_scans_come_with_the_bound_that_helps() {
    let value = col("\"Value\"").eq(lit(1_i64));
    let cases = [
        (vec![], "neither PartitionKey nor RowKey is bound"),
        (vec![value.clone()], "neither PartitionKey nor RowKey is bound"),
        (vec![rk().eq(lit("1"))], "add PartitionKey = '...' to make it a point query"),
        (vec![rk().in_list(vec![lit("1"), lit("2")], false)], "to make it a point query"),
        (vec![rk().gt(lit("1")), value.clone()], "to make it a range query"),
        (vec![pk().gt(lit("a"))], "PartitionKey has no upper bound"),
        (vec![pk().not_eq(lit("a"))], "leave out some keys"),
        (vec![pk().eq(lit("a")).or(rk().eq(lit("1")))], "leave out some keys"),
        (vec![pk().lt_eq(lit("a"))], "PartitionKey has no lower bound"),
        (vec![call("upper", vec![pk()]).eq(lit("A"))], "PartitionKey is used in a way that gives no bound"),
        (vec![pk().eq(lit("a")).or(value.clone())], "PartitionKey is used in a way that gives no bound"),
        (vec![pk().like(lit("%a"))], "PartitionKey is used in a way that gives no bound"),
        (vec![rk().like(lit("%a"))], "RowKey is used in a way that gives no bound"),
    ];
    for (filters, expected) in cases {
        let hint = plan_access(&filters).hint().unwrap();
        assert!(hint.contains(expected), "{filters:?}: {hint}");
    }
    for filters in [vec![pk().eq(lit("a"))], vec![pk().like(lit("a%"))], vec![lit(false)]] {
        assert_eq!(plan_access(&filters).hint(), None, "{filters:?}");
    }
}
