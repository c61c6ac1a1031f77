//! Rust text as tokens: enough of it to find paths and macro calls, with comments and literals out
//! of the way.

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Token {
    Ident(String),
    /// `::`
    PathSeparator,
    /// Any other character of punctuation.
    Punct(char),
    /// A string, character or number.
    Literal,
}

/// The tokens, each with its line, counted from 1.
pub(crate) fn tokens(text: &str) -> Vec<(Token, usize)> {
    let chars: Vec<char> = text.chars().collect();
    let mut found = Vec::new();
    let (mut at, mut line) = (0, 1);
    while at < chars.len() {
        let rest = &chars[at..];
        let (token, length) = match rest {
            ['/', '/', ..] => (None, rest.iter().position(|c| *c == '\n').unwrap_or(rest.len())),
            ['/', '*', ..] => (None, block_comment(rest)),
            [':', ':', ..] => (Some(Token::PathSeparator), 2),
            ['"', ..] => (Some(Token::Literal), quoted(rest, '"')),
            ['\'', ..] => character_or_lifetime(rest),
            [c, ..] if c.is_whitespace() => (None, 1),
            [c, ..] if c.is_ascii_digit() => {
                (Some(Token::Literal), rest.iter().take_while(|c| c.is_alphanumeric() || **c == '_').count())
            }
            [c, ..] if c.is_alphabetic() || *c == '_' => word(rest),
            [c, ..] => (Some(Token::Punct(*c)), 1),
            [] => break,
        };
        if let Some(token) = token {
            found.push((token, line));
        }
        line += rest[..length].iter().filter(|c| **c == '\n').count();
        at += length;
    }
    found
}

/// Length of a block comment; they nest.
fn block_comment(text: &[char]) -> usize {
    let (mut at, mut depth) = (0, 0);
    while at < text.len() {
        match text[at..] {
            ['/', '*', ..] => (depth, at) = (depth + 1, at + 2),
            ['*', '/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            break;
        }
    }
    at
}

/// Length of a literal with escapes, up to behind the closing quote.
fn quoted(text: &[char], quote: char) -> usize {
    let mut at = 1;
    while at < text.len() && text[at] != quote {
        at += if text[at] == '\\' { 2 } else { 1 };
    }
    (at + 1).min(text.len())
}

fn character_or_lifetime(text: &[char]) -> (Option<Token>, usize) {
    match text {
        ['\'', '\\', ..] | ['\'', _, '\'', ..] => (Some(Token::Literal), quoted(text, '\'')),
        _ => (None, 1 + text[1..].iter().take_while(|c| c.is_alphanumeric() || **c == '_').count()),
    }
}

/// An identifier, or a literal that begins with letters: `b"…"`, `r#"…"#`, `br"…"`, `c"…"`, `b'…'`.
fn word(text: &[char]) -> (Option<Token>, usize) {
    let length = text.iter().take_while(|c| c.is_alphanumeric() || **c == '_').count();
    let word: String = text[..length].iter().collect();
    let behind = &text[length..];
    let hashes = behind.iter().take_while(|c| **c == '#').count();
    match (word.as_str(), behind) {
        ("r" | "br" | "cr", _) if behind.get(hashes) == Some(&'"') => {
            let mut end = length + hashes + 1;
            let closing: Vec<char> = std::iter::once('"').chain(std::iter::repeat_n('#', hashes)).collect();
            while end < text.len() && !text[end..].starts_with(&closing) {
                end += 1;
            }
            (Some(Token::Literal), (end + closing.len()).min(text.len()))
        }
        ("b" | "c", ['"', ..]) => (Some(Token::Literal), length + quoted(behind, '"')),
        ("b", ['\'', ..]) => (Some(Token::Literal), length + quoted(behind, '\'')),
        _ => (Some(Token::Ident(word)), length),
    }
}

#[test]
fn comments_and_literals_hide_what_is_in_them() {
    let text = "// crate::a\n/* crate::b /* x */ crate::c */ \"crate::d \\\" unsafe\" r#\"crate::e \" \"# b'\\'' 'x' b\"f\"\nend";
    let found = tokens(text);
    let idents: Vec<_> = found.iter().filter(|(token, _)| matches!(token, Token::Ident(_))).collect();
    assert_eq!(idents, [&(Token::Ident("end".into()), 3)]);
    assert_eq!(found.iter().filter(|(token, _)| *token == Token::Literal).count(), 5);
}

#[test]
fn lifetimes_are_no_characters_and_hide_nothing() {
    let idents: Vec<Token> = tokens("fn f<'a>(x: &'a str) -> &'static X { '\\n'; 'q'; y }")
        .into_iter()
        .map(|(token, _)| token)
        .filter(|token| matches!(token, Token::Ident(_)))
        .collect();
    assert_eq!(idents, ["fn", "f", "x", "str", "X", "y"].map(|name| Token::Ident(name.into())));
}

#[test]
fn lines_are_counted_through_literals_and_comments() {
    let found = tokens("a\n\"x\ny\"\n/* \n */ b");
    assert_eq!(found.last(), Some(&(Token::Ident("b".into()), 5)));
}
