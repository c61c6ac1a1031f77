use super::*;

fn key(template: &str) -> Result<String, String> {
    KeyTemplate::parse(template)?.key(|column| match column {
        "Country" => Ok("de".into()),
        "City" => Ok("Köln".into()),
        _ => Err(format!("no {column}")),
    })
}

#[test]
fn a_key_is_a_column_or_a_text_of_columns() {
    assert_eq!(key("Country").as_deref(), Ok("de"));
    assert_eq!(key("{Country}-{City}").as_deref(), Ok("de-Köln"));
    assert_eq!(key("{{{Country}}}").as_deref(), Ok("{de}"));
    assert_eq!(key("all{{").as_deref(), Ok("all{"));
    assert_eq!(key("Other"), Err("no Other".to_owned()));
    for wrong in ["", "{", "}", "{}", "a{b", "{a{b}"] {
        assert!(KeyTemplate::parse(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn only_a_column_that_is_a_key_by_itself_is_no_property() {
    let columns = KeyColumns {
        partition: Some(KeyTemplate::parse("{Country}-{City}").unwrap()),
        row: Some(KeyTemplate::parse("Id").unwrap()),
    };
    assert!(columns.is_key("Id") && !columns.is_key("Country"));
    assert_eq!(columns.columns().map(|column| &**column).collect::<Vec<_>>(), ["Country", "City", "Id"]);
}
