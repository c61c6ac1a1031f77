//! What `\?` and `\h` print.

use super::super::text::wrapped;
use super::meta::COMMANDS;

/// Columns of the longest line.
const PAGE_COLUMNS: usize = 100;
const NAME_COLUMNS: usize = 20;

/// Statements and how they are written.
const STATEMENTS: &[(&str, &str)] = &[
    (
        "SELECT",
        "[WITH name AS (query), ...]\nSELECT [DISTINCT] expression [AS name], ...\n    FROM table [AS name] [JOIN table ON condition] ...\n    \
         [WHERE condition] [GROUP BY expression, ...] [HAVING condition]\n    [ORDER BY expression [ASC | DESC], ...] [LIMIT count] [OFFSET count]",
    ),
    ("VALUES", "VALUES (expression, ...), ..."),
    ("EXPLAIN", "EXPLAIN [ANALYZE] [VERBOSE] query\nEXPLAIN (ANALYZE, VERBOSE, FORMAT TEXT | JSON) query"),
    ("CREATE VIEW", "CREATE [OR REPLACE] VIEW name [(column, ...)] AS query"),
    ("DROP VIEW", "DROP VIEW [IF EXISTS] name, ..."),
    ("COMMENT", "COMMENT ON TABLE | VIEW | COLUMN name IS 'text' | NULL"),
    ("BEGIN", "BEGIN [ISOLATION LEVEL level] [READ ONLY]"),
    ("COMMIT", "COMMIT [AND CHAIN]"),
    ("ROLLBACK", "ROLLBACK [AND CHAIN]\nROLLBACK TO SAVEPOINT name"),
    ("SAVEPOINT", "SAVEPOINT name"),
    ("SET", "SET [SESSION | LOCAL] name = value | DEFAULT"),
    ("SHOW", "SHOW name | ALL\nSHOW TABLES"),
    ("RESET", "RESET name | ALL"),
    ("PREPARE", "PREPARE name [(type, ...)] AS query"),
    ("EXECUTE", "EXECUTE name [(expression, ...)]"),
    ("DECLARE", "DECLARE name CURSOR [WITH HOLD] FOR query"),
    ("FETCH", "FETCH [NEXT | count | ALL] FROM name"),
    ("DESCRIBE", "DESCRIBE table"),
];

pub(super) fn commands() -> String {
    let mut text = "Statements end at a semicolon; Tab completes; Ctrl-C cancels.\n\n".to_owned();
    for (name, takes, does) in COMMANDS {
        let head = format!("  {name} {takes}");
        let lines = wrapped(does, PAGE_COLUMNS - NAME_COLUMNS - 2);
        for (at, line) in lines.iter().enumerate() {
            let head = if at == 0 { head.as_str() } else { "" };
            text.push_str(&format!("{head:NAME_COLUMNS$}  {line}\n"));
        }
    }
    text
}

/// Help on a statement, or the names of all.
pub(super) fn statements(topic: Option<&str>) -> Result<String, String> {
    let Some(topic) = topic else {
        let names: Vec<&str> = STATEMENTS.iter().map(|(name, _)| *name).collect();
        let lines = wrapped(&names.join(", "), PAGE_COLUMNS - 2);
        return Ok(format!("\\h NAME tells how a statement is written:\n  {}\n", lines.join("\n  ")));
    };
    let wanted = topic.to_ascii_uppercase();
    let found: Vec<_> = STATEMENTS.iter().filter(|(name, _)| name.starts_with(&wanted)).collect();
    if found.is_empty() {
        return Err(format!("no help for \"{topic}\"; \\h alone lists the statements there is help for"));
    }
    let shown = found.iter().map(|(name, syntax)| format!("{name}\n    {}\n", syntax.replace('\n', "\n    ")));
    Ok(shown.collect::<Vec<_>>().join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_fits_the_page() {
        let text = commands();
        assert!(text.contains("\\timing [on|off]"));
        assert!(text.lines().all(|line| line.len() <= PAGE_COLUMNS), "{text}");
        assert!(statements(None).unwrap().contains("CREATE VIEW"));
    }

    #[test]
    fn help_on_a_statement() {
        assert!(statements(Some("create")).unwrap().starts_with("CREATE VIEW\n    CREATE [OR REPLACE]"));
        assert!(statements(Some("insert")).unwrap_err().contains("\"insert\""));
    }
}
