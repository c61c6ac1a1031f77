//! `multipart/mixed`, read leniently: by CRLF or LF, with blank lines wherever clients put them.

use crate::request::Headers;

/// The boundary of a Content-Type, in quotes or not; none where it is not `multipart/mixed`.
pub(super) fn boundary(content_type: &str) -> Option<&str> {
    let (kind, parameters) = content_type.split_once(';')?;
    if !kind.trim().eq_ignore_ascii_case("multipart/mixed") {
        return None;
    }
    let boundary =
        parameters.split(';').filter_map(|parameter| parameter.split_once('=')).find_map(|(name, value)| {
            name.trim().eq_ignore_ascii_case("boundary").then(|| value.trim().trim_matches('"'))
        })?;
    Some(boundary).filter(|boundary| !boundary.is_empty())
}

/// The texts between the lines that a boundary begins; what is before the first and behind the last
/// one is none. That the last one may be missing, samples of the service's documentation show.
pub(super) fn split<'b>(body: &'b str, boundary: &str) -> Vec<&'b str> {
    let mut parts = Vec::new();
    let mut begins: Option<usize> = None;
    let mut at = 0;
    for line in body.split_inclusive('\n') {
        let mark = line.trim_end().strip_prefix("--").and_then(|rest| rest.strip_prefix(boundary));
        if let Some(rest) = mark.filter(|rest| matches!(*rest, "" | "--")) {
            parts.extend(begins.and_then(|begins| body.get(begins..at)));
            begins = (rest != "--").then_some(at + line.len());
            if rest == "--" {
                return parts;
            }
        }
        at += line.len();
    }
    parts.extend(begins.and_then(|begins| body.get(begins..)).filter(|rest| !rest.trim().is_empty()));
    parts
}

/// Whether the line that ends the last part is there: a change set without it may have been cut.
pub(super) fn is_closed(body: &str, boundary: &str) -> bool {
    let ends =
        |line: &str| line.trim_end().strip_prefix("--").and_then(|rest| rest.strip_prefix(boundary)) == Some("--");
    body.lines().rev().any(ends)
}

/// The headers at the beginning of a text, and what is behind the blank lines after them.
pub(super) fn headers(text: &str) -> (Headers, &str) {
    let mut headers = Headers::default();
    let mut rest = text;
    loop {
        let (line, behind) = rest.split_once('\n').unwrap_or((rest, ""));
        let line = line.trim_end_matches('\r');
        if line.trim().is_empty() {
            return (headers, behind);
        }
        // What is no header is passed over.
        if let Some((name, value)) = line.split_once(':') {
            headers.add(name.trim(), value);
        }
        if behind.is_empty() {
            return (headers, behind);
        }
        rest = behind;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boundaries_of_types() {
        assert_eq!(boundary("multipart/mixed; boundary=batch_1"), Some("batch_1"));
        assert_eq!(boundary("Multipart/Mixed;charset=utf-8;Boundary=\"batch 1\""), Some("batch 1"));
        for bad in ["", "multipart/mixed", "multipart/mixed; boundary=", "application/json; boundary=x"] {
            assert_eq!(boundary(bad), None, "{bad}");
        }
    }

    #[test]
    fn parts_between_boundaries() {
        assert_eq!(split("x\r\n--b\r\none\r\n--b\r\ntwo\r\n\r\n--b--\r\nmore", "b"), ["one\r\n", "two\r\n\r\n"]);
        assert_eq!(split("--b\none\n--b\ntwo\n", "b"), ["one\n", "two\n"]);
        assert_eq!(split("--b\r\none\r\n--bb\r\n--b--", "b"), ["one\r\n--bb\r\n"]);
        assert!(split("", "b").is_empty() && split("--b--", "b").is_empty() && split("--b", "b").is_empty());
    }

    #[test]
    fn headers_end_at_a_blank_line() {
        let (found, rest) = headers("Content-Type: a\r\nx:  b \r\nnone\r\n\r\n\r\nbody");
        assert_eq!((found.get("content-type"), found.get("x"), rest), (Some("a"), Some("b"), "\r\nbody"));
        assert_eq!(headers("a: b").0.get("a"), Some("b"));
        assert_eq!(headers("\r\nbody").1, "body");
    }
}
