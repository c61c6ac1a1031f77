use super::*;
use rowkey_model::{Entity, Key, Value};

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
    let ids: Vec<PropertyId> = (0..values.len()).map(|i| names.intern(&format!("P{i}"))).collect();
    let properties: Vec<_> = ids.into_iter().zip(values.iter().map(ValueRef::from)).collect();
    let mut rows = Rows::new();
    let mut push = |partition, row, at, properties: &[(PropertyId, ValueRef<'_>)]| {
        rows.push(names, KeyRef { partition, row }, at, properties.iter().copied()).expect("a row");
    };
    push("p", "1", Some(DateTime::from_ticks(17)), &properties);
    push("p", "", Some(DateTime::from_ticks(17)), &[]);
    push("", "gone", None, &[]);
    push("p", "2", Some(DateTime::from_ticks(17)), &properties[3..4]);
    let version = |(place, row)| match place {
        2 => Version::deleted(row, Locations::unknown()),
        _ => Version::written(row, Locations::unknown()),
    };
    rows.to_encoded().enumerate().map(version).collect()
}

fn writes(table: u64, names: &PropertyNames, versions: &[Arc<Version>]) -> TableWrites {
    let mut writer = TableWriter::new(versions.len());
    for version in versions {
        match version.row() {
            Some(row) => {
                writer.begin_entity(version.key(), row.properties().count());
                row.properties().enumerate().for_each(|(nth, (id, value))| writer.property(nth, id, value));
            }
            None => writer.delete(version.key()),
        }
    }
    let mut writes = writer.finish(table, names);
    writes.set_timestamps(DateTime::from_ticks(17));
    writes
}

fn content(version: &Version, names: &PropertyNames) -> (Key, Option<Entity>) {
    (version.key().to_key(), version.row().map(|row| row.to_entity(names)))
}

fn payload() -> (Vec<u8>, Arc<PropertyNames>, Vec<Arc<Version>>) {
    let names = Arc::new(PropertyNames::new());
    let versions = versions(&names);
    let tables = [writes(7, &names, &versions), writes(9, &names, &versions[..1])];
    (encode(&[Edit::DropTable { id: 3 }], tables.iter()).expect("a payload"), names, versions)
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
    assert_eq!(decode(&encode(&[], [].iter()).expect("a payload")).map(|(e, t)| (e.len(), t.len())), Ok((0, 0)));
}

#[test]
fn all_that_is_not_deleted_gets_the_timestamp_of_its_record() {
    let (_, names, versions) = payload();
    let mut table = writes(7, &names, &versions);
    let at = DateTime::from_ticks(123_450);
    table.set_timestamps(at);
    let payload = encode(&[], [table].iter()).expect("a payload");
    let (_, tables) = decode(&payload).expect("a payload");
    let read = tables[0].versions(&names).expect("versions");
    let found: Vec<_> = read.iter().map(|version| version.timestamp()).collect();
    assert_eq!(found, [Some(at), Some(at), None, Some(at)]);
    for (read, version) in read.iter().zip(&versions) {
        assert_eq!(read.key(), version.key());
        assert!(read.row().zip(version.row()).is_none_or(|(a, b)| a.same_properties(b)));
    }
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
