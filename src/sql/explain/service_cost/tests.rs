use super::*;

#[test]
fn requests_are_points_or_pages_of_ranges() {
    let points =
        |keys, rows_max| ServiceQuery { point_keys: Some(keys), ranges: keys, rows_max, ..ServiceQuery::default() };
    let ranges = |ranges, range_partitions, rows_max| ServiceQuery {
        ranges,
        range_partitions,
        rows_max,
        ..ServiceQuery::default()
    };
    let first = ServiceQuery { limit: Some(10), ..ranges(1, 1, 10_000) };
    for (query, requests_max, entities_max) in [
        (points(3, 9000), 3, 3),
        (points(3, 2), 3, 2),
        (ranges(0, 0, 0), 0, 0),
        (ranges(1, 0, 0), 1, 0),
        (ranges(1, 1, 1000), 1, 1000),
        (ranges(1, 1, 1001), 2, 1001),
        (ranges(1, 4, 10_000), 13, 10_000),
        (ranges(2, 1, 10_000), 11, 10_000),
        (first, 1, 10),
        (ServiceQuery { order: Some(Direction::Forward), ..first }, 1, 10),
        (ServiceQuery { order: Some(Direction::Backward), ..first }, 10, 10_000),
        (ServiceQuery { has_residual: true, ..first }, 10, 10_000),
    ] {
        assert_eq!(query.cost(), ServiceCost { requests_max, entities_max }, "{query:?}");
    }
}
