//! What no SQL type holds: ETags, ticks, and entities with their types.

use std::sync::Arc;

use super::{ask, entities, fails, open, session, within_runtime};
use crate::engine::{Engine, EntityOperation};
use crate::session::SqlState;
use rowkey_formats::entity_json::EntityDecoder;
use rowkey_model::files::MemoryStore;
use rowkey_model::{DateTime, Entity, EntityBuilder, Key, TableName};

fn time(text: &str) -> DateTime {
    DateTime::parse(text).expect("a time")
}

fn filled() -> (Engine, u64) {
    let engine = open(Arc::new(MemoryStore::new())).expect("opens");
    let service = engine.entities();
    let table = within_runtime(service.create_table(&TableName::parse("Things").expect("a name"))).expect("created");
    let entity = |row: &str| {
        EntityBuilder::new(Key::new("p", row))
            .property("At", time("2020-01-02T03:04:05.1234567Z"))
            .property("Id", uuid::Uuid::from_u128(7))
            .property("Bytes", vec![0_u8, 255])
            .property("Text", "it's")
    };
    for entity in [
        entity("1").property("Mixed", 5).build(),
        entity("2").property("Mixed", 5_i64).build(),
        entity("3").property("Mixed", "5").property("Yes", true).build(),
        EntityBuilder::new(Key::new("p", "4")).property("D", f64::NAN).build(),
    ] {
        let entity = entity.expect("an entity");
        within_runtime(service.operate(table, &EntityOperation::Insert(entity))).expect("inserted");
    }
    (engine, table)
}

/// The same questions of writes that are recent and of files.
fn in_both(check: impl Fn(&Engine)) {
    let (engine, table) = filled();
    check(&engine);
    within_runtime(engine.entities().vacuum(table, true)).expect("folded");
    check(&engine);
}

#[test]
fn an_etag_is_a_hidden_column() {
    in_both(|engine| {
        let stored = entities(engine, "Things").expect("the table");
        let mut session = session(engine);
        let etags: Vec<String> = stored.iter().map(Entity::etag).collect();
        assert_eq!(ask(&mut session, "SELECT etag FROM things ORDER BY rowkey"), etags);
        assert_eq!(ask(&mut session, "SELECT etag FROM things WHERE partitionkey = 'p' AND rowkey = '2'"), etags[1..2]);
        let quoted = etags[2].replace('\'', "''");
        assert_eq!(ask(&mut session, &format!("SELECT rowkey FROM things WHERE etag = '{quoted}'")), ["3"]);
        let columns = ask(&mut session, "SELECT * FROM things WHERE rowkey = '1'");
        assert!(!columns[0].contains("W/"), "{columns:?}");
        let listed =
            "SELECT count(*) FROM information_schema.columns WHERE table_name = 'Things' AND column_name = 'etag'";
        assert_eq!(ask(&mut session, listed), ["0"]);
    });
}

#[test]
fn an_update_with_an_etag_is_if_match() {
    let (engine, _) = filled();
    let mut session = session(&engine);
    let etag = ask(&mut session, "SELECT etag FROM things WHERE rowkey = '1'").remove(0).replace('\'', "''");
    let update = format!(
        "UPDATE things SET text = 'new' WHERE partitionkey = 'p' AND rowkey = '1' AND etag = '{etag}' RETURNING text"
    );
    assert_eq!(ask(&mut session, &update), ["new"]);
    // It has another one now.
    assert!(ask(&mut session, &update).is_empty());
    assert_eq!(fails(&mut session, "UPDATE things SET etag = 'x'"), SqlState::UNDEFINED_COLUMN);
}

