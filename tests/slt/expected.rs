//! What a statement answered against what a file expects, in the form that the crate asks for.

/// Stands in an expected line for text that may be any.
const IGNORED: &str = "<slt:ignore>";

/// What the line of a plan begins with that tells how much is read. But for it and the estimates of
/// operators a plan does not depend on where the rows lie.
const VOLUMES: [&str; 2] = ["range partitions ", "no files yet"];
const ESTIMATE: &str = "  (cost=";

/// Between the cells of a row, which carry their bars.
pub(crate) const COLUMN_SEPARATOR: &str = " ";

/// Whether the rows are those expected, to the letter but for white space at line ends and
/// `<slt:ignore>`. The crate's own validator takes all white space for the same, and lets what is
/// ignored go over several rows.
pub(crate) fn is_expected(normalized: fn(&String) -> String, actual: &[Vec<String>], expected: &[String]) -> bool {
    let same = |(row, expected): (&Vec<String>, &String)| {
        matches(&normalized(&row.join(COLUMN_SEPARATOR)), &normalized(expected))
    };
    actual.len() == expected.len() && actual.iter().zip(expected).all(same)
}

/// The line as it is.
#[allow(clippy::ptr_arg, reason = "the crate's signature")]
pub(crate) fn exact(line: &String) -> String {
    line.trim_end().to_owned()
}

/// The line without how much a plan reads.
#[allow(clippy::ptr_arg, reason = "the crate's signature")]
pub(crate) fn without_volume(line: &String) -> String {
    let begin = line.trim_start();
    let indent = line.len() - begin.len();
    match (VOLUMES.iter().any(|volume| begin.starts_with(volume)), line.find(ESTIMATE)) {
        (true, _) => format!("{}{}", &line[..indent], VOLUMES[0]),
        (false, Some(estimate)) => line[..estimate].to_owned(),
        (false, None) => exact(line),
    }
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
    assert!(is_expected(exact, &rows(&[&["  a", "| b "]]), &expected), "white space at the end is nothing");
    assert!(!is_expected(exact, &rows(&[&["a", "| b"]]), &expected), "indentation counts");
    assert!(!is_expected(exact, &[], &expected), "so do rows");
    assert!(!is_expected(exact, &rows(&[&["  a", "| b"], &["c"]]), &expected), "and those too many");

    let plan = |text: &str| without_volume(&text.to_owned());
    assert_eq!(plan("  range partitions 1/3, files 1/3"), plan("  range partitions 2/2, files 1/1, recent rows<=4"));
    assert_ne!(plan("  range partitions 1/3"), plan("range partitions 1/3"), "indentation still counts");
    assert_eq!(plan("  access path: point "), "  access path: point");
}
