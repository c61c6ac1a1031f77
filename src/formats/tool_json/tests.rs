use std::sync::Arc;

use super::*;
use crate::{Counts, DecodeOptions, Format, Progress, WarningKind, decode as decode_source};
use rowkey_model::rows::PropertyNames;
use rowkey_model::{DateTime, EdmType, Entity, Key, Value};

fn read_as(format: Option<Format>, text: &str) -> (Format, Vec<Entity>, Vec<String>, Counts) {
    read_with(&Arc::new(PropertyNames::new()), format, text)
}

fn read_with(
    names: &Arc<PropertyNames>,
    format: Option<Format>,
    text: &str,
) -> (Format, Vec<Entity>, Vec<String>, Counts) {
    let mut source = Source::stream("in", Box::new(std::io::Cursor::new(text.to_owned())));
    let format = format.unwrap_or_else(|| source.detect().unwrap());
    let (mut entities, mut rejects) = (Vec::new(), Vec::new());
    let progress = Progress::new();
    let counts = decode_source::<Error>(source, format, names, &DecodeOptions::default(), &progress, &mut |chunk| {
        entities.extend(chunk.rows.iter().map(|row| row.to_entity(names)));
        rejects.extend(chunk.rejects.iter().map(|reject| reject.reason.clone()));
        Ok(())
    })
    .unwrap();
    (format, entities, rejects, counts)
}

fn taken(tool: JsonTool, text: &str) -> Vec<Entity> {
    let (format, entities, rejects, _) = read_as(None, text);
    assert_eq!((format, rejects), (Format::Tool(tool), Vec::<String>::new()));
    entities
}

fn values(entity: &Entity) -> Vec<(&str, EdmType, String)> {
    entity.properties().map(|(name, value)| (name, value.edm_type(), value.to_string())).collect()
}

fn at(text: &str) -> DateTime {
    DateTime::parse(text).unwrap()
}

#[test]
fn the_azure_cli() {
    let text = r#"{"items":[{"At":"2024-02-29T12:34:56.789012+00:00","Bad":NaN,"Low":-Infinity,
        "Big":{"edm_type":"Edm.Int64","value":9007199254740993},"PartitionKey":"eu","Price":1.0,"RowKey":"0001",
        "Timestamp":"2026-11-20T08:22:42.603928+00:00","etag":"W/\"datetime'2026-11-20T08%3A22%3A42.6039287Z'\""},
        {"N":1,"Timestamp":"2026-11-20T08:22:42+00:00","etag":"x"}],"nextMarker":{"nextpartitionkey":"a"}}"#;
    let names = Arc::new(PropertyNames::new());
    let (format, mut entities, rejects, counts) = read_with(&names, None, text);
    entities.sort_by(|a, b| b.key.cmp(&a.key));
    assert_eq!((format, rejects), (Format::Tool(JsonTool::AzureCli), Vec::<String>::new()));
    assert_eq!(entities[0].timestamp, at("2026-11-20T08:22:42.6039287Z"));
    assert_eq!(
        values(&entities[0]),
        [
            ("At", EdmType::String, "2024-02-29T12:34:56.789012+00:00".to_owned()),
            ("Bad", EdmType::Double, "NaN".to_owned()),
            ("Big", EdmType::Int64, "9007199254740993".to_owned()),
            ("Low", EdmType::Double, "-Infinity".to_owned()),
            ("Price", EdmType::Double, "1.0".to_owned()),
        ]
    );
    assert_eq!(entities[1].key, Key::new("", ""));
    let kinds: Vec<_> = counts.warnings.iter().map(|warning| warning.kind).collect();
    assert!(kinds.contains(&WarningKind::Truncated) && kinds.contains(&WarningKind::Lenient), "{:?}", counts.warnings);
    let assumed = counts.samples.assumed(&names);
    let doubtful: Vec<_> =
        assumed.iter().filter_map(|assumed| Some((&*assumed.property, assumed.looks_like?))).collect();
    assert_eq!(doubtful, [("At", EdmType::DateTime)]);
    let whole = read_as(None, r#"{"items":[{"PartitionKey":"a","RowKey":"b"}],"nextMarker":{}}"#);
    assert_eq!((whole.1.len(), whole.3.warnings), (1, Vec::new()));
}