#[test]
fn writes_return_the_etag_of_what_is_committed() {
    let (engine, _) = filled();
    let mut session = session(&engine);
    for write in [
        "INSERT INTO things (partitionkey, rowkey, text) VALUES ('p', '6', 'new') RETURNING etag",
        "UPDATE things SET text = 'newer' WHERE partitionkey = 'p' AND rowkey = '6' RETURNING etag",
        "UPDATE things SET text = text || '!' WHERE rowkey >= '6' RETURNING things.etag",
        "INSERT INTO things (partitionkey, rowkey, text) VALUES ('p', '6', 'x') \
         ON CONFLICT (partitionkey, rowkey) DO UPDATE SET text = excluded.text RETURNING etag",
    ] {
        let returned = ask(&mut session, write);
        let stored = entities(&engine, "Things").expect("the table").pop().expect("an entity");
        assert_eq!(returned, [stored.etag()], "{write}");
    }
    let before = ask(&mut session, "SELECT etag FROM things WHERE rowkey = '6'");
    assert_eq!(ask(&mut session, "DELETE FROM things WHERE rowkey = '6' RETURNING etag"), before);
    // Of what a block writes it is not known yet; of what it deletes it is.
    ask(&mut session, "BEGIN");
    let before = ask(&mut session, "SELECT etag FROM things WHERE rowkey = '1'");
    assert_eq!(ask(&mut session, "DELETE FROM things WHERE rowkey = '1' RETURNING etag"), before);
    let update = "UPDATE things SET text = 'x' WHERE rowkey = '2' RETURNING etag";
    assert_eq!(fails(&mut session, update), SqlState::FEATURE_NOT_SUPPORTED);
    ask(&mut session, "ROLLBACK");
}

#[test]
fn an_upsert_with_an_etag_is_if_match() {
    let (engine, _) = filled();
    let mut session = session(&engine);
    let etag = ask(&mut session, "SELECT etag FROM things WHERE rowkey = '1'").remove(0).replace('\'', "''");
    let upsert = format!(
        "INSERT INTO things (partitionkey, rowkey, text) VALUES ('p', '1', 'new') ON CONFLICT (partitionkey, rowkey) \
         DO UPDATE SET text = excluded.text WHERE things.etag = '{etag}' RETURNING text"
    );
    assert_eq!(ask(&mut session, &upsert), ["new"]);
    assert!(ask(&mut session, &upsert).is_empty());
    let column = "INSERT INTO things (partitionkey, rowkey, etag) VALUES ('p', '7', 'x')";
    assert_eq!(fails(&mut session, column), SqlState::UNDEFINED_COLUMN);
}

#[test]
fn a_property_that_is_called_so_is_no_hidden_column() {
    let (engine, table) = filled();
    let own = EntityBuilder::new(Key::new("p", "5")).property("ETag", "mine").build().expect("an entity");
    within_runtime(engine.entities().operate(table, &EntityOperation::Insert(own))).expect("inserted");
    let mut session = session(&engine);
    assert_eq!(ask(&mut session, "SELECT etag FROM things WHERE rowkey >= '4' ORDER BY rowkey"), ["NULL", "mine"]);
    let text = ask(&mut session, "SELECT rowkey.entity_json(things) FROM things WHERE rowkey = '5'").remove(0);
    assert!(text.contains("\"ETag\":\"mine\"") && text.contains("\"odata.etag\":\"W/"), "{text}");
}

#[test]
fn ticks_have_the_seventh_digit() {
    in_both(|engine| {
        let mut session = session(engine);
        let at = time("2020-01-02T03:04:05.1234567Z").dot_net_ticks().to_string();
        assert_eq!(ask(&mut session, "SELECT \"At:ticks\" FROM things WHERE rowkey < '3'"), [at.clone(), at.clone()]);
        assert_eq!(ask(&mut session, "SELECT \"At:ticks\" FROM things WHERE rowkey = '4'"), ["NULL"]);
        let stored = entities(engine, "Things").expect("the table");
        let timestamps: Vec<String> = stored.iter().map(|e| e.timestamp.dot_net_ticks().to_string()).collect();
        assert_eq!(ask(&mut session, "SELECT \"Timestamp:ticks\" FROM things ORDER BY rowkey"), timestamps);
    });
}

