use super::*;
use rowkey_postgres::syntax::{Request, parse};

/// What PostgreSQL 15 says to a COPY with these options; empty where it takes them.
fn said(text: &str) -> String {
    let statement = parse(text).unwrap();
    let Request::Copy(copy) = &statement.request else { panic!("{text}") };
    match CopyOptions::of(&copy.options, copy.sends(), &statement.source) {
        Ok(_) => String::new(),
        Err(error) => format!("{} {error}", error.sqlstate()),
    }
}

#[test]
fn options_are_refused_as_postgres_refuses_them() {
    for (options, expected) in [
        ("to stdout (format binary, delimiter ',')", "42601 cannot specify DELIMITER in BINARY mode"),
        ("to stdout (format binary, null 'x')", "42601 cannot specify NULL in BINARY mode"),
        ("to stdout (format binary, header)", "0A000 cannot specify HEADER in BINARY mode"),
        ("to stdout (format binary, header false)", ""),
        ("to stdout (format binary, quote '\"')", "0A000 COPY quote available only in CSV mode"),
        ("to stdout (format binary, force_quote *)", "0A000 COPY force quote available only in CSV mode"),
        ("to stdout (format binary, freeze)", ""),
        ("to stdout (format 'BINARY')", "22023 COPY format \"BINARY\" not recognized"),
        ("to stdout (format BINARY, format csv)", "42601 conflicting or redundant options"),
        ("to stdout (format)", "42601 format requires a parameter"),
        ("to stdout (format 1)", "22023 COPY format \"1\" not recognized"),
        ("to stdout (header 2)", "42601 header requires a Boolean value or \"match\""),
        ("to stdout (header match)", "0A000 cannot use \"match\" with HEADER in COPY TO"),
        ("to stdout (header 'ON', header off)", "42601 conflicting or redundant options"),
        ("to stdout (force_quote (a))", "0A000 COPY force quote available only in CSV mode"),
        (
            "to stdout (format csv, force_quote a)",
            "22023 argument to option \"force_quote\" must be a list of column names",
        ),
        (
            "to stdout (format csv, force_not_null *)",
            "22023 argument to option \"force_not_null\" must be a list of column names",
        ),
        ("to stdout (format csv, force_null (a))", "0A000 COPY force null only available using COPY FROM"),
        ("to stdout (format csv, force_not_null (a))", "0A000 COPY force not null only available using COPY FROM"),
        ("from stdin (format csv, force_quote *)", "0A000 COPY force quote only available using COPY TO"),
        ("from stdin (force_null (a))", "0A000 COPY force null available only in CSV mode"),
        ("from stdin csv force not null a force null b", ""),
        ("from stdin csv force null a force null b", "42601 conflicting or redundant options"),
        ("from stdin (header match, freeze off)", ""),
        ("to stdout (delimiter 'ab')", "0A000 COPY delimiter must be a single one-byte character"),
        ("to stdout (delimiter 'ä')", "0A000 COPY delimiter must be a single one-byte character"),
        ("to stdout (delimiter E'\\n')", "22023 COPY delimiter cannot be newline or carriage return"),
        ("to stdout (delimiter 'a')", "22023 COPY delimiter cannot be \"a\""),
        ("to stdout (delimiter 'Z', null 'Z')", "0A000 COPY delimiter must not appear in the NULL specification"),
        ("to stdout (format csv, escape 'ab')", "0A000 COPY escape must be a single one-byte character"),
        ("to stdout (format csv, quote ',')", "22023 COPY delimiter and quote must be different"),
        ("to stdout (format csv, null '\"')", "0A000 CSV quote character must not appear in the NULL specification"),
        ("to stdout (null E'\\n')", "22023 COPY null representation cannot use newline or carriage return"),
        ("to stdout (encoding)", "42601 encoding requires a parameter"),
        ("to stdout (encoding 'UTF8')", ""),
        ("to stdout (foo 1)", "42601 option \"foo\" not recognized"),
        ("to stdout csv csv", "42601 conflicting or redundant options"),
        ("to stdout with binary null as 'x'", "42601 cannot specify NULL in BINARY mode"),
    ] {
        assert_eq!(said(&format!("copy t {options}")), expected, "{options}");
    }
    assert_eq!(said("copy binary t to stdout csv"), "42601 conflicting or redundant options");
}
