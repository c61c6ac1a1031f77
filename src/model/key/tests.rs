use super::*;

#[test]
fn ordinary_keys_pass() {
    for text in ["", "eu", "a b", "Ärger", "日本", "😀", "~!@$%^&*()_+=-,.<>;:'\"[]{}|`", "\u{a0}", "\u{e000}"] {
        assert_eq!(Key::new(text, text).validate(), Ok(()), "{text:?}");
    }
}

#[test]
fn forbidden_characters_are_refused_in_both_keys() {
    let controls = (0..0x20).chain(0x7f..=0x9f).filter_map(char::from_u32);
    let mut count = 0;
    for bad in ['/', '\\', '#', '?'].into_iter().chain(controls) {
        let text = format!("a{bad}b");
        let partition = Key::new(text.clone(), "").validate().expect_err("a forbidden character");
        let row = Key::new("", text).validate().expect_err("a forbidden character");
        assert_eq!((partition.rule, row.rule), (Rule::KeyCharacter, Rule::KeyCharacter), "{bad:?}");
        assert_eq!((&*partition.what, &*row.what), ("PartitionKey", "RowKey"));
        assert!(row.limit.contains(&format!("{bad:?}")), "{}", row.limit);
        count += 1;
    }
    assert_eq!(count, 4 + 32 + 33);
    let message = Key::new("a/b", "").validate().expect_err("a slash").to_string();
    let limit = "keys cannot contain / \\ # ? or control characters, this has '/'";
    assert_eq!(message, format!("PartitionKey \"a/b\" is not allowed: {limit}"));
}

#[test]
fn length_is_counted_in_utf16_units() {
    for (text, units) in [("x", 1), ("é", 1), ("日", 1), ("😀", 2)] {
        let longest = text.repeat(KEY_UTF16_UNITS_MAX / units);
        assert_eq!(Key::new(longest.clone(), longest.clone()).validate(), Ok(()), "{text}");
        let rejected = Key::new("", longest + "x").validate().expect_err("too long");
        assert_eq!((rejected.rule, &*rejected.what), (Rule::KeyLength, "RowKey"));
        assert_eq!(rejected.limit, "at most 1024 UTF-16 units, this has 1025", "{text}");
    }
}

#[test]
fn keys_order_by_partition_then_row_in_code_points() {
    let ascending = [
        ("", ""),
        ("", "a"),
        ("a", ""),
        ("a", "b"),
        ("a", "bB"),
        ("a\u{1}", ""),
        ("b", ""),
        ("\u{e000}", ""),
        ("😀", ""),
    ];
    for pair in ascending.windows(2) {
        let [a, b] = [pair[0], pair[1]].map(|(partition, row)| Key::new(partition, row));
        assert!(a < b, "{a:?} {b:?}");
        assert!(a.as_ref() < b.as_ref(), "{a:?} {b:?}");
        assert_eq!(a.as_ref().to_key(), a);
    }
}
