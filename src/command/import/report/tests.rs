use super::*;
use rowkey_formats::AssumedType;
use rowkey_model::EdmType;

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
        superseded: 0,
        conflicting: 0,
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
fn entities_of_one_key_are_told_apart() {
    let report = ImportReport { superseded: 7, conflicting: 1, ..report() };
    let expected = "
  duplicates           100
  superseded             7
  rejected               1
    conflicting          1
";
    assert!(printed(&report).contains(&expected[1..]), "{}", printed(&report));
}

#[test]
fn all_doubtful_types_are_named() {
    let assumed_type = |property: String| AssumedType {
        property: property.into(),
        assumed: vec![EdmType::String],
        looks_like: Some(EdmType::Int32),
    };
    let report = ImportReport { assumed: (0..20).map(|n| assumed_type(format!("P{n:02}"))).collect(), ..report() };
    let lines = assumed(&report);
    assert_eq!(lines[18], "  P17: taken as String, looks like Int32");
    assert_eq!(lines[19], "  and 2 more");
    assert!(lines[20].contains("P18=Edm.Int32,P19=Edm.Int32"), "{}", lines[20]);
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
