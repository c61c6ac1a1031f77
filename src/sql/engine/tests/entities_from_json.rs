//! `rowkey.entities_from_json` in FROM and as the source of INSERT.

use std::sync::Arc;

use super::{ask, entities, fails, open, run, session};
use crate::engine::EntityOperation;
use crate::session::SqlState;
use rowkey_model::files::MemoryStore;
use rowkey_model::{DateTime, EntityBuilder, Key, TableName, Value};

const ENTITIES: &str = r#"[{"RowKey":"1","PartitionKey":"p","Zip":"10115","Age":41},
    {"PartitionKey":"p","RowKey":"2","Age@odata.type":"Edm.Int64","Age":"9007199254740993","City":"Köln"}]"#;

#[test]
fn entities_stand_in_from_like_a_table() {
    let engine = open(Arc::new(MemoryStore::new())).expect("opens");
    let mut session = session(&engine);
    let mut found = |sql: &str| ask(&mut session, sql);
    let json = format!("rowkey.entities_from_json($j${ENTITIES}$j$)");
    assert_eq!(
        found(&format!("SELECT * FROM {json} ORDER BY rowkey")),
        ["p|1|10115|41|NULL", "p|2|NULL|9007199254740993|Köln"]
    );
    assert_eq!(found(&format!("SELECT pg_typeof(age), pg_typeof(zip) FROM {json} LIMIT 1")), ["bigint|text"]);
    assert_eq!(found(&format!("SELECT entities_from_json.city FROM {json} WHERE age > 41")), ["Köln"]);
    assert_eq!(found(&format!("SELECT a.rowkey FROM {json} AS a JOIN {json} AS b USING (age) ORDER BY 1")), ["1", "2"]);
    assert_eq!(found(&format!("SELECT e.k FROM {json} AS e(p, k) ORDER BY 1")), ["1", "2"]);
    assert_eq!(found("SELECT count(*) FROM rowkey.entities_from_json('')"), ["0"]);
    found(&format!("CREATE VIEW seen AS SELECT rowkey, age FROM {json}"));
    assert_eq!(found("SELECT sum(age) FROM seen"), ["9007199254741034"]);
    for (argument, state) in [
        ("'[1]'", SqlState::INVALID_STATEMENT),
        ("'{\"PartitionKey\":\"p\"}'", SqlState::INVALID_STATEMENT),
        ("'{\"PartitionKey\":\"p/q\",\"RowKey\":\"1\"}'", SqlState::CHECK_VIOLATION),
        ("'[]' || ''", SqlState::INVALID_STATEMENT),
        ("'[]', '[]'", SqlState::INVALID_STATEMENT),
        ("'[]') WITH ORDINALITY AS e(a, b, n", SqlState::FEATURE_NOT_SUPPORTED),
        (
            "'{\"PartitionKey\":\"p\",\"RowKey\":\"1\",\"A\":1}{\"PartitionKey\":\"p\",\"RowKey\":\"2\",\"A\":true}'",
            SqlState::DATATYPE_MISMATCH,
        ),
    ] {
        assert_eq!(
            fails(&mut session, &format!("SELECT * FROM rowkey.entities_from_json({argument})")),
            state,
            "{argument}"
        );
    }
}

#[test]
fn inserts_go_by_the_names_of_columns() {
    let engine = open(Arc::new(MemoryStore::new())).expect("opens");
    let mut session = session(&engine);
    run(&mut session, r#"CREATE TABLE People ("City" text, "Age" bigint, "Zip" text)"#);
    let json = format!("rowkey.entities_from_json($j${ENTITIES}$j$)");
    run(&mut session, &format!("INSERT INTO people SELECT * FROM {json} AS e WHERE e.rowkey = '1'"));
    let all = "SELECT partitionkey, rowkey, city, age, zip FROM people ORDER BY rowkey";
    assert_eq!(ask(&mut session, all), ["p|1|NULL|41|10115"]);
    // Where that cannot be told, the columns have to be listed.
    for source in [
        format!("SELECT partitionkey, rowkey, zip FROM {json}"),
        format!("SELECT e.* FROM {json} AS e"),
        format!("SELECT * FROM {json} AS e(a, b, c)"),
        format!("SELECT * FROM {json} UNION ALL SELECT * FROM {json}"),
        format!("SELECT * FROM (SELECT * FROM {json}) AS e"),
        format!("WITH e AS (SELECT * FROM {json}) SELECT * FROM e"),
    ] {
        assert_eq!(fails(&mut session, &format!("INSERT INTO people {source}")), SqlState::SYNTAX_ERROR, "{source}");
    }
    let listed = format!(
        "INSERT INTO people (rowkey, partitionkey, city) \
         SELECT rowkey, partitionkey, city FROM {json} WHERE rowkey = '2'"
    );
    run(&mut session, &listed);
    assert_eq!(ask(&mut session, all), ["p|1|NULL|41|10115", "p|2|Köln|NULL|NULL"]);
    // A column that is not there is one too many, whatever its place.
    run(&mut session, "ALTER TABLE people DROP COLUMN zip");
    let insert = format!("INSERT OR REPLACE INTO people SELECT * FROM {json}");
    assert_eq!(fails(&mut session, &insert), SqlState::UNDEFINED_COLUMN);
    run(&mut session, "SET rowkey.new_properties = on");
    run(&mut session, &insert);
    assert_eq!(
        ask(&mut session, "SELECT city, age, zip FROM people ORDER BY rowkey"),
        ["NULL|41|10115", "Köln|9007199254740993|NULL"]
    );
}

#[test]
fn entity_json_is_read_back() {
    let engine = open(Arc::new(MemoryStore::new())).expect("opens");
    let service = engine.entities();
    let table = super::within_runtime(service.create_table(&TableName::parse("Written").expect("a name")));
    let table = table.expect("created");
    let full = EntityBuilder::new(Key::new("p", "it's"))
        .property("Text", "a'b\\c\n\"€")
        .property("Empty", "")
        .property("Small", -7)
        .property("Large", Value::Int64(i64::MIN))
        .property("Ratio", 0.1)
        .property("Whole", 12.0)
        .property("Huge", 1e300)
        .property("None", f64::NAN)
        .property("Least", f64::NEG_INFINITY)
        .property("Yes", true)
        .property("At", DateTime::from_micros(1_714_550_400_123_456, 0))
        .property("Early", DateTime::MIN)
        .property("Id", uuid::Uuid::from_u128(0x0eaf_8d37_0eaf_4a4b_8d37_0eaf_8d37_0eaf))
        .property("Data", vec![0_u8, 255, 39, 92]);
    let plain = EntityBuilder::new(Key::new("", "")).property("Small", 1);
    for entity in [full, plain] {
        let insert = EntityOperation::Insert(entity.build().expect("an entity"));
        super::within_runtime(service.operate(table, &insert)).expect("inserted");
    }
    let mut session = session(&engine);
    let texts = ask(&mut session, "SELECT rowkey.entity_json(written) FROM written").join(",");
    run(&mut session, "CREATE TABLE Copied ()");
    run(&mut session, "SET rowkey.new_properties = on");
    run(&mut session, &format!("INSERT INTO copied SELECT * FROM rowkey.entities_from_json($j$[{texts}]$j$)"));
    let parts = |table: &str| {
        let found = entities(&engine, table).expect(table);
        found.iter().map(|entity| (entity.key.clone(), entity.parts().to_vec())).collect::<Vec<_>>()
    };
    assert_eq!(parts("Copied"), parts("Written"));
    assert_eq!(parts("Copied").len(), 2);
}
