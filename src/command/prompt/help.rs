//! What `\?` and `\h` print.

use super::super::text::wrapped;
use super::meta::COMMANDS;

/// Columns of the longest line.
const PAGE_COLUMNS: usize = 100;
const NAME_COLUMNS: usize = 20;

const TRANSACTION_MODES: &str = "SET TRANSACTION [ISOLATION LEVEL level] [READ ONLY | READ WRITE]\n\
    SET SESSION CHARACTERISTICS AS TRANSACTION [ISOLATION LEVEL level] [READ ONLY | READ WRITE]";

/// Statements and how they are written.
const STATEMENTS: &[(&str, &str)] = &[
    (
        "SELECT",
        "[WITH name AS (query), ...]\nSELECT [DISTINCT] expression [AS name], ...\n    FROM table [AS name] [JOIN table ON condition] ...\n    \
         [WHERE condition] [GROUP BY expression, ...] [HAVING condition]\n    [ORDER BY expression [ASC | DESC], ...] [LIMIT count] [OFFSET count]",
    ),
    ("VALUES", "VALUES (expression, ...), ..."),
    ("TABLE", "TABLE name"),
    (
        "WITH",
        "WITH [RECURSIVE] name [(column, ...)] AS [[NOT] MATERIALIZED] (query), ...\nSELECT ... | INSERT ... | ...",
    ),
    (
        "INSERT",
        "INSERT INTO table [(column, ...)] VALUES (expression | DEFAULT, ...), ... | query\n    \
         [ON CONFLICT (partitionkey, rowkey) DO NOTHING | DO UPDATE SET column = expression, ...]\n    \
         [RETURNING expression, ...]\nINSERT OR REPLACE INTO table [(column, ...)] VALUES ... | query",
    ),
    (
        "INSERT OR REPLACE",
        "INSERT OR REPLACE INTO table [(column, ...)] VALUES (expression | DEFAULT, ...), ... | query",
    ),
    (
        "UPDATE",
        "UPDATE table [AS name] SET column = expression, ... [FROM table, ...]\n    \
         [WHERE condition] [RETURNING expression, ...]",
    ),
    ("DELETE", "DELETE FROM table [AS name] [USING table, ...]\n    [WHERE condition] [RETURNING expression, ...]"),
    (
        "MERGE",
        "MERGE INTO table [AS name] USING table | (query) AS name ON condition\n    \
         WHEN MATCHED [AND condition] THEN UPDATE SET column = expression, ... | DELETE | DO NOTHING\n    \
         WHEN NOT MATCHED [AND condition] THEN INSERT [(column, ...)] VALUES (expression, ...) | DO NOTHING",
    ),
    ("TRUNCATE", "TRUNCATE [TABLE] name, ..."),
    (
        "COPY",
        "COPY table [(column, ...)] FROM STDIN [WITH] (option value, ...)\n\
         COPY table [(column, ...)] | (query) TO STDOUT | 'file' [WITH] (option value, ...)\n\
         Options: FORMAT text | csv | binary | ndjson | json | typed_csv | parquet, HEADER, DELIMITER, NULL, ...\n\
         Here files are read and written by \\copy.",
    ),
    (
        "EXPLAIN",
        "EXPLAIN [ANALYZE] [VERBOSE] statement\n\
         EXPLAIN (ANALYZE, VERBOSE, COSTS, TIMING, SUMMARY, KEEP, FORMAT TEXT | JSON) statement\n\
         What ANALYZE writes is rolled back, but with KEEP.",
    ),
    (
        "CREATE TABLE",
        "CREATE TABLE [IF NOT EXISTS] name\n    \
         (partitionkey text NOT NULL, rowkey text NOT NULL, column type, ..., PRIMARY KEY (partitionkey, rowkey))",
    ),
    (
        "ALTER TABLE",
        "ALTER TABLE name ADD [COLUMN] column type | DROP [COLUMN] column\n\
         ALTER TABLE name RENAME [COLUMN] column TO column | RENAME TO name",
    ),
    ("DROP TABLE", "DROP TABLE [IF EXISTS] name, ... [CASCADE]"),
    ("CREATE VIEW", "CREATE [OR REPLACE] VIEW name [(column, ...)] AS query"),
    ("DROP VIEW", "DROP VIEW [IF EXISTS] name, ..."),
    ("CALL", "CALL create_entity_views('Table')"),
    ("COMMENT", "COMMENT ON TABLE | VIEW | COLUMN name IS 'text' | NULL"),
    ("BEGIN", "BEGIN | START TRANSACTION [ISOLATION LEVEL level] [READ ONLY | READ WRITE]"),
    ("START TRANSACTION", "START TRANSACTION [ISOLATION LEVEL level] [READ ONLY | READ WRITE]"),
    ("COMMIT", "COMMIT | END [AND CHAIN]"),
    ("END", "COMMIT | END [AND CHAIN]"),
    ("ROLLBACK", "ROLLBACK | ABORT [AND CHAIN]\nROLLBACK TO [SAVEPOINT] name"),
    ("ABORT", "ROLLBACK | ABORT [AND CHAIN]"),
    ("SAVEPOINT", "SAVEPOINT name"),
    ("RELEASE SAVEPOINT", "RELEASE [SAVEPOINT] name"),
    ("ROLLBACK TO SAVEPOINT", "ROLLBACK TO [SAVEPOINT] name"),
    (
        "SET",
        "SET [SESSION | LOCAL] name = value | DEFAULT\nSET [SESSION | LOCAL] TIME ZONE zone | DEFAULT\n\
         SET TRANSACTION mode, ...\nSET SESSION CHARACTERISTICS AS TRANSACTION mode, ...",
    ),
    ("SET TRANSACTION", TRANSACTION_MODES),
    ("SET SESSION CHARACTERISTICS", TRANSACTION_MODES),
    ("SHOW", "SHOW name | ALL\nSHOW TABLES"),
    ("SHOW TABLES", "SHOW TABLES"),
    ("RESET", "RESET name | ALL"),
    ("DISCARD", "DISCARD ALL | PLANS | SEQUENCES | TEMP"),
    ("PREPARE", "PREPARE name [(type, ...)] AS statement"),
    ("EXECUTE", "EXECUTE name [(expression, ...)]"),
    ("DEALLOCATE", "DEALLOCATE [PREPARE] name | ALL"),
    ("DECLARE", "DECLARE name [SCROLL] CURSOR [WITH HOLD] FOR query"),
    ("FETCH", "FETCH [NEXT | PRIOR | FIRST | LAST | ABSOLUTE n | RELATIVE n | n | ALL | BACKWARD n] FROM name"),
    ("MOVE", "MOVE [NEXT | PRIOR | FIRST | LAST | ABSOLUTE n | RELATIVE n | n | ALL | BACKWARD n] FROM name"),
    ("CLOSE", "CLOSE name | ALL"),
    ("DESCRIBE", "DESCRIBE table"),
    ("VACUUM", "VACUUM [FULL] [VERBOSE] [ANALYZE] [table, ...]"),
    ("ANALYZE", "ANALYZE [VERBOSE] [table, ...]"),
    ("LISTEN", "LISTEN channel, which is taken and without effect"),
    ("UNLISTEN", "UNLISTEN channel | *, which is taken and without effect"),
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

    /// Those of the reference, section Statements.
    #[test]
    fn every_statement_has_help() {
        let reference = include_str!("../../../sql/README.md");
        let (_, section) = reference.split_once("## Statements").expect("the section");
        let (section, _) = section.split_once("\nNot there:").expect("what is not there");
        let mut names = 0;
        for row in section.lines().filter(|line| line.starts_with("| ") && line.len() > 8) {
            for word in row.split('`').skip(1).step_by(2) {
                let words: Vec<&str> = word.split_whitespace().collect();
                let first = words.first().copied().unwrap_or_default();
                // Clauses of the statement before.
                let is_clause = ["ADD", "DROP", "RENAME", "AND", "VIEW", "COLUMN", "SCROLL"].contains(&first);
                if !is_clause || words.len() > 2 {
                    names += 1;
                    assert!(statements(Some(first)).is_ok(), "no help for {word}");
                }
            }
        }
        assert!(names > 30, "{names}");
    }

    #[test]
    fn help_on_a_statement() {
        assert!(statements(Some("create view")).unwrap().starts_with("CREATE VIEW\n    CREATE [OR REPLACE]"));
        assert!(statements(Some("create")).unwrap().contains("CREATE TABLE\n"));
        for topic in ["set transaction", "rollback to savepoint", "end", "show tables", "insert or replace"] {
            assert!(statements(Some(topic)).unwrap().to_lowercase().starts_with(topic), "{topic}");
        }
        assert!(statements(Some("frobnicate")).unwrap_err().contains("\"frobnicate\""));
    }
}
