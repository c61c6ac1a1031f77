use super::*;

#[test]
fn types_are_read_from_a_line_or_a_file() {
    let types = PropertyTypes::parse("At=Edm.DateTime, Count=int64\r\n# a remark\n\nRef = Edm.Guid,").unwrap();
    assert_eq!(types.get("At"), Some(EdmType::DateTime));
    assert_eq!(types.get("Count"), Some(EdmType::Int64));
    assert_eq!(types.get("Ref"), Some(EdmType::Guid));
    assert_eq!(types.get("Other"), None);
    let names = PropertyNames::new();
    let other = names.intern("Other");
    let numbered = types.numbered(&names);
    assert_eq!(numbered.get(names.find("Count").unwrap()), Some(EdmType::Int64));
    assert_eq!(numbered.met(&names), ["Count".into()], "it was asked for");
    assert_eq!((numbered.get(other), numbered.get(PropertyId(99))), (None, None));
}

#[test]
fn what_is_no_type_is_refused() {
    for (text, expected) in [
        ("At", "written as Name=Edm.Int64"),
        ("At=Edm.Date", "no type \"Edm.Date\""),
        ("RowKey=String", "is fixed"),
        ("a b=String", "property name"),
    ] {
        let reason = PropertyTypes::parse(text).unwrap_err();
        assert!(reason.contains(expected), "{text}: {reason}");
    }
}
