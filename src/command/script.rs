//! Texts of statements: files and standard input.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use super::failure::Failure;

/// Most bytes of statements, which are in memory as a whole.
const STATEMENTS_BYTES_MAX: u64 = 64 << 20;

pub(super) const HOW_TO_ASK: &str =
    "rowkey sql 'SELECT ...', rowkey sql -f FILE, or rowkey sql < FILE; or rowkey sql at a terminal";

pub(super) fn read_file(path: &Path) -> Result<String, Failure> {
    let name = path.display().to_string();
    let file = File::open(path).map_err(|error| unreadable(&name, error))?;
    read(file, &name)
}

pub(super) fn read_standard_input() -> Result<String, Failure> {
    read(io::stdin().lock(), "standard input")
}

fn read(input: impl Read, name: &str) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    input.take(STATEMENTS_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(|error| unreadable(name, error))?;
    if bytes.len() as u64 > STATEMENTS_BYTES_MAX {
        return Err(Failure::plain(
            format!("{name} is longer than {} MiB", STATEMENTS_BYTES_MAX >> 20),
            "statements are read as a whole; split them into several files",
        ));
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let line = 1 + error.as_bytes()[..error.utf8_error().valid_up_to()].iter().filter(|b| **b == b'\n').count();
        Failure::plain(format!("{name}:{line}: the text is not UTF-8"), "statements are written in UTF-8")
    })?;
    Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
}

fn unreadable(name: &str, error: io::Error) -> Failure {
    Failure::plain(format!("{name}: cannot read it: {error}"), HOW_TO_ASK)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(failure: Failure) -> String {
        match failure {
            Failure::Plain { message, .. } => message,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn statements_are_utf8_text_of_bounded_length() {
        assert_eq!(read("\u{feff}SELECT 'é'".as_bytes(), "a.sql").unwrap(), "SELECT 'é'");
        let failure = read(b"SELECT 1;\nSELECT '\xff'".as_slice(), "a.sql").unwrap_err();
        assert_eq!(message(failure), "a.sql:2: the text is not UTF-8");
        let failure = read(io::repeat(b' '), "a.sql").unwrap_err();
        assert_eq!(message(failure), "a.sql is longer than 64 MiB");
        assert!(message(read_file(Path::new("/no/such.sql")).unwrap_err()).starts_with("/no/such.sql: cannot read it"));
    }
}
