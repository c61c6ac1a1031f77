use rowkey_sql::engine::Options;
use tokio::runtime::Runtime;

use super::*;
use crate::sample;

/// What is offered at the `|` in a text, with what it replaces.
struct Asked {
    completion: Completion,
    _threads: Runtime,
}

impl Asked {
    fn new() -> Self {
        let threads = Runtime::new().unwrap();
        let database = Arc::new(threads.block_on(Engine::open(":memory:", Options::default())).unwrap());
        sample::fill(&database).unwrap();
        let completion = Completion::new(database, threads.handle().clone(), Duration::from_secs(60)).unwrap();
        Self { completion, _threads: threads }
    }

    fn at(&self, marked: &str) -> Vec<String> {
        let cursor = marked.find('|').unwrap_or(marked.len());
        let text = marked.replacen('|', "", 1);
        let (from, found) = self.completion.candidates(&text, cursor);
        assert!(from <= cursor, "{marked}");
        found.into_iter().map(|pair| pair.replacement).collect()
    }
}

#[test]
fn names_of_the_database() {
    let asked = Asked::new();
    assert_eq!(asked.at("SELECT * FROM emp"), ["EmployeeReviews", "Employees"]);
    assert_eq!(asked.at("SELECT * FROM \"Emp"), ["\"EmployeeReviews\"", "\"Employees\""]);
    assert_eq!(
        asked.at("SELECT * FROM rowkey."),
        ["access_statistics", "files", "maintenance", "partitions", "properties", "settings", "tables"]
    );
    assert!(asked.at("SELECT * FROM pg_").contains(&"pg_catalog.".to_owned()));
    assert!(asked.at("SELECT * FROM pg_cl").contains(&"pg_class".to_owned()));
    assert_eq!(asked.at("\\d empl"), ["EmployeeReviews", "Employees"]);
    assert_eq!(asked.at("\\d rowkey.ta"), ["rowkey.tables"]);
    assert_eq!(asked.at("SELECT firstn| FROM Employees"), ["FirstName"]);
    assert_eq!(asked.at("SELECT e.\"Par| FROM Employees e"), ["\"PartitionKey\""]);
    assert_eq!(asked.at("SELECT e.row| FROM Departments d, Employees e"), ["RowKey"]);
    assert_eq!(asked.at("SELECT rowkey.tables.ent| FROM rowkey.tables"), ["entities"]);
    assert_eq!(asked.at("SELECT * FROM Employees WHERE starts_w"), ["starts_with("]);
    assert_eq!(asked.at("SELECT * FROM Employees WHERE upp"), ["upper("]);
    assert!(asked.at("SELECT * FROM NoSuch WHERE zzz").is_empty());
}

#[test]
fn words_and_settings() {
    let asked = Asked::new();
    assert_eq!(asked.at("sel"), ["select"]);
    assert_eq!(asked.at("SEL"), ["SELECT"]);
    assert_eq!(asked.at("SET timez"), ["TimeZone", "timezone_abbreviations"]);
    assert_eq!(asked.at("\\tim"), ["\\timing"]);
    assert_eq!(asked.at("\\x a"), ["auto"]);
    assert!(asked.at("SELECT 1 -- sel").is_empty());
}

#[test]
fn values_of_keys() {
    let asked = Asked::new();
    let partitions = asked.at("SELECT * FROM Employees WHERE \"PartitionKey\" = '");
    assert_eq!(partitions.len(), 12, "{partitions:?}");
    assert!(partitions.is_sorted());
    assert_eq!(asked.at("SELECT * FROM Employees e WHERE e.PartitionKey = 'Sal"), ["'Sales'"]);
    assert_eq!(asked.at("SELECT * FROM Employees e WHERE e.PartitionKey = 'Sal|'"), ["'Sales"]);
    let rows = asked.at("SELECT * FROM Employees WHERE PartitionKey = 'Sales' AND RowKey >= '0");
    assert_eq!(rows.len(), 50, "{rows:?}");
    assert!(rows.is_sorted() && rows.iter().all(|row| row.starts_with("'0") && row.ends_with('\'')), "{rows:?}");
    assert!(asked.at("SELECT * FROM Employees WHERE RowKey = '0").is_empty(), "no partition is fixed");
    assert!(asked.at("SELECT * FROM NoSuch WHERE PartitionKey = '").is_empty());
}

#[test]
fn files_of_a_folder() {
    let asked = Asked::new();
    assert_eq!(asked.at("\\i Cargo.to"), ["Cargo.toml"]);
    assert_eq!(asked.at("\\i prompt/compl"), ["prompt/completion/"]);
    assert!(asked.at("\\i no/such/fo").is_empty());
}
