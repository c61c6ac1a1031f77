use super::*;
use crate::model::EdmType;

fn printed(report: &ImportReport) -> String {
    let mut out = Vec::new();
    print(report, "Devices", Duration::from_millis(2_000), false, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn property(name: &str, types: &[(EdmType, u64)]) -> PropertyReport {
    PropertyReport { name: name.to_owned(), types: types.to_vec() }
}

fn report() -> ImportReport {
    ImportReport {
        before_since: 0,
        warnings: Vec::new(),
        assumed: Vec::new(),
        entities: 1_000_000,
        inserted: 999_000,
        replaced: 500,
        unchanged: 400,
        older: 0,
        duplicates: 100,
        rejected: 1,
        rejects: Vec::new(),
        partitions: Some(1),
        stored: 2_000_000,
        files: 12,
        properties: vec![
            property("Age", &[(EdmType::Int32, 12), (EdmType::String, 3)]),
            property("SerialNumber", &[(EdmType::Int64, 999_999)]),
        ],
        beyond_columns: 0,
    }
}

#[test]
fn the_whole_report() {
    let expected = "
property      type     values
Age*          Int32        12
              String        3
SerialNumber  Int64   999,999
* has values of several types; each is also a column of its own, \"Name:Type\"

table Devices
  entities read  1,000,000
  inserted         999,000
  replaced             500
  unchanged            400
  older                  0
  duplicates           100
  rejected               1
  in the table   2,000,000 entities in 1 partition, 12 files
  time           2.0 s, 500,000 entities/s
";
    assert_eq!(printed(&report()), expected[1..]);
}

#[test]
fn no_properties() {
    let report = ImportReport { properties: Vec::new(), ..report() };
    assert!(printed(&report).starts_with("table Devices\n  entities read  1,000,000\n"));
}

#[test]
fn properties_without_columns_are_counted() {
    let report = ImportReport { beyond_columns: 1_500, ..report() };
    let line = "and 1,500 properties more, for which no column is left: all their values are kept, in \"(other)\"\n";
    assert!(printed(&report).contains(&format!("999,999\n{line}* has values")), "{}", printed(&report));
}
