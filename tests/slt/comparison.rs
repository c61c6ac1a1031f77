//! What a statement answered against what a file expects.

/// Between the columns of a row.
pub(crate) const COLUMN_SEPARATOR: &str = " | ";

/// Stands in an expected line for text that may be any.
const IGNORED: &str = "<slt:ignore>";

/// A row as the line that is expected.
pub(crate) fn line(row: &[String]) -> String {
    row.join(COLUMN_SEPARATOR)
}

/// Whether the rows are those expected, to the letter but for white space at line ends and
/// `<slt:ignore>`.
pub(crate) fn is_expected(actual: &[Vec<String>], expected: &[String]) -> bool {
    let same = |(row, expected): (&Vec<String>, &String)| is_expected_line(&line(row), expected);
    actual.len() == expected.len() && actual.iter().zip(expected).all(same)
}

/// Whether the message of an error has the expected part, which may have `<slt:ignore>` in it. The
/// empty part is in all.
pub(crate) fn is_expected_error(message: &str, part: &str) -> bool {
    matches(message, &format!("{IGNORED}{part}{IGNORED}"))
}

/// Both, for somebody to see what is different: lines at the begin and end that are the same stand
/// once.
pub(crate) fn difference(actual: &[Vec<String>], expected: &[String]) -> String {
    let actual: Vec<String> = actual.iter().map(|row| line(row)).collect();
    let same = |(line, expected): &(&String, &String)| is_expected_line(line, expected);
    let begin = actual.iter().zip(expected).take_while(same).count();
    let (actual_rest, expected_rest) = (&actual[begin..], &expected[begin..]);
    let end = actual_rest.iter().rev().zip(expected_rest.iter().rev()).take_while(same).count();
    let missing = &expected_rest[..expected_rest.len() - end];
    let (added, last) = actual_rest.split_at(actual_rest.len() - end);
    let marked = |mark: char, lines: &[String]| lines.iter().map(|line| format!("\n{mark} {line}")).collect::<String>();
    let (begin, last) = (marked(' ', &actual[..begin]), marked(' ', last));
    format!("-expected +answered{begin}{}{}{last}", marked('-', missing), marked('+', added))
}

fn is_expected_line(line: &str, expected: &str) -> bool {
    matches(line.trim_end(), expected.trim_end())
}

fn matches(text: &str, expected: &str) -> bool {
    let mut parts = expected.split(IGNORED);
    let Some(rest) = parts.next().and_then(|first| text.strip_prefix(first)) else {
        return false;
    };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else {
        return rest.is_empty();
    };
    let mut rest = rest;
    for part in middle {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

/// What has to hold for the other tests to mean something.
pub(crate) fn check() {
    assert!(matches("a b c", "a b c") && !matches("a b c", "a b") && !matches("a", ""), "lines are compared whole");
    assert!(matches("rows=5 time=3", "rows=5<slt:ignore>"), "what is ignored may be any text");
    assert!(matches("xaby", "x<slt:ignore>b<slt:ignore>") && !matches("xay", "x<slt:ignore>b<slt:ignore>"), "in parts");
    assert!(!matches("ab", "a<slt:ignore>ab"), "what is ignored overlaps nothing");

    let lines = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<String>>();
    let rows = |texts: &[&[&str]]| texts.iter().map(|row| lines(row)).collect::<Vec<_>>();
    let expected = lines(&["  a | b"]);
    assert!(is_expected(&rows(&[&["  a", "b "]]), &expected), "columns are joined, white space at the end is nothing");
    assert!(!is_expected(&rows(&[&["a", "b"]]), &expected), "indentation counts");
    assert!(!is_expected(&[], &expected) && !is_expected(&rows(&[&["  a", "b"], &["c"]]), &expected), "so do rows");

    assert!(is_expected_error("no such table: X", "such table") && is_expected_error("no", ""), "a part is enough");
    assert!(!is_expected_error("no such table", "no column"), "another error is another");
    assert!(is_expected_error("at /x/y: no such\nfile", "at <slt:ignore>: no such\nfile"), "which may be in parts");

    let shown = difference(&rows(&[&["1"], &["x"], &["y"], &["4"]]), &lines(&["1", "2<slt:ignore>", "4"]));
    assert_eq!(shown, "-expected +answered\n  1\n- 2<slt:ignore>\n+ x\n+ y\n  4");
    assert_eq!(difference(&rows(&[&["1"], &["1"]]), &lines(&["1"])), "-expected +answered\n  1\n+ 1");
}
