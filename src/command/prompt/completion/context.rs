//! What is being written at the cursor.

use super::super::lexer::{Kind, Token, tokens};

/// What can stand at the cursor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Wanted {
    Nothing,
    /// A meta command.
    Command,
    /// What a meta command takes.
    Argument {
        command: String,
    },
    /// The first word of a statement.
    Statement,
    /// A table or view, of a schema if one is named.
    Relation {
        schema: Option<String>,
    },
    /// A column of what is named before the dot, or a relation of that schema.
    Member {
        of: Vec<String>,
    },
    /// A column, a function or a keyword.
    Expression,
    Setting,
    /// A value of a key.
    Key {
        column: KeyColumn,
        qualifier: Option<String>,
        partition: Option<String>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeyColumn {
    Partition,
    Row,
}

/// The word at the cursor and what it can become.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    /// Where the word begins: a byte of the text.
    pub from: usize,
    /// What is written of it, without quotes.
    pub prefix: String,
    /// It begins with a double quote.
    pub quoted: bool,
    pub wanted: Wanted,
}

/// A table or view named in a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Named {
    pub schema: Option<String>,
    pub name: String,
    pub alias: Option<String>,
}

impl Named {
    /// Whether a qualifier of columns means this.
    pub(super) fn is_called(&self, qualifier: &str) -> bool {
        let name = self.alias.as_ref().unwrap_or(&self.name);
        name.eq_ignore_ascii_case(qualifier)
    }
}

/// Before a table or view.
const BEFORE_RELATIONS: &[&str] = &["FROM", "JOIN", "TABLE", "DESCRIBE", "INTO", "UPDATE"];
const BEFORE_SETTINGS: &[&str] = &["SET", "SHOW", "RESET", "SESSION", "LOCAL"];
/// Words that begin a clause, after which names are tables or are not.
const CLAUSES: &[&str] =
    &["SELECT", "FROM", "WHERE", "GROUP", "ORDER", "HAVING", "LIMIT", "OFFSET", "WITH", "WINDOW", "VALUES"];
/// Words after a table that are no alias of it.
const AFTER_RELATIONS: &[&str] = &[
    "WHERE",
    "GROUP",
    "ORDER",
    "HAVING",
    "LIMIT",
    "OFFSET",
    "ON",
    "USING",
    "JOIN",
    "LEFT",
    "RIGHT",
    "FULL",
    "INNER",
    "CROSS",
    "NATURAL",
    "UNION",
    "EXCEPT",
    "INTERSECT",
    "WINDOW",
    "FETCH",
    "FOR",
    "TABLESAMPLE",
    "SET",
    "IS",
];

/// What stands at the cursor, the end of the text.
pub(super) fn place(text: &str) -> Place {
    let all = tokens(text);
    let end = text.len();
    if let Some(place) = meta(text, &all) {
        return place;
    }
    let statement = all.iter().rposition(|token| token.kind == Kind::Symbol(';')).map_or(0, |at| at + 1);
    let all = &all[statement..];
    let nothing = Place { from: end, prefix: String::new(), quoted: false, wanted: Wanted::Nothing };
    if all.last().is_some_and(|token| !token.closed && token.is_blank()) {
        return nothing;
    }
    let mut before: Vec<Token> = all.iter().copied().filter(|token| !token.is_blank()).collect();
    let current = before.pop_if(|token| match token.kind {
        Kind::Word => token.to == end,
        Kind::Text | Kind::Quoted | Kind::Dollar => !token.closed,
        _ => false,
    });
    let (from, prefix, quoted) = match current {
        Some(token) if token.kind == Kind::Text => {
            if !token.of(text).starts_with('\'') {
                return nothing;
            }
            let wanted = key(text, &before).unwrap_or(Wanted::Nothing);
            return Place { from: token.from, prefix: unquoted(text, &token), quoted: false, wanted };
        }
        Some(token) if token.kind == Kind::Dollar => return nothing,
        Some(token) => (token.from, unquoted(text, &token), token.kind == Kind::Quoted),
        None => (end, String::new(), false),
    };
    Place { from, prefix, quoted, wanted: wanted(text, &before) }
}

