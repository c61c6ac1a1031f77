//! By what values are compared: a key, in PostgreSQL's order. It is a text, since DataFusion has no
//! windows over ordered bytes.
//!
//! Objects come behind arrays, those with more parts behind those with fewer, then the parts
//! decide. A scalar counts as an array of one element, before other such arrays.

use super::number::canonical;
use super::tree::Tree;

const NULL: char = '1';
const STRING: char = '2';
const NUMBER: char = '3';
const BOOLEAN: char = '4';
const ARRAY: char = '5';
const OBJECT: char = '6';

/// More digits than a number has before or behind its point.
const POINT_MAX: usize = 1_000_000_000;

/// Two values are equal if their keys are, and in order as their keys are.
pub fn sort_key(tree: &Tree, key: &mut String) {
    match tree {
        Tree::Array(elements) => {
            key.push(ARRAY);
            write_count(elements.len(), key);
            key.push('1');
            elements.iter().for_each(|element| write_part(element, key));
        }
        Tree::Object(_) => write_part(tree, key),
        scalar => {
            key.push(ARRAY);
            write_count(1, key);
            key.push('0');
            write_part(scalar, key);
        }
    }
}

/// The key of a value inside others.
pub(super) fn write_part(tree: &Tree, key: &mut String) {
    match tree {
        Tree::Null => key.push(NULL),
        Tree::String(text) => {
            key.push(STRING);
            write_text(text, key);
        }
        Tree::Number(number) => {
            key.push(NUMBER);
            write_number(number, key);
        }
        Tree::Boolean(value) => key.extend([BOOLEAN, if *value { '1' } else { '0' }]),
        Tree::Array(elements) => {
            key.push(ARRAY);
            write_count(elements.len(), key);
            elements.iter().for_each(|element| write_part(element, key));
        }
        Tree::Object(members) => {
            key.push(OBJECT);
            write_count(members.len(), key);
            for (name, value) in members {
                key.push(STRING);
                write_text(name, key);
                write_part(value, key);
            }
        }
    }
}

fn write_count(count: usize, key: &mut String) {
    key.push_str(&format!("{count:010}"));
}

/// No text has a zero character.
fn write_text(text: &str, key: &mut String) {
    key.push_str(text);
    key.push('\0');
}

/// The sign, where the first digit lies, and the digits; of negative numbers what is left of nines.
fn write_number(number: &str, key: &mut String) {
    let (negative, whole, fraction) = canonical(number);
    if whole.is_empty() && fraction.is_empty() {
        key.push('1');
        return;
    }
    key.push(if negative { '0' } else { '2' });
    let from = key.len();
    let leading = if whole.is_empty() { fraction.len() - fraction.trim_start_matches('0').len() } else { 0 };
    let point = POINT_MAX.saturating_add(whole.len()).saturating_sub(leading);
    key.push_str(&format!("{point:010}"));
    key.push_str(if fraction.is_empty() { whole.trim_end_matches('0') } else { whole });
    key.push_str(&fraction[leading..]);
    if negative {
        let nines: String = key.drain(from..).map(|digit| char::from(b'9' - (digit as u8 - b'0').min(9))).collect();
        key.push_str(&nines);
    }
    key.push(if negative { '\u{7f}' } else { '\0' });
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In PostgreSQL's order.
    const IN_ORDER: &[&str] = &[
        "[]",
        "null",
        r#""""#,
        r#""a""#,
        r#""ab""#,
        r#""b""#,
        "-100",
        "-12",
        "-1.5",
        "-1.25",
        "-0.1",
        "-0.01",
        "0",
        "0.001",
        "0.01",
        "0.1",
        "1",
        "1.5",
        "2",
        "10",
        "12",
        "100",
        "false",
        "true",
        "[null]",
        r#"["a"]"#,
        "[1]",
        "[true]",
        "[[]]",
        "[[1]]",
        "[{}]",
        "[1, 2]",
        "[1, 3]",
        "[2, 1]",
        "[1, 1, 1]",
        "{}",
        r#"{"a": null}"#,
        r#"{"a": 1}"#,
        r#"{"a": [1]}"#,
        r#"{"b": 0}"#,
        r#"{"a": 1, "b": 2}"#,
    ];

    fn key(text: &str) -> String {
        let mut key = String::new();
        sort_key(&Tree::read(text).expect("JSON"), &mut key);
        key
    }

    #[test]
    fn keys_are_in_order() {
        for pair in IN_ORDER.windows(2) {
            assert!(key(pair[0]) < key(pair[1]), "{pair:?}");
        }
        for (one, other) in [("1", "1.00"), ("[1.50]", "[1.5]"), ("-0", "0.0"), (r#"{"a":100}"#, r#"{"a":1e2}"#)] {
            assert_eq!(key(one), key(other));
        }
    }
}