#[test]
fn ticks_are_keys_of_log_tails() {
    let engine = open(Arc::new(MemoryStore::new())).expect("opens");
    let mut session = session(&engine);
    let mut one = |sql: &str| ask(&mut session, sql).remove(0);
    assert_eq!(one("SELECT rowkey.ticks('1970-01-01 00:00:00+00'::timestamptz)"), "0621355968000000000");
    assert_eq!(
        one("SELECT rowkey.inverted_ticks('9999-12-31 23:59:59.999999+00'::timestamptz)"),
        "0000000000000000009"
    );
    assert_eq!(one("SELECT rowkey.inverted_ticks(NULL)"), "NULL");
    let back = "SELECT rowkey.from_inverted_ticks(rowkey.inverted_ticks(t)) = t, rowkey.from_ticks(rowkey.ticks(t)) = t \
                FROM (SELECT '2024-05-01 08:00:00.123456+00'::timestamptz AS t) x";
    assert_eq!(one(back), "true|true");
    for text in ["", "5", "-621355968000000000", "9999999999999999999", "0000000000000000000"] {
        let state = fails(&mut session, &format!("SELECT rowkey.from_ticks('{text}')"));
        assert_eq!(state, SqlState::INVALID_PARAMETER_VALUE, "{text}");
    }
    assert_eq!(fails(&mut session, "SELECT ticks(now())"), SqlState::UNDEFINED_FUNCTION);
    assert_eq!(fails(&mut session, "SELECT rowkey.tocks(now())"), SqlState::UNDEFINED_FUNCTION);
}

#[test]
fn an_entity_comes_back_from_its_json() {
    in_both(|engine| {
        let mut session = session(engine);
        let texts = ask(&mut session, "SELECT rowkey.entity_json(t) FROM things t ORDER BY rowkey");
        let mut decoder = EntityDecoder::for_answers();
        let decoded: Vec<Entity> = texts
            .iter()
            .map(|text| decoder.decode(text, None).unwrap_or_else(|error| panic!("{text}: {error}")))
            .collect();
        let stored = entities(engine, "Things").expect("the table");
        // A NaN is not equal to itself.
        assert_eq!(format!("{decoded:?}"), format!("{stored:?}"));
        assert!(texts[0].contains(&stored[0].etag().replace('"', "\\\"")), "{}", texts[0]);
        let outer =
            "SELECT rowkey.entity_json(b) FROM things a LEFT JOIN things b ON a.rowkey || 'x' = b.rowkey LIMIT 1";
        assert_eq!(ask(&mut session, outer), ["NULL"]);
        for wrong in ["SELECT rowkey.entity_json(1)", "SELECT rowkey.entity_json(x) FROM (SELECT 1 AS a) x"] {
            assert_eq!(fails(&mut session, wrong), SqlState::UNDEFINED_FUNCTION, "{wrong}");
        }
    });
}

/// The properties of the entities of a table, which may lack some.
fn properties(engine: &Engine, table: &str) -> Vec<String> {
    let stored = entities(engine, table).expect("the table");
    stored.iter().map(|entity| format!("{} {:?}", entity.key.row, entity.parts())).collect()
}