fn wanted(text: &str, before: &[Token]) -> Wanted {
    let Some(last) = before.last() else { return Wanted::Statement };
    if last.kind == Kind::Symbol('.') {
        let of = qualifiers(text, before);
        let first = before.len().saturating_sub(2 * of.len());
        return match before[..first].last() {
            Some(token) if is_one_of(text, token, BEFORE_RELATIONS) || lists_relations(text, &before[..first]) => {
                Wanted::Relation { schema: of.last().cloned() }
            }
            _ => Wanted::Member { of },
        };
    }
    if lists_relations(text, before) {
        return Wanted::Relation { schema: None };
    }
    if before.len() <= 2 && is_one_of(text, last, BEFORE_SETTINGS) {
        return Wanted::Setting;
    }
    if before.len() == 1 && is_one_of(text, last, &["EXPLAIN"]) {
        return Wanted::Statement;
    }
    Wanted::Expression
}

/// Whether a table or view follows.
fn lists_relations(text: &str, before: &[Token]) -> bool {
    let Some(last) = before.last() else { return false };
    if is_one_of(text, last, BEFORE_RELATIONS) {
        return true;
    }
    if is_one_of(text, last, &["VIEW"]) {
        return before.first().is_some_and(|first| is_one_of(text, first, &["DROP", "COMMENT"]));
    }
    last.kind == Kind::Symbol(',') && clause(text, before) == Some("FROM")
}

/// The clause that the end of these tokens belongs to.
fn clause(text: &str, before: &[Token]) -> Option<&'static str> {
    let mut clauses = vec![None];
    for token in before {
        match token.kind {
            Kind::Symbol('(') => clauses.push(None),
            Kind::Symbol(')') if clauses.len() > 1 => {
                clauses.pop();
            }
            _ => {
                let found = CLAUSES.iter().find(|clause| is_word(text, token, clause));
                if let (Some(found), Some(clause)) = (found, clauses.last_mut()) {
                    *clause = Some(*found);
                }
            }
        }
    }
    clauses.pop().flatten()
}

/// The names before a dot at the end.
fn qualifiers(text: &str, before: &[Token]) -> Vec<String> {
    let mut names = Vec::new();
    let mut rest = before;
    while let [more @ .., name, dot] = rest
        && dot.kind == Kind::Symbol('.')
        && matches!(name.kind, Kind::Word | Kind::Quoted)
    {
        names.insert(0, unquoted(text, name));
        rest = more;
    }
    names
}

/// A text that is compared with a key.
fn key(text: &str, before: &[Token]) -> Option<Wanted> {
    let mut rest = before;
    // Other texts of a list.
    while let [more @ .., other, comma] = rest
        && comma.kind == Kind::Symbol(',')
        && other.kind == Kind::Text
    {
        rest = more;
    }
    rest = match rest {
        [more @ .., word, open] if open.kind == Kind::Symbol('(') && is_word(text, word, "IN") => more,
        [more @ .., between, other, and]
            if is_word(text, and, "AND") && other.kind == Kind::Text && is_word(text, between, "BETWEEN") =>
        {
            more
        }
        [more @ .., word] if is_one_of(text, word, &["LIKE", "BETWEEN"]) => more,
        [more @ .., first, second] if is_comparison(first) && is_comparison(second) => more,
        [more @ .., one] if is_comparison(one) => more,
        _ => return None,
    };
    if let [more @ .., not] = rest
        && is_word(text, not, "NOT")
    {
        rest = more;
    }
    let (column, more) = rest.split_last()?;
    let column = key_column(text, column)?;
    let qualifier = qualifiers(text, more).pop();
    let partition = (column == KeyColumn::Row).then(|| partition(text, before)).flatten();
    Some(Wanted::Key { column, qualifier, partition })
}

fn key_column(text: &str, token: &Token) -> Option<KeyColumn> {
    let name = matches!(token.kind, Kind::Word | Kind::Quoted).then(|| unquoted(text, token))?;
    match name.to_ascii_lowercase().as_str() {
        "partitionkey" => Some(KeyColumn::Partition),
        "rowkey" => Some(KeyColumn::Row),
        _ => None,
    }
}

/// The PartitionKey that the statement fixes, nearest to the end.
fn partition(text: &str, before: &[Token]) -> Option<String> {
    let mut windows = before.windows(3).rev();
    windows.find_map(|window| match window {
        [column, equals, value]
            if key_column(text, column) == Some(KeyColumn::Partition)
                && equals.kind == Kind::Symbol('=')
                && value.kind == Kind::Text
                && value.closed =>
        {
            Some(unquoted(text, value))
        }
        _ => None,
    })
}

