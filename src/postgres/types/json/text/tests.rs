use super::*;

#[test]
fn what_is_no_json_is_refused() {
    for text in [
        "",
        " ",
        "{",
        "{a:1}",
        "[1,]",
        "[1 2]",
        "01",
        "1.",
        "-",
        "1e",
        "tru",
        "truex",
        "'a'",
        "\"a",
        "\"\\x\"",
        "\"\\u12\"",
        "\"\t\"",
        "{}x",
        "{\"a\"}",
        "[",
        "1a",
    ] {
        assert!(Json::read(text).is_err(), "{text}");
    }
    for text in ["{}", "[]", " 1 ", "-0.5e+10", "\"\\u00e9\\n\"", "[1, {\"a\" : [null, true, false]}]", "0", "\"é\""] {
        assert!(Json::read(text).is_ok(), "{text}");
    }
    assert!(Json::read(&"[".repeat(100_000)).is_err());
}

#[test]
fn parts_are_as_they_are_written() {
    let json = Json::read(r#" {"a" : [ 1 , {"b":null}], "é\n" : "x\ty", "a" : {"c" : 1.50} } "#).expect("json");
    let text = |found: Result<Option<Json<'_>>>| found.expect("read").map(|json| json.text().to_owned());
    assert_eq!(text(json.field("a")).as_deref(), Some(r#"{"c" : 1.50}"#));
    assert_eq!(text(json.field("é\n")).as_deref(), Some(r#""x\ty""#));
    assert_eq!(json.field("é\n").expect("read").expect("there").plain().expect("text").as_deref(), Some("x\ty"));
    assert_eq!(text(json.field("b")), None);
    assert_eq!(text(json.at_path(&["a".to_owned(), "c".to_owned()])).as_deref(), Some("1.50"));
    let list = Json::read("[ 1 , [2,3 ] ]").expect("json");
    assert_eq!(text(list.element(-1)).as_deref(), Some("[2,3 ]"));
    assert_eq!(text(list.element(2)), None);
    assert_eq!(text(list.at_path(&["1".to_owned(), "-1".to_owned()])).as_deref(), Some("3"));
}
