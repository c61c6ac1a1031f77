use crate::types::json::normalized;

#[test]
fn values_are_printed_as_postgresql_does() {
    for (text, printed) in [
        (r#"{"bb":1,"a" : [1,2 ],"a":{"c":null}}"#, r#"{"a": {"c": null}, "bb": 1}"#),
        (r#" [ 1.0 , 1e5, -0 ] "#, "[1.0, 100000, 0]"),
        ("[1e0, -1.0e0, 1E-0, 0e+00, -0e0]", "[1, -1.0, 1, 0, 0]"),
        (r#""\u00e9\/\u0001\n\"""#, r#""é/\u0001\n\"""#),
        (r#"{"z":1,"aa":2,"b":3,"é":4}"#, r#"{"b": 3, "z": 1, "aa": 2, "é": 4}"#),
        (r#"{"a":1,"b":2,"a":3,"b":4,"a":5}"#, r#"{"a": 5, "b": 4}"#),
        ("{}", "{}"),
        ("[]", "[]"),
    ] {
        assert_eq!(normalized(text).as_deref(), Ok(printed), "{text}");
        assert_eq!(normalized(printed).as_deref(), Ok(printed));
    }
    for text in [r#""\u0000""#, r#""\ud800""#, "[1,]", "{\"a\"}", "nul", "", "[1] 2", "1e999999"] {
        assert!(normalized(text).is_err(), "{text}");
    }
    assert!(normalized(&"[".repeat(100_000)).is_err());
}