#[test]
fn what_is_copied_is_exact() {
    in_both(|engine| {
        let mut session = session(engine);
        ask(&mut session, "DROP TABLE IF EXISTS archive");
        let service = engine.entities();
        let name = TableName::parse("archive").expect("a name");
        let archive = within_runtime(service.create_table(&name)).expect("created");
        for entity in entities(engine, "Things").expect("the table") {
            within_runtime(service.operate(archive, &EntityOperation::Insert(entity))).expect("inserted");
        }
        ask(&mut session, "DELETE FROM archive");
        let things = properties(engine, "Things");
        ask(&mut session, "INSERT INTO archive SELECT * FROM things WHERE rowkey < '9' ORDER BY rowkey LIMIT 9");
        assert_eq!(properties(engine, "archive"), things);
        ask(&mut session, "UPDATE archive SET at = NULL, \"Mixed\" = NULL");
        ask(
            &mut session,
            "INSERT INTO archive SELECT * FROM things ON CONFLICT (partitionkey, rowkey) DO UPDATE SET \
             at = excluded.at, \"Mixed\" = excluded.\"Mixed\", text = archive.text WHERE archive.rowkey > '0'",
        );
        ask(&mut session, "DELETE FROM archive");
        // The columns beside a property count where a place says what rows are sorted by.
        ask(&mut session, "INSERT INTO archive SELECT * FROM things ORDER BY text NULLS FIRST, rowkey LIMIT 1");
        assert_eq!(properties(engine, "archive"), things[3..]);
        ask(
            &mut session,
            "INSERT INTO archive SELECT * FROM things ON CONFLICT (partitionkey, rowkey) DO UPDATE SET at = excluded.at",
        );
        let sorted = |table: &str| {
            let stored = entities(engine, table).expect("the table");
            let mut all: Vec<_> = stored
                .iter()
                .flat_map(|entity| entity.parts().iter().map(|part| format!("{} {part:?}", entity.key.row)))
                .collect();
            all.sort_unstable();
            all
        };
        assert_eq!(sorted("archive"), sorted("Things"));
        let columns = "partitionkey, rowkey, at, \"Mixed\"";
        ask(&mut session, "DELETE FROM archive");
        ask(
            &mut session,
            &format!(
                "INSERT INTO archive ({columns}) SELECT 'p', a.rowkey, b.at, b.\"Mixed\" FROM things a \
                 LEFT JOIN things b ON a.rowkey = b.rowkey AND b.rowkey < '3'"
            ),
        );
        let copied = properties(engine, "archive");
        assert!(copied[0].contains("Int32(5)") && copied[0].contains("1234567"), "{copied:?}");
        assert!(copied[1].contains("Int64(5)") && copied[2].ends_with("[]"), "{copied:?}");
        ask(&mut session, "UPDATE archive SET at = at, \"Mixed\" = \"Mixed\"");
        assert_eq!(properties(engine, "archive"), copied);
        // What is computed has the microseconds of SQL.
        ask(&mut session, "UPDATE archive SET at = at + interval '0' WHERE rowkey = '1'");
        assert_ne!(properties(engine, "archive")[0], copied[0]);
        let of_others = "UPDATE archive a SET at = t.at FROM things t WHERE t.rowkey = a.rowkey AND a.rowkey = '1' \
                         RETURNING t.text";
        assert_eq!(ask(&mut session, of_others), ["it's"]);
        assert_eq!(properties(engine, "archive"), copied);
        let twice = "INSERT INTO archive SELECT *, 1 FROM things";
        assert_eq!(fails(&mut session, twice), SqlState::SYNTAX_ERROR);
    });
}

#[test]
fn returning_gives_entities() {
    let (engine, _) = filled();
    let mut session = session(&engine);
    let json = "rowkey.entity_json(things)";
    for write in ["UPDATE things SET text = 'new' WHERE rowkey = '1'", "UPDATE things SET at = at WHERE rowkey = '2'"] {
        let returned = ask(&mut session, &format!("{write} RETURNING {json}, \"At:ticks\""));
        let row = write.split('\'').nth_back(1).expect("a key");
        assert_eq!(
            ask(&mut session, &format!("SELECT {json}, \"At:ticks\" FROM things WHERE rowkey = '{row}'")),
            returned
        );
        assert!(returned[0].contains("05.1234567Z"), "{returned:?}");
    }
    let stored = ask(&mut session, &format!("SELECT {json} FROM things WHERE rowkey = '3'"));
    assert_eq!(ask(&mut session, &format!("DELETE FROM things WHERE rowkey = '3' RETURNING {json}")), stored);
}
