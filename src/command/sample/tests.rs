use std::collections::HashSet;
use std::io::{BufRead, BufReader, Read};

use super::logins::reverse_ticks;
use super::{QUESTIONS, tables};
use rowkey_model::DateTime;

type Json = serde_json::Map<String, serde_json::Value>;

fn entities(text: Box<dyn Read + Send>) -> impl Iterator<Item = Json> {
    BufReader::new(text).lines().map(|line| serde_json::from_str(&line.unwrap()).unwrap())
}

fn text<'a>(entity: &'a Json, property: &str) -> &'a str {
    entity.get(property).and_then(|value| value.as_str()).unwrap_or_default()
}

#[test]
fn every_table_is_sorted_by_key_and_has_its_size() {
    let expected = [
        ("Departments", 12, 1),
        ("Employees", 48_000, 12),
        ("EmployeeReviews", 24_000, 12),
        ("Logins", 28_224, 252),
        ("Events", 200_000, 1_000),
    ];
    let mut all = 0;
    for ((table, text_of), (name, entities_about, partitions)) in tables().into_iter().zip(expected) {
        assert_eq!(table, name);
        let (mut count, mut partitions_seen, mut last) = (0_i64, HashSet::new(), None);
        for entity in entities(text_of) {
            let key = (text(&entity, "PartitionKey").to_owned(), text(&entity, "RowKey").to_owned());
            assert!(last.as_ref() < Some(&key), "{table}: {last:?} before {key:?}");
            partitions_seen.insert(key.0.clone());
            last = Some(key);
            count += 1;
        }
        assert_eq!(partitions_seen.len(), partitions, "{table}");
        assert!((count - entities_about).abs() <= entities_about / 50, "{table}: {count}");
        all += count;
    }
    assert!((290_000..310_000).contains(&all), "{all}");
}

#[test]
fn the_questions_ask_for_the_same_entity() {
    let (_, events) = tables().into_iter().find(|(table, _)| *table == "Events").unwrap();
    let asked: Vec<Json> = entities(events).filter(|event| text(event, "Ticket") == "T-0421-0100").collect();
    let [event] = &asked[..] else { panic!("{} events have the ticket", asked.len()) };
    assert_eq!(text(event, "PartitionKey"), "device-0421");
    assert!(event.contains_key("Value"), "{event:?}");
    let row = text(event, "RowKey");
    let day = &row[..10];
    let [point, range, partition, table] = QUESTIONS else { panic!("four questions") };
    assert!(point.1.ends_with(&format!(r#""PartitionKey" = 'device-0421' AND "RowKey" = '{row}'"#)), "{row}");
    assert!(range.1.contains(&format!(r#""RowKey" LIKE '{day}%'"#)), "{row}");
    assert!(partition.1.ends_with(r#"WHERE "PartitionKey" = 'device-0421' AND "Ticket" = 'T-0421-0100'"#));
    assert!(table.1.ends_with(r#"WHERE "Ticket" = 'T-0421-0100'"#));
}

#[test]
fn reverse_ticks_put_the_newest_first() {
    let at = |text| DateTime::parse(text).unwrap();
    // DateTime.MaxValue.Ticks is 3155378975999999999, and 2024-01-01 is tick 638396640000000000.
    assert_eq!(reverse_ticks(at("2024-01-01T00:00:00Z")), "2516982335999999999");
    assert_eq!(reverse_ticks(DateTime::MAX), "0000000000000000000");
    assert!(reverse_ticks(at("2024-01-01T00:00:00.0000001Z")) < reverse_ticks(at("2024-01-01T00:00:00Z")));
}

#[test]
fn properties_come_in_several_types() {
    let (_, events) = tables().into_iter().find(|(table, _)| *table == "Events").unwrap();
    let (mut values, mut codes) = ([0; 2], [0; 2]);
    for event in entities(events) {
        if let Some(value) = event.get("Value") {
            values[usize::from(value.is_f64())] += 1;
        }
        if let Some(code) = event.get("Code") {
            codes[usize::from(code.is_string())] += 1;
        }
    }
    assert!(values.iter().chain(&codes).all(|count| *count > 1_000), "{values:?} {codes:?}");
}
