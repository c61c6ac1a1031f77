//! The pass over parsed statements, against a fixed set of relations.

mod depth;
mod table;

use datafusion::sql::sqlparser::ast::Statement;
use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
use datafusion::sql::sqlparser::parser::Parser;

use super::{Lookup, Name, NameError, OutputColumn, Relation, Relations, Resolved, resolve, resolve_query};

/// Schema, name, columns, how many of them are system columns.
const TABLES: [(&str, &str, &[&str], usize); 7] = [
    ("public", "Employees", &["PartitionKey", "RowKey", "LastName", "Age"], 0),
    ("public", "Departments", &["PartitionKey", "RowKey", "Name", "Boss"], 0),
    ("public", "Twins", &["Id", "Name", "name"], 0),
    ("public", "Lower", &["partitionkey", "Note"], 0),
    ("archive", "Employees", &["Id", "LastName"], 0),
    ("pg_catalog", "pg_class", &["oid", "relname", "relnamespace", "tableoid", "xmin"], 2),
    ("pg_catalog", "pg_namespace", &["oid", "nspname", "tableoid", "xmin"], 2),
];

struct Fixture;

impl Relations for Fixture {
    fn returns_rows(&self, function: &str) -> bool {
        self.function_columns(function).is_some() || crate::desugar::returns_rows(function)
    }

    fn is_aggregate(&self, function: &str) -> bool {
        crate::syntax::is_aggregate(function)
    }

    fn relation(&self, schema: Option<Name<'_>>, name: Name<'_>) -> Lookup {
        let fold = |(text, quoted): Name<'_>| if quoted { text.to_owned() } else { text.to_lowercase() };
        let schemas = match schema {
            None => vec!["pg_catalog".to_owned(), "public".to_owned()],
            Some(schema) => vec![fold(schema)],
        };
        if !schemas.iter().any(|schema| TABLES.iter().any(|table| table.0 == schema)) {
            return Lookup::NoSuchSchema;
        }
        let fits = |schema: &String, table: &(&str, &str, &[&str], usize)| {
            table.0 == schema
                && if schema == "public" { table.1.eq_ignore_ascii_case(name.0) } else { table.1 == fold(name) }
        };
        let found = schemas.iter().find_map(|schema| TABLES.iter().find(|table| fits(schema, table)));
        match found {
            Some((schema, name, columns, system_columns)) => Lookup::Found(Relation {
                schema: (*schema).to_owned(),
                name: (*name).to_owned(),
                columns: columns.iter().map(|column| (*column).to_owned()).collect(),
                system_columns: *system_columns,
                key: Vec::new(),
            }),
            None => {
                let names: Vec<&str> = TABLES.iter().map(|table| table.1).collect();
                let suggestion = crate::suggestion::suggestion(name.0, &names).map(str::to_owned);
                Lookup::NoSuchRelation { suggestion }
            }
        }
    }

    fn function_columns(&self, name: &str) -> Option<Vec<String>> {
        let columns: &[&str] = match name {
            "generate_series" => &["generate_series"],
            "_pg_expandarray" => &["x", "n"],
            _ => return None,
        };
        Some(columns.iter().map(|column| (*column).to_owned()).collect())
    }

    fn database(&self) -> &str {
        "devstoreaccount1"
    }
}

fn parse(sql: &str) -> Statement {
    let parser = Parser::new(&PostgreSqlDialect {}).with_recursion_limit(200).try_with_sql(sql);
    let parsed = parser.and_then(|mut parser| parser.parse_statements());
    let mut statements = parsed.unwrap_or_else(|error| panic!("{sql}: {error}"));
    assert_eq!(statements.len(), 1, "{sql}");
    statements.remove(0)
}

/// The statement as rewritten, and what it means.
fn resolved(sql: &str) -> Result<(String, Resolved), NameError> {
    let mut statement = parse(sql);
    let resolved = resolve(&mut statement, &Fixture)?;
    Ok((statement.to_string(), resolved))
}

#[test]
fn relations_are_listed_once() {
    let sql =
        "WITH c AS (SELECT * FROM departments) SELECT * FROM employees a, employees b, c, archive.\"Employees\" d";
    let (_, resolved) = resolved(sql).expect("resolves");
    let named: Vec<(&str, &str)> =
        resolved.relations.iter().map(|(schema, name)| (schema.as_str(), name.as_str())).collect();
    assert_eq!(named, [("public", "Departments"), ("public", "Employees"), ("archive", "Employees")]);
}

#[test]
fn positions_count_lines_and_characters() {
    let error = resolved("SELECT 'äöü',\n  'ß' || nope\nFROM employees").expect_err("there is no such column");
    let position = error.position.expect("a position");
    assert_eq!((position.line, position.column), (2, 10));
}

#[test]
fn a_query_alone_resolves_like_a_statement() {
    let Statement::Query(mut query) = parse("SELECT lastname FROM employees") else { panic!("a query") };
    let resolved = resolve_query(&mut query, &Fixture).expect("resolves");
    assert_eq!(resolved.output[0].label, "LastName");
    assert_eq!(query.to_string(), r#"SELECT "Employees"."LastName" FROM "public"."Employees" AS "Employees""#);
}

#[test]
fn resolving_twice_changes_nothing() {
    let sql =
        "SELECT e.lastname, count(*) AS n FROM employees e JOIN departments USING (partitionkey) GROUP BY 1 ORDER BY n";
    let mut statement = parse(sql);
    let first = resolve(&mut statement, &Fixture).expect("resolves");
    let once = statement.to_string();
    let second = resolve(&mut statement, &Fixture).expect("resolves again");
    assert_eq!((statement.to_string(), second), (once, first));
}