#[test]
fn python() {
    let entities = taken(
        JsonTool::Python,
        r#"[{"PartitionKey": "eu", "RowKey": "1", "Big": [9007199254740993, "Edm.Int64"], "Raw": "b'\\x00a'",
            "At": "2024-02-29 12:34:56.789012+00:00", "Bad": NaN, "Ref": "0f8fad5b-d9cb-469f-a165-70867728950e"}]"#,
    );
    assert_eq!(entities[0].get("Big"), Some(&Value::Int64(9_007_199_254_740_993)));
    assert_eq!(entities[0].get("Raw"), Some(&Value::Binary(b"\0a".to_vec())));
    assert_eq!(entities[0].get("At"), Some(&Value::DateTime(at("2024-02-29T12:34:56.789012Z"))));
    assert_eq!(entities[0].get("Ref").map(Value::edm_type), Some(EdmType::String));
}

#[test]
fn javascript() {
    let entities = taken(
        JsonTool::JavaScript,
        r#"[{"etag":"W/\"datetime'2024-05-01T08%3A00%3A00.1234567Z'\"","partitionKey":"eu","rowKey":"1",
            "timestamp":"2024-05-01T08:00:00.1234567Z","Ref":{"value":"0f8fad5b-d9cb-469f-a165-70867728950e","type":"Guid"},
            "Raw":{"type":"Buffer","data":[0,255]},"N":{"value":"7","type":"Int64"},"D":{"value":"NaN","type":"Double"}}]"#,
    );
    assert_eq!(entities[0].key, Key::new("eu", "1"));
    assert_eq!(entities[0].timestamp, at("2024-05-01T08:00:00.1234567Z"));
    assert_eq!(entities[0].get("Raw"), Some(&Value::Binary(vec![0, 255])));
    assert_eq!(entities[0].get("Ref").map(Value::edm_type), Some(EdmType::Guid));
    assert_eq!((entities[0].get("N"), entities[0].get("etag")), (Some(&Value::Int64(7)), None));
}

#[test]
fn legacy_javascript() {
    let entities = taken(
        JsonTool::LegacyJavaScript,
        r#"[{"PartitionKey":{"$":"Edm.String","_":"eu"},"RowKey":{"$":"Edm.String","_":"1"},"Qty":{"_":3},
            "Big":{"$":"Edm.Int64","_":"5000000000"},"Timestamp":{"$":"Edm.DateTime","_":"2024-05-01T08:00:00.123Z"},
            ".metadata":{"etag":"W/\"datetime'2024-05-01T08%3A00%3A00.1234567Z'\""}}]"#,
    );
    assert_eq!(entities[0].timestamp, at("2024-05-01T08:00:00.1234567Z"));
    let expected = [("Big", EdmType::Int64, "5000000000".to_owned()), ("Qty", EdmType::Int32, "3".to_owned())];
    assert_eq!(values(&entities[0]), expected);
}

#[test]
fn backups_of_net_tools() {
    let entities = taken(
        JsonTool::CoreHelpers,
        r#"[{"RowKey":"1","PartitionKey":"eu","Properties":[{"PropertyName":"Big","PropertyType":7,"PropertyValue":9007199254740993},
            {"PropertyName":"At","PropertyType":3,"PropertyValue":"2023-11-10T19:09:50.065462+00:00"},
            {"PropertyName":"T","PropertyType":0,"PropertyValue":"2023-11-10T19:09:50Z"}]}]"#,
    );
    assert_eq!(entities[0].get("Big"), Some(&Value::Int64(9_007_199_254_740_993)));
    assert_eq!(entities[0].get("At"), Some(&Value::DateTime(at("2023-11-10T19:09:50.065462Z"))));
    assert_eq!(entities[0].get("T"), Some(&"2023-11-10T19:09:50Z".into()));

    let backup = |count: u32| {
        format!(
            r#"{{"ProcessingMetaData":"Metadata","TableName":"Orders","RecordType":"Header","RecordCount":0}}
{{"PartitionKey":"eu","RowKey":"1","Timestamp":"2024-05-01T10:00:00.12+02:00","Qty":{{"Qty":3,"EdmType":"Int32"}},"G":{{"G":"0f8fad5b-d9cb-469f-a165-70867728950e","EdmType":"GUID"}}}}
{{"ProcessingMetaData":"Metadata","TableName":"Orders","RecordType":"Footer","RecordCount":{count}}}
"#
        )
    };
    let entities = taken(JsonTool::TableUtilities, &backup(1));
    assert_eq!(entities[0].timestamp, at("2024-05-01T08:00:00.12Z"));
    assert_eq!(entities[0].get("G").map(Value::edm_type), Some(EdmType::Guid));
    assert_eq!(entities[0].get("Qty"), Some(&Value::Int32(3)));
    assert!(read_as(None, &backup(1)).3.warnings.is_empty());
    assert_eq!(read_as(None, &backup(2)).3.warnings[0].kind, WarningKind::Truncated);
    // Without its last line the number of entities is unknown.
    let whole = backup(1);
    let lines: Vec<&str> = whole.lines().collect();
    for cut in
        [lines[..2].join("\n"), lines[..1].join("\n"), lines[1].to_owned(), format!("{whole}{}", lines[..2].join("\n"))]
    {
        let warnings = read_as(Some(Format::Tool(JsonTool::TableUtilities)), &cut).3.warnings;
        assert_eq!(warnings.iter().map(|warning| warning.kind).collect::<Vec<_>>(), [WarningKind::Truncated], "{cut}");
        assert!(warnings[0].reason.starts_with("the last line is missing"), "{}", warnings[0]);
    }
    assert!(read_as(None, &format!("{whole}{whole}")).3.warnings.is_empty());
    // Rejects are imported again without one.
    let reject = lines[1].replacen('{', r#"{"odata.reject":"in:2: wrong","#, 1);
    assert!(read_as(Some(Format::Tool(JsonTool::TableUtilities)), &reject).3.warnings.is_empty());
}