/// The tables and views that the statement around a byte of the text names.
pub(super) fn named(text: &str, cursor: usize) -> Vec<Named> {
    let all = tokens(text);
    let is_end = |token: &&Token| token.kind == Kind::Symbol(';');
    let from = all.iter().filter(is_end).map(|token| token.to).rfind(|to| *to <= cursor).unwrap_or(0);
    let to = all.iter().filter(is_end).map(|token| token.from).find(|at| *at >= cursor).unwrap_or(text.len());
    let words: Vec<Token> =
        all.iter().copied().filter(|token| token.from >= from && token.to <= to && !token.is_blank()).collect();
    let mut found = Vec::new();
    let mut at = 0;
    while at < words.len() {
        let begins = is_one_of(text, &words[at], BEFORE_RELATIONS);
        let follows = words[at].kind == Kind::Symbol(',') && clause(text, &words[..at]) == Some("FROM");
        at += 1;
        if (begins || follows)
            && let Some((named, used)) = relation(text, &words[at..])
        {
            found.push(named);
            at += used;
        }
    }
    found
}

/// A relation with its alias at the begin of these tokens, and how many they are.
fn relation(text: &str, words: &[Token]) -> Option<(Named, usize)> {
    let is_name = |token: &Token| {
        token.kind == Kind::Quoted && token.closed
            || token.kind == Kind::Word && !is_one_of(text, token, AFTER_RELATIONS) && !is_one_of(text, token, CLAUSES)
    };
    let mut parts = vec![unquoted(text, words.first().filter(|token| is_name(token))?)];
    let mut used = 1;
    while words.get(used).is_some_and(|token| token.kind == Kind::Symbol('.'))
        && let Some(part) = words.get(used + 1).filter(|token| is_name(token))
    {
        parts.push(unquoted(text, part));
        used += 2;
    }
    if words.get(used).is_some_and(|token| token.kind == Kind::Symbol('(')) {
        return None;
    }
    if words.get(used).is_some_and(|token| is_word(text, token, "AS")) {
        used += 1;
    }
    let alias = words.get(used).filter(|token| is_name(token)).map(|token| unquoted(text, token));
    used += usize::from(alias.is_some());
    let name = parts.pop()?;
    Some((Named { schema: parts.pop(), name, alias }, used))
}

fn meta(text: &str, all: &[Token]) -> Option<Place> {
    let line = text.rfind('\n').map_or(0, |at| at + 1);
    let backslash = all.iter().find(|token| token.kind == Kind::Symbol('\\') && token.from >= line)?;
    let written = &text[backslash.from..];
    let place = |from, wanted| {
        let prefix = text[from..].trim_start_matches(['\'', '"']).to_owned();
        Some(Place { from, prefix, quoted: false, wanted })
    };
    match written.find(char::is_whitespace) {
        None => place(backslash.from, Wanted::Command),
        Some(end) => {
            let from = written.rfind(char::is_whitespace).map_or(end, |at| at + 1);
            place(backslash.from + from, Wanted::Argument { command: written[..end].to_owned() })
        }
    }
}

fn is_comparison(token: &Token) -> bool {
    matches!(token.kind, Kind::Symbol('=' | '<' | '>'))
}

fn is_word(text: &str, token: &Token, word: &str) -> bool {
    token.kind == Kind::Word && token.of(text).eq_ignore_ascii_case(word)
}

fn is_one_of(text: &str, token: &Token, words: &[&str]) -> bool {
    words.iter().any(|word| is_word(text, token, word))
}

/// What a name or text stands for, without its quotes, of which the last may be missing.
fn unquoted(text: &str, token: &Token) -> String {
    let written = token.of(text);
    let quote = match token.kind {
        Kind::Quoted => '"',
        Kind::Text => '\'',
        _ => return written.to_owned(),
    };
    let inner = written.strip_prefix(quote).unwrap_or(written);
    let inner = if token.closed { inner.strip_suffix(quote).unwrap_or(inner) } else { inner };
    inner.replace(&format!("{quote}{quote}"), &quote.to_string())
}

#[cfg(test)]
mod tests;
