use super::*;
use rowkey_model::{Cut, Interval, Key, KeyRange};

fn rows(partition: &str, from: &str) -> KeyRange {
    KeyRange::rows(partition, &Interval::new(Cut::Before(from.to_owned()), Cut::End).unwrap())
}

fn partitions(lower: Cut, upper: Cut) -> KeyRange {
    KeyRange::partitions(&Interval::new(lower, upper).unwrap())
}

#[test]
fn the_label_follows_from_the_shape() {
    let point = |row| KeyRange::point(Key::new("a", row));
    let (before, after) = (|text: &str| Cut::Before(text.to_owned()), |text: &str| Cut::After(text.to_owned()));
    let keyset_from = |lower, upper| KeyRange::new(lower, upper).unwrap();
    let cases: Vec<(&str, Vec<KeyRange>)> = vec![
        ("point", vec![]),
        ("point", vec![point("1")]),
        ("point", vec![point("1"), point("2"), KeyRange::point(Key::new("", ""))]),
        ("range", vec![rows("a", "1")]),
        ("range", vec![point("1"), rows("b", "1")]),
        ("range", vec![KeyRange::rows("", &Interval::new(Cut::Start, before("5")).unwrap())]),
        ("partition", vec![KeyRange::partition("a")]),
        ("partition", vec![KeyRange::partition("")]),
        ("partition", vec![KeyRange::partition("a"), KeyRange::partition("c")]),
        ("partition", vec![rows("a", "1"), KeyRange::partition("b")]),
        ("partition", vec![partitions(before("a"), before("c"))]),
        ("partition", vec![point("1"), partitions(after("b"), after("c"))]),
        ("partition", vec![keyset_from(KeyCut::After(Key::new("a", "1")), KeyCut::AfterPartition("c".to_owned()))]),
        ("table", vec![KeyRange::all()]),
        ("table", vec![partitions(Cut::Start, before("c"))]),
        ("table", vec![partitions(before("a"), Cut::End)]),
        ("table", vec![point("1"), partitions(after("b"), Cut::End)]),
        ("table", vec![keyset_from(KeyCut::After(Key::new("a", "1")), KeyCut::End)]),
    ];
    for (label, ranges) in cases {
        let keys = KeySet::from_ranges(ranges);
        assert_eq!(AccessPath::of(&keys).label(), label, "{keys:?}");
        assert_eq!(AccessPath::of(&keys).to_string(), label);
    }
}
