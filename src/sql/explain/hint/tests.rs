use datafusion::logical_expr::{col, lit};

use super::*;
use crate::access::plan_access;

fn hint_of(filters: &[Expr], rows_max: u64) -> Option<String> {
    let access = plan_access(filters);
    let residual: Vec<&Expr> = access.residual.iter().map(|at| &filters[*at]).collect();
    let (path, is_partition_range) = (access.path, access.is_partition_range());
    let read = TableRead { path, rows_max, is_partition_range, ..TableRead::default() };
    hint(&read, &access, 100_000, &residual)
}

#[test]
fn the_hint_names_what_is_tested() {
    let partition = || col("\"PartitionKey\"").eq(lit("p"));
    let partitions = || col("\"PartitionKey\"").in_list(vec![lit("p"), lit("q")], false);
    let span = || col("\"PartitionKey\"").between(lit("p"), lit("q"));
    let row = || col("\"RowKey\"");
    let name = || col("\"Name\"");
    let copy = "keep a copy of each entity under RowKey 'Name_...'";
    for (filters, expected, advises_copy) in [
        (vec![partition(), name().eq(lit("x"))], "entities of the partition are read to test Name: bound RowKey", true),
        (
            vec![partitions(), name().eq(lit("x"))],
            "entities of the partitions are read to test Name: bound RowKey",
            true,
        ),
        (vec![span(), name().like(lit("x%"))], "to test Name: bound PartitionKey more narrowly", true),
        (vec![partition(), row().gt(lit("1")), name().eq(lit("x"))], "between the bounds are read to test Name", true),
        (vec![partition(), name().is_null()], "to test Name: bound RowKey as well", false),
        (vec![partition(), name().like(lit("%x"))], "to test Name: bound RowKey as well", false),
        (
            vec![partition(), name().eq(lit("x")).or(col("\"Age\"").gt(lit(5)))],
            "to test Age and Name: bound RowKey",
            false,
        ),
        (vec![partition(), name().eq(col("\"Age\""))], "to test Age and Name: bound RowKey", false),
        (vec![partition(), row().like(lit("%5"))], "to test RowKey: a function, a leading wildcard or an OR", false),
    ] {
        let hint = hint_of(&filters, 5_000).expect("a hint");
        assert!(hint.starts_with("up to 5000 entities") && hint.contains(expected), "{filters:?}: {hint}");
        assert_eq!(hint.contains(copy), advises_copy, "{filters:?}: {hint}");
        assert_eq!(hint_of(&filters, 500), None, "{filters:?}");
    }
    assert_eq!(hint_of(&[partition()], 5_000), None);
    assert_eq!(hint_of(&[partition(), row().gt(lit("1"))], 5_000), None);
}
