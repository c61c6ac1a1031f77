//! `rowkey.odata` and pages of filters beside the oracle of the specification.

use std::sync::Arc;

use super::{ask, fails, open, rows, session, within_runtime};
use crate::engine::{EntityOperation, EntityQuery};
use crate::odata::Filter;
use crate::odata::oracle::{entities, oracle, text, tree};
use crate::session::SqlState;
use rowkey_base::testing::Dice;
use rowkey_model::files::MemoryStore;
use rowkey_model::{Entity, EntityBuilder, Key, TableName};

#[test]
fn filters_in_sql_and_of_pages_hold_as_the_specification_says() {
    let mut dice = Dice(2506);
    let mut matched = 0;
    for round in 0..8 {
        let engine = open(Arc::new(MemoryStore::new())).expect("opens");
        let service = engine.entities();
        let table = within_runtime(service.create_table(&TableName::parse("Mixed").expect("a name"))).expect("created");
        for entity in entities(&mut dice) {
            within_runtime(service.operate(table, &EntityOperation::Insert(entity))).expect("inserted");
            // Some of them lie in files, and some do not.
            if dice.chance(20) {
                within_runtime(service.vacuum(table, round % 2 == 0)).expect("folded");
            }
        }
        let stored = super::entities(&engine, "Mixed").expect("the table");
        let mut session = session(&engine);
        for _ in 0..25 {
            let tree = tree(&mut dice, 3);
            let filter = text(&tree);
            let keys = |entity: &Entity| format!("{}|{}", entity.key.partition, entity.key.row);
            let wanted: Vec<String> = stored.iter().filter(|entity| oracle(&tree, entity)).map(keys).collect();
            matched += wanted.len();
            let sql = format!("SELECT partitionkey, rowkey FROM rowkey.odata('mixed', $f${filter}$f$) ORDER BY 1, 2");
            let found = rows(&mut session, &sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
            assert_eq!(found, wanted, "{filter}");
            let parsed = Filter::parse(&filter).expect("a filter");
            let mut query = EntityQuery::new(parsed.keys().keys);
            query.filter = Some(Arc::new(move |entity| parsed.matches(entity)));
            let page = within_runtime(service.page(table, &query)).expect("a page");
            assert_eq!(page.entities.iter().map(keys).collect::<Vec<_>>(), wanted, "{filter}");
        }
    }
    assert!(matched > 500, "{matched} matches");
}

#[test]
fn a_filter_stands_in_from_like_a_table() {
    let engine = open(Arc::new(MemoryStore::new())).expect("opens");
    let export = "{\"PartitionKey\":\"Sales\",\"RowKey\":\"1\",\"Age\":41}\n\
                  {\"PartitionKey\":\"Sales\",\"RowKey\":\"2\",\"Age\":29}\n\
                  {\"PartitionKey\":\"Sales\",\"RowKey\":\"3\"}\n";
    super::import(&engine, "Employees", export, 4000).expect("imports");
    let mut session = session(&engine);
    let mut found = |sql: &str| ask(&mut session, sql);
    let filter = "$$PartitionKey eq 'Sales' and not (Age gt 30)$$";
    assert_eq!(found(&format!("SELECT * FROM rowkey.odata('Employees', {filter})")).len(), 2);
    let etags = "SELECT count(*) FROM rowkey.odata('Employees', $$Age gt 30$$) e JOIN Employees t USING (rowkey)";
    assert_eq!(found(etags), ["1"]);
    let etags = "SELECT e.rowkey FROM rowkey.odata('Employees', $$Age gt 20$$) e WHERE e.Age = 29 OR e.Age = 5 OR \
                 etag = ''";
    assert_eq!(found(etags), ["2"]);
    let etag = |from: &str| format!("SELECT etag FROM {from} ORDER BY rowkey LIMIT 1");
    assert_eq!(found(&etag("rowkey.odata('Employees', $$Age gt 40$$)")), found(&etag("Employees")));
    let json = |from: &str, name: &str| format!("SELECT rowkey.entity_json({name}) FROM {from} WHERE rowkey = '2'");
    let of_table = found(&json("Employees", "Employees"));
    assert_eq!(found(&json("rowkey.odata('Employees', $$Age gt 0$$)", "odata")), of_table);
    assert_eq!(found(&json("rowkey.odata('Employees', $$Age gt 0$$) AS e", "e")), of_table);
    assert_eq!(found(&format!("SELECT odata.rowkey FROM rowkey.odata('Employees', {filter}) LIMIT 1")), ["2"]);
    let join =
        "SELECT e.age FROM rowkey.odata('Employees', 'Age gt 30') AS e JOIN employees USING (partitionkey, rowkey)";
    assert_eq!(found(join), ["41"]);
    found("CREATE VIEW older AS SELECT * FROM rowkey.odata('Employees', 'Age gt 30')");
    assert_eq!(found("SELECT rowkey FROM older"), ["1"]);
    let plan = found(&format!("EXPLAIN SELECT * FROM rowkey.odata('Employees', {filter})")).join("\n");
    assert!(plan.contains("Partition scan of Employees") && plan.contains("PartitionKey = 'Sales'"), "{plan}");
    let point = "PartitionKey eq 'Sales' and RowKey eq '1'";
    let plan = found(&format!("EXPLAIN SELECT * FROM rowkey.odata('Employees', $${point}$$)")).join("\n");
    assert!(plan.contains("Point query on Employees"), "{plan}");
    for (sql, state) in [
        ("SELECT * FROM rowkey.odata('Employees', 'Age gt')", SqlState::SYNTAX_ERROR),
        ("SELECT * FROM rowkey.odata('Employees', 'startswith(A, ''x'')')", SqlState::FEATURE_NOT_SUPPORTED),
        ("SELECT * FROM rowkey.odata('None', '')", SqlState::UNDEFINED_TABLE),
        ("SELECT * FROM rowkey.odata('older', '')", SqlState::INVALID_STATEMENT),
        ("SELECT * FROM rowkey.odata('Employees')", SqlState::INVALID_STATEMENT),
        ("SELECT * FROM rowkey.odata('Employees', 'a' || 'b')", SqlState::INVALID_STATEMENT),
    ] {
        assert_eq!(fails(&mut session, sql), state, "{sql}");
    }
}

/// Of a table with more properties than it may have columns, some lie in a column of all others.
#[test]
fn a_filter_of_a_property_without_a_column_is_refused() {
    let engine = open(Arc::new(MemoryStore::new())).expect("opens");
    let service = engine.entities();
    let table = within_runtime(service.create_table(&TableName::parse("Wide").expect("a name"))).expect("created");
    for from in (0..600).step_by(100) {
        let key = Key::new("p", format!("{from:03}"));
        let entity = (from..from + 100)
            .fold(EntityBuilder::new(key), |entity, at| entity.property(format!("P{at}"), i64::from(at)));
        let insert = EntityOperation::Insert(entity.build().expect("an entity"));
        within_runtime(service.operate(table, &insert)).expect("inserted");
    }
    let mut session = session(&engine);
    let found = rows(&mut session, "SELECT rowkey FROM rowkey.odata('Wide', 'P7 eq 7L')").expect("rows");
    assert_eq!(found, ["000"]);
    for filter in ["P599 eq 599L", "not (P599 eq 599L)", "P7 eq 7L or P555 ne 1L"] {
        let sql = format!("SELECT rowkey FROM rowkey.odata('Wide', $${filter}$$)");
        let error = rows(&mut session, &sql).expect_err("no answer");
        assert_eq!(error.sqlstate(), SqlState::FEATURE_NOT_SUPPORTED, "{filter}: {error}");
    }
}