#[test]
fn dmt_and_storage_explorer() {
    let entities = taken(
        JsonTool::MigrationTool,
        r#"[{"odata.etag":"W/\"datetime'2024-05-01T08%3A00%3A00.1234567Z'\"","PartitionKey":"eu","RowKey":"1",
            "Timestamp":"2024-05-01T08:00:00.1234567+00:00","Raw":[0,1,254],"N":5}]"#,
    );
    assert_eq!(entities[0].get("Raw"), Some(&Value::Binary(vec![0, 1, 254])));
    let entities = taken(
        JsonTool::StorageExplorer,
        r#"[{"PartitionKey":"eu","RowKey":"1","N":"5","N@type":"Int64","S":"x"},{"PartitionKey":"eu","RowKey":"2","N":"6"}]"#,
    );
    assert_eq!(entities[1].get("N"), Some(&Value::Int64(6)));
}

#[test]
fn entities_of_tools_are_taken_among_those_of_the_service() {
    let text = r#"{"PartitionKey":"eu","RowKey":"1","V":1}
{"PartitionKey":"eu","RowKey":"2","V":NaN}
{"PartitionKey":"eu","RowKey":"3","V":{"edm_type":"Edm.Int64","value":4}}
{"PartitionKey":"eu","RowKey":"4","V":[1,2]}
{"odata.reject":"nothing but a remark"}
"#;
    let (format, entities, rejects, _) = read_as(Some(Format::ServiceJson), text);
    assert_eq!((format, entities.len()), (Format::ServiceJson, 3));
    assert_eq!(entities[2].get("V"), Some(&Value::Int64(4)));
    assert_eq!(rejects, ["property V has an array; values of entities are not nested"]);
}

#[test]
fn nothing_nests_without_end() {
    let deep = format!(r#"[{{"PartitionKey":"a","RowKey":"b","V":{}{}}}]"#, "[".repeat(100_000), "]".repeat(100_000));
    let (_, entities, rejects, _) = read_as(Some(Format::Tool(JsonTool::Python)), &deep);
    assert_eq!((entities.len(), rejects.len()), (0, 1));
    assert!(rejects[0].contains("nested more than"), "{rejects:?}");
}

#[test]
fn an_input_that_holds_nothing() {
    let kinds = |text: &str| {
        let warnings = read_as(None, text).3.warnings;
        warnings.iter().map(|warning| (warning.kind, warning.reason.contains("holds nothing"))).collect::<Vec<_>>()
    };
    for nothing in ["", "\n", " \r\n\u{a}", "\u{feff}"] {
        assert_eq!(kinds(nothing), [(WarningKind::Truncated, true)], "{nothing:?}");
    }
    for empty in ["[]", " [ ]\n", r#"{"value":[]}"#] {
        assert_eq!(kinds(empty), [], "{empty}");
    }
}
