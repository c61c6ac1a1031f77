//! Words of SQL that are offered.

use rowkey_postgres::functions::system::is_reserved;

/// What begins a statement.
pub(super) const STATEMENTS: &[&str] = &[
    "BEGIN",
    "CLOSE",
    "COMMENT",
    "COMMIT",
    "CREATE",
    "DEALLOCATE",
    "DECLARE",
    "DESCRIBE",
    "DISCARD",
    "DROP",
    "EXECUTE",
    "EXPLAIN",
    "FETCH",
    "PREPARE",
    "RELEASE",
    "RESET",
    "ROLLBACK",
    "SAVEPOINT",
    "SELECT",
    "SET",
    "SHOW",
    "TABLE",
    "VALUES",
    "WITH",
];

/// What stands inside statements.
pub(super) const INSIDE: &[&str] = &[
    "ALL",
    "ANALYZE",
    "AND",
    "ANY",
    "AS",
    "ASC",
    "BETWEEN",
    "BY",
    "CASE",
    "CAST",
    "COLUMN",
    "CROSS",
    "CURSOR",
    "DESC",
    "DISTINCT",
    "ELSE",
    "END",
    "ESCAPE",
    "EXCEPT",
    "EXISTS",
    "EXTRACT",
    "FALSE",
    "FILTER",
    "FIRST",
    "FOR",
    "FORMAT",
    "FROM",
    "FULL",
    "GROUP",
    "HAVING",
    "ILIKE",
    "IN",
    "INNER",
    "INTERSECT",
    "INTERVAL",
    "IS",
    "ISOLATION",
    "JOIN",
    "JSON",
    "LAST",
    "LATERAL",
    "LEFT",
    "LEVEL",
    "LIKE",
    "LIMIT",
    "NATURAL",
    "NOT",
    "NULL",
    "NULLS",
    "OFFSET",
    "ON",
    "ONLY",
    "OR",
    "ORDER",
    "OUTER",
    "OVER",
    "PARTITION",
    "READ",
    "REPLACE",
    "RIGHT",
    "ROWS",
    "SELECT",
    "TABLE",
    "TABLES",
    "THEN",
    "TO",
    "TRANSACTION",
    "TRUE",
    "UNION",
    "USING",
    "VALUES",
    "VERBOSE",
    "VIEW",
    "WHEN",
    "WHERE",
    "WINDOW",
    "WITH",
];

/// The word in the case of what was typed of it: small letters stay small.
pub(super) fn cased(word: &str, prefix: &str) -> String {
    match prefix.chars().next() {
        Some(first) if first.is_lowercase() => word.to_lowercase(),
        _ => word.to_owned(),
    }
}

/// The name as it is written in a statement: with quotes where they are wanted or needed.
pub(super) fn name(name: &str, wants_quotes: bool) -> String {
    let plain = name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && name.chars().all(|char| char.is_ascii_alphanumeric() || char == '_')
        && !is_reserved(name);
    if plain && !wants_quotes { name.to_owned() } else { format!("\"{}\"", name.replace('"', "\"\"")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_words() {
        assert_eq!(name("RowKey", false), "RowKey");
        assert_eq!(name("RowKey", true), "\"RowKey\"");
        assert_eq!(name("Age:Int64", false), "\"Age:Int64\"");
        assert_eq!(name("Order", false), "\"Order\"");
        assert_eq!(name("a\"b", false), "\"a\"\"b\"");
        assert_eq!(
            (cased("SELECT", "s"), cased("SELECT", "S"), cased("SELECT", "")),
            ("select".into(), "SELECT".into(), "SELECT".into())
        );
    }
}
