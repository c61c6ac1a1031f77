use super::*;
use crate::model::{Entity, Key, Value};
use crate::rows::EncodedRow;

fn versions(names: &PropertyNames) -> Vec<Arc<Version>> {
    let values = [
        Value::Binary(vec![0, 255, 7]),
        Value::Boolean(true),
        Value::DateTime(DateTime::MIN),
        Value::Double(-0.0),
        Value::Guid(uuid::Uuid::from_u128(7)),
        Value::Int32(i32::MIN),
        Value::Int64(i64::MAX),
        Value::String("é\u{10000}".to_owned()),
    ];
    let written = |row: &str, values: &[Value], at: DateTime| {
        let ids: Vec<PropertyId> = (0..values.len()).map(|i| names.intern(&format!("P{i}"))).collect();
        let properties = ids.into_iter().zip(values.iter().map(ValueRef::from));
        let row = EncodedRow::encode(names, KeyRef { partition: "p", row }, at, properties).expect("a row");
        Version::written(row, Locations::unknown())
    };
    vec![
        written("1", &values, DateTime::from_ticks(17)),
        written("", &[], DateTime::MAX),
        Version::deleted(names, KeyRef { partition: "", row: "gone" }, Locations::unknown()).expect("a deletion"),
        written("2", &values[3..4], DateTime::from_ticks(-1)),
    ]
}

fn content(version: &Version, names: &PropertyNames) -> (Key, Option<Entity>) {
    (version.key().to_key(), version.row().map(|row| row.to_entity(names)))
}

fn payload() -> (Vec<u8>, Arc<PropertyNames>, Vec<Arc<Version>>) {
    let names = Arc::new(PropertyNames::new());
    let versions = versions(&names);
    let tables = [
        TableWrites { table: 7, names: Arc::clone(&names), versions: versions.clone() },
        TableWrites { table: 9, names: Arc::clone(&names), versions: versions[..1].to_vec() },
    ];
    (encode(&[Edit::DropTable { id: 3 }], &tables).expect("a payload"), names, versions)
}

#[test]
fn what_is_written_is_read_back() {
    let (payload, names, versions) = payload();
    let (edits, tables) = decode(&payload).expect("a payload");
    assert_eq!(edits, [Edit::DropTable { id: 3 }]);
    assert_eq!(tables.iter().map(|table| table.table).collect::<Vec<_>>(), [7, 9]);
    // Another process numbers properties in another way.
    let others = PropertyNames::new();
    others.intern("Zzz");
    let read = tables[0].versions(&others).expect("versions");
    let read: Vec<_> = read.iter().map(|version| content(version, &others)).collect();
    let wanted: Vec<_> = versions.iter().map(|version| content(version, &names)).collect();
    assert_eq!(read, wanted);
    assert_eq!(decode(&encode(&[], &[]).expect("a payload")).map(|(e, t)| (e.len(), t.len())), Ok((0, 0)));
}

#[test]
fn cut_or_changed_payloads_are_refused_or_read_as_something_else_and_never_panic() {
    let (payload, ..) = payload();
    for end in 0..payload.len() {
        assert!(decode(&payload[..end]).is_err(), "cut at {end}");
    }
    assert!(decode(&[&payload[..], &[0]].concat()).is_err());
    for at in 0..payload.len() {
        for bit in 0..8 {
            let mut changed = payload.clone();
            changed[at] ^= 1 << bit;
            if let Ok((_, tables)) = decode(&changed) {
                for table in tables {
                    let _ = table.versions(&PropertyNames::new());
                }
            }
        }
    }
}
