use super::super::read::Share;
use super::*;

fn read(point_keys: Option<usize>, residual: &[&str], limit: Option<usize>, partitions: u64) -> TableRead {
    TableRead {
        point_keys,
        residual: residual.iter().map(|&filter| filter.to_owned()).collect(),
        limit,
        range_partitions: Share { part: partitions, whole: partitions },
        ..TableRead::default()
    }
}

#[test]
fn requests_are_points_or_pages_of_ranges() {
    let backward = Some(Direction::Backward);
    for (read, ranges, rows, order, requests_max, entities_max) in [
        (read(Some(3), &[], None, 1), 3, 9000, None, 3, 3),
        (read(Some(3), &[], None, 1), 3, 2, None, 3, 2),
        (read(None, &[], None, 0), 0, 0, None, 0, 0),
        (read(None, &[], None, 0), 1, 0, None, 1, 0),
        (read(None, &[], None, 1), 1, 1000, None, 1, 1000),
        (read(None, &[], None, 1), 1, 1001, None, 2, 1001),
        (read(None, &[], None, 4), 1, 10_000, None, 13, 10_000),
        (read(None, &[], None, 1), 2, 10_000, None, 11, 10_000),
        (read(None, &[], Some(10), 1), 1, 10_000, None, 1, 10),
        (read(None, &[], Some(10), 1), 1, 10_000, backward, 10, 10_000),
        (read(None, &["age > 30"], Some(10), 1), 1, 10_000, None, 10, 10_000),
    ] {
        let found = ServiceCost::of(&read, ranges, rows, order);
        assert_eq!(found, ServiceCost { requests_max, entities_max }, "{ranges} ranges, {rows} rows, {read:?}");
    }
}
