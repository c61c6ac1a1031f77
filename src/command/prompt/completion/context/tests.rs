use super::*;

fn wanted_at(text: &str) -> (String, Wanted) {
    let place = place(text);
    (place.prefix, place.wanted)
}

#[test]
fn what_can_stand_there() {
    let relation = |schema: Option<&str>| Wanted::Relation { schema: schema.map(str::to_owned) };
    let member = |of: &[&str]| Wanted::Member { of: of.iter().map(|name| (*name).to_owned()).collect() };
    for (text, prefix, wanted) in [
        ("", "", Wanted::Statement),
        ("SELECT 1; sel", "sel", Wanted::Statement),
        ("explain ", "", Wanted::Statement),
        ("SELECT Par", "Par", Wanted::Expression),
        ("SELECT \"Par", "Par", Wanted::Expression),
        ("SELECT * FROM Em", "Em", relation(None)),
        ("SELECT * FROM a, ", "", relation(None)),
        ("SELECT a, ", "", Wanted::Expression),
        ("SELECT * FROM (SELECT a, b FROM x) y, ", "", relation(None)),
        ("SELECT * FROM a WHERE f(a, ", "", Wanted::Expression),
        ("SELECT * FROM rowkey.", "", relation(Some("rowkey"))),
        ("SELECT * FROM a JOIN Rowkey.ta", "ta", relation(Some("Rowkey"))),
        ("SELECT e.", "", member(&["e"])),
        ("SELECT rowkey.tables.by", "by", member(&["rowkey", "tables"])),
        ("SET tim", "tim", Wanted::Setting),
        ("SHOW ", "", Wanted::Setting),
        ("DROP VIEW ", "", relation(None)),
        ("SELECT -- fr", "", Wanted::Nothing),
        ("SELECT 'abc", "abc", Wanted::Nothing),
        ("\\d", "\\d", Wanted::Command),
        ("\\i my/fi", "my/fi", Wanted::Argument { command: "\\i".to_owned() }),
    ] {
        assert_eq!(wanted_at(text), (prefix.to_owned(), wanted), "{text}");
    }
}

#[test]
fn keys() {
    let key = |column, qualifier: Option<&str>, partition: Option<&str>| Wanted::Key {
        column,
        qualifier: qualifier.map(str::to_owned),
        partition: partition.map(str::to_owned),
    };
    use KeyColumn::{Partition, Row};
    for (text, prefix, wanted) in [
        ("SELECT * FROM t WHERE \"PartitionKey\" = '", "", key(Partition, None, None)),
        ("SELECT * FROM t WHERE partitionkey >= 'it''s", "it's", key(Partition, None, None)),
        ("SELECT * FROM t WHERE e.\"PartitionKey\" NOT IN ('a', 'b", "b", key(Partition, Some("e"), None)),
        ("SELECT * FROM t WHERE PartitionKey = 'p''q' AND RowKey = '0", "0", key(Row, None, Some("p'q"))),
        ("SELECT * FROM t WHERE PartitionKey = 'p' AND RowKey BETWEEN '0' AND '1", "1", key(Row, None, Some("p"))),
        ("SELECT * FROM t WHERE RowKey LIKE 'x", "x", key(Row, None, None)),
        ("SELECT * FROM t WHERE Name = 'x", "x", Wanted::Nothing),
    ] {
        assert_eq!(wanted_at(text), (prefix.to_owned(), wanted), "{text}");
    }
}

#[test]
fn tables_that_are_named() {
    let names = |text: &str| {
        let found = named(text, text.find('|').unwrap_or(text.len()));
        let shown = |named: &Named| {
            format!("{}/{}/{}", named.schema.as_deref().unwrap_or(""), named.name, named.alias.as_deref().unwrap_or(""))
        };
        found.iter().map(shown).collect::<Vec<_>>()
    };
    assert_eq!(
        names("SELECT * FROM Employees e LEFT JOIN rowkey.tables AS \"T\" ON true, x WHERE a FROM"),
        ["/Employees/e", "rowkey/tables/T", "/x/"]
    );
    assert_eq!(names("SELECT 1 FROM a; SELECT | FROM b; SELECT 1 FROM c"), ["/b/"]);
    assert_eq!(names("SELECT * FROM generate_series(1, 2), a WHERE x IN (SELECT y FROM b)"), ["/a/", "/b/"]);
}
