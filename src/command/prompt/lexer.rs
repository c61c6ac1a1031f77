//! Words of a text that is still being written.
//!
//! The parser's tokenizer refuses a text whose last quote is open; here such a text is the rule.

/// What a token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Blank,
    /// `-- ...` up to the end of its line.
    LineComment,
    /// `/* ... */`, which nests.
    BlockComment,
    /// A name or keyword without quotes, or a number.
    Word,
    /// `"..."`.
    Quoted,
    /// `'...'`, also with a prefix such as `E`.
    Text,
    /// `$tag$...$tag$`.
    Dollar,
    /// Anything else, a character at a time.
    Symbol(char),
}

/// A token, as bytes of its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Token {
    pub kind: Kind,
    pub from: usize,
    pub to: usize,
    /// The quote or comment ends before the text does.
    pub closed: bool,
}

impl Token {
    pub(super) fn of<'a>(&self, text: &'a str) -> &'a str {
        &text[self.from..self.to]
    }

    pub(super) fn is_blank(&self) -> bool {
        matches!(self.kind, Kind::Blank | Kind::LineComment | Kind::BlockComment)
    }
}

/// All tokens of a text.
pub(super) fn tokens(text: &str) -> Vec<Token> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(token) = token_at(text, at) {
        at = token.to;
        found.push(token);
    }
    found
}

/// The token that begins at a byte; `None` at the end.
pub(super) fn token_at(text: &str, from: usize) -> Option<Token> {
    let rest = &text[from..];
    let first = rest.chars().next()?;
    let token = |kind, length: usize, closed| Some(Token { kind, from, to: from + length, closed });
    if first.is_whitespace() {
        return token(Kind::Blank, length_while(rest, char::is_whitespace), true);
    }
    if rest.starts_with("--") {
        let line = rest.find('\n');
        return token(Kind::LineComment, line.unwrap_or(rest.len()), line.is_some());
    }
    if rest.starts_with("/*") {
        let (length, closed) = block_comment(rest);
        return token(Kind::BlockComment, length, closed);
    }
    match first {
        '\'' => {
            let (length, closed) = quoted(rest, 0, '\'', false);
            token(Kind::Text, length, closed)
        }
        '"' => {
            let (length, closed) = quoted(rest, 0, '"', false);
            token(Kind::Quoted, length, closed)
        }
        '$' => match dollar(rest) {
            Some((length, closed)) => token(Kind::Dollar, length, closed),
            None => token(Kind::Word, 1 + length_while(&rest[1..], is_word), true),
        },
        _ if is_word(first) => {
            let length = length_while(rest, is_word);
            let prefix = &rest[..length];
            let is_prefix = |names: &[&str]| names.iter().any(|name| prefix.eq_ignore_ascii_case(name));
            if rest[length..].starts_with('\'') && is_prefix(&["e", "b", "x", "n"]) {
                let (length, closed) = quoted(rest, length, '\'', is_prefix(&["e"]));
                return token(Kind::Text, length, closed);
            }
            token(Kind::Word, length, true)
        }
        symbol => token(Kind::Symbol(symbol), symbol.len_utf8(), true),
    }
}

pub(super) fn is_word(char: char) -> bool {
    char.is_alphanumeric() || char == '_' || char == '$'
}

fn length_while(text: &str, is: impl Fn(char) -> bool) -> usize {
    text.find(|char| !is(char)).unwrap_or(text.len())
}

/// Length of a quoted text whose quote is at `open`; a doubled quote stands for itself.
fn quoted(text: &str, open: usize, quote: char, backslashes: bool) -> (usize, bool) {
    let mut chars = text[open + 1..].char_indices().peekable();
    while let Some((at, char)) = chars.next() {
        if backslashes && char == '\\' {
            chars.next();
        } else if char == quote {
            if chars.peek().is_some_and(|(_, next)| *next == quote) {
                chars.next();
            } else {
                return (open + 1 + at + 1, true);
            }
        }
    }
    (text.len(), false)
}

fn block_comment(text: &str) -> (usize, bool) {
    let bytes = text.as_bytes();
    let (mut at, mut depth) = (0, 0_usize);
    while at < bytes.len() {
        match &bytes[at..bytes.len().min(at + 2)] {
            b"/*" => {
                depth += 1;
                at += 2;
            }
            b"*/" => {
                depth -= 1;
                at += 2;
                if depth == 0 {
                    return (at, true);
                }
            }
            _ => at += 1,
        }
    }
    (text.len(), false)
}

/// Length of `$tag$...$tag$`; `None` where the dollar begins something else.
fn dollar(text: &str) -> Option<(usize, bool)> {
    let tag_length = length_while(&text[1..], |char| char.is_alphanumeric() || char == '_');
    let tag = text.get(..tag_length + 2).filter(|tag| tag.ends_with('$'))?;
    if tag[1..].starts_with(|char: char| char.is_ascii_digit()) {
        return None;
    }
    match text[tag.len()..].find(tag) {
        Some(at) => Some((at + 2 * tag.len(), true)),
        None => Some((text.len(), false)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(text: &str) -> Vec<(Kind, &str, bool)> {
        let found = tokens(text);
        let joined: String = found.iter().map(|token| token.of(text)).collect();
        assert_eq!(joined, text, "tokens leave nothing out");
        found.iter().filter(|token| token.kind != Kind::Blank).map(|t| (t.kind, t.of(text), t.closed)).collect()
    }

    #[test]
    fn quotes_and_comments() {
        assert_eq!(
            parts("a 'it''s' \"B \"\"x\" E'\\'' -- c"),
            [
                (Kind::Word, "a", true),
                (Kind::Text, "'it''s'", true),
                (Kind::Quoted, "\"B \"\"x\"", true),
                (Kind::Text, "E'\\''", true),
                (Kind::LineComment, "-- c", false),
            ]
        );
        assert_eq!(
            parts("/* /* */ ; */$a$ ' $a$$1"),
            [(Kind::BlockComment, "/* /* */ ; */", true), (Kind::Dollar, "$a$ ' $a$", true), (Kind::Word, "$1", true)]
        );
    }

    #[test]
    fn what_is_open() {
        for (text, kind) in [
            ("'a", Kind::Text),
            ("'a''", Kind::Text),
            ("e'a\\'", Kind::Text),
            ("\"é", Kind::Quoted),
            ("/* /* */", Kind::BlockComment),
            ("$$ $", Kind::Dollar),
        ] {
            assert_eq!(parts(text), [(kind, text, false)]);
        }
        assert_eq!(parts("/"), [(Kind::Symbol('/'), "/", true)]);
        assert_eq!(parts("é日"), [(Kind::Word, "é日", true)]);
    }
}
