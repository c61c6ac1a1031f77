//! Errors and notices of statements, as psql prints them.

use super::text::{visible, width};
use rowkey_sql::session::{Error, SqlState};

/// Longest part of a line that is shown of a statement, in columns.
const SHOWN_COLUMNS_MAX: usize = 70;
/// Columns shown before the position of an error in a long line.
const BEFORE_COLUMNS: usize = 40;

/// An error with the line of the statement that it is about, a detail and a hint.
pub(super) fn error(error: &Error, statement: &str) -> String {
    let mut text = format!("ERROR:  {}\n", visible(&error.to_string()));
    if let Some(position) = error.position() {
        text.push_str(&place(statement, position));
    }
    for (label, more) in [("DETAIL", error.detail()), ("HINT", error.hint())] {
        if let Some(more) = more {
            text.push_str(&format!("{label}:  {}\n", visible(more)));
        }
    }
    text
}

pub(super) fn notice(notice: &Error) -> String {
    let severity = if notice.sqlstate() == SqlState::SUCCESSFUL_COMPLETION { "NOTICE" } else { "WARNING" };
    let mut text = format!("{severity}:  {}\n", visible(&notice.to_string()));
    for (label, more) in [("DETAIL", notice.detail()), ("HINT", notice.hint())] {
        if let Some(more) = more {
            text.push_str(&format!("{label}:  {}\n", visible(more)));
        }
    }
    text
}

/// `LINE 2: ...` and a caret under the character, counted from 1.
pub(super) fn place(statement: &str, position: usize) -> String {
    let byte = statement.char_indices().nth(position.saturating_sub(1)).map_or(statement.len(), |(byte, _)| byte);
    let line_begin = statement[..byte].rfind('\n').map_or(0, |at| at + 1);
    let line_end = statement[byte..].find('\n').map_or(statement.len(), |at| byte + at);
    let number = statement[..byte].matches('\n').count() + 1;
    let before = visible(&statement[line_begin..byte]);
    let after = visible(&statement[byte..line_end]);

    let mut label = format!("LINE {number}: ");
    let before = if width(&before) > BEFORE_COLUMNS && width(&before) + width(&after) > SHOWN_COLUMNS_MAX {
        label.push_str("...");
        last_columns(&before, BEFORE_COLUMNS)
    } else {
        &before
    };
    let room = SHOWN_COLUMNS_MAX.saturating_sub(width(before)).max(1);
    let shown = first_columns(&after, room);
    let more = if shown.len() < after.len() { "..." } else { "" };
    let blanks = width(&label) + width(before);
    format!("{label}{before}{shown}{more}\n{:blanks$}^\n", "")
}

fn first_columns(text: &str, columns: usize) -> &str {
    let end = text.char_indices().find(|(at, char)| width(&text[..at + char.len_utf8()]) > columns);
    end.map_or(text, |(at, _)| &text[..at])
}

fn last_columns(text: &str, columns: usize) -> &str {
    let begin = text.char_indices().find(|(at, _)| width(&text[*at..]) <= columns);
    begin.map_or("", |(at, _)| &text[at..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_caret_is_under_the_place() {
        let unknown =
            Error::new(SqlState::UNDEFINED_COLUMN, "column \"c\" does not exist").at(16).with_hint("Look again.");
        let expected = "
ERROR:  column \"c\" does not exist
LINE 2:   日本, c
                ^
HINT:  Look again.
";
        assert_eq!(error(&unknown, "SELECT a\n  日本, c\nFROM t"), expected[1..]);
        let end = Error::new(SqlState::SYNTAX_ERROR, "syntax error at end of input").at(7);
        assert_eq!(error(&end, "SELECT"), "ERROR:  syntax error at end of input\nLINE 1: SELECT\n              ^\n");
    }

    #[test]
    fn long_lines_are_cut() {
        let statement = format!("SELECT {}, x, {}", "a".repeat(100), "b".repeat(100));
        let at = statement.find('x').unwrap() + 1;
        let shown = error(&Error::new(SqlState::SYNTAX_ERROR, "no").at(at), &statement);
        let lines: Vec<&str> = shown.lines().collect();
        assert!(lines[1].starts_with("LINE 1: ...aaa") && lines[1].ends_with("bbb..."), "{shown}");
        assert_eq!(lines[1].find('x'), lines[2].find('^'), "{shown}");
        assert!(lines[1].len() < 90, "{shown}");
    }

    #[test]
    fn notices() {
        assert_eq!(notice(&Error::new(SqlState::SUCCESSFUL_COMPLETION, "done")), "NOTICE:  done\n");
        assert_eq!(notice(&Error::new(SqlState::ACTIVE_SQL_TRANSACTION, "hm")), "WARNING:  hm\n");
    }
}
