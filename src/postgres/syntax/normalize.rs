//! Normalized statements: parameters in place of constants, so that statements that differ in their
//! constants only are told as one, as `pg_stat_statements` does.

use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Token, Tokenizer};

/// What is read of a text: longer statements that begin alike are one.
const TEXT_BYTES_MAX: usize = 8 << 10;
/// Words in a list of ORDER BY.
const ORDERING: [Keyword; 5] = [Keyword::ASC, Keyword::DESC, Keyword::NULLS, Keyword::FIRST, Keyword::LAST];
/// What comes behind the first constant of a list.
const MORE_OF_LIST: &str = " /*, ... */";

/// A normalized statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Normalized {
    /// As it was written.
    pub text: String,
    /// With words in small letters, but for those in quotes: statements that differ in nothing else
    /// are one.
    pub folded: String,
}

impl Normalized {
    fn push(&mut self, text: &str) {
        self.text.push_str(text);
        self.folded.push_str(text);
    }

    fn push_token(&mut self, token: &Token) {
        let text = token.to_string();
        match token {
            Token::Word(word) if word.quote_style.is_none() => self.folded.push_str(&text.to_lowercase()),
            _ => self.folded.push_str(&text),
        }
        self.text.push_str(&text);
    }

    fn truncate(&mut self) {
        for text in [&mut self.text, &mut self.folded] {
            text.truncate(text.trim_end_matches([' ', ';']).len());
        }
    }
}

/// A statement without comments and with `$1`, `$2`, ... for its constants, numbered behind its
/// parameters. Of the constants of an `IN` list the first alone is told. A text that is longer than
/// 8 KiB, or that cannot be split into tokens, is told up to there.
pub fn normalized(text: &str) -> Normalized {
    let read = &text[..text.floor_char_boundary(TEXT_BYTES_MAX)];
    let mut tokens = Vec::new();
    let failed = Tokenizer::new(&PostgreSqlDialect {}, read).tokenize_with_location_into_buf(&mut tokens).is_err();
    let mut number = tokens.iter().filter_map(|token| parameter(&token.token)).max().unwrap_or(0);
    let mut normal = Normalized { text: String::with_capacity(read.len()), folded: String::with_capacity(read.len()) };
    // In a list of ORDER BY or GROUP BY, whose numbers are places of columns.
    let mut in_places = false;
    // The last two tokens.
    let mut before = (Token::EOF, Token::EOF);
    let mut tokens = tokens.into_iter().map(|token| token.token).peekable();
    while let Some(token) = tokens.next() {
        if matches!(token, Token::Whitespace(_)) {
            if !normal.text.is_empty() && !normal.text.ends_with(' ') {
                normal.push(" ");
            }
            continue;
        }
        in_places = match &token {
            Token::Word(word) if word.keyword == Keyword::BY => true,
            Token::Word(word) => in_places && (word.keyword == Keyword::NoKeyword || ORDERING.contains(&word.keyword)),
            Token::Comma | Token::Number(..) | Token::Period => in_places,
            _ => false,
        };
        if !is_constant(&token) || in_places {
            normal.push_token(&token);
            before = (before.1, token);
            continue;
        }
        number += 1;
        normal.push(&format!("${number}"));
        let in_list = matches!(&before, (Token::Word(word), Token::LParen) if word.keyword == Keyword::IN);
        let mut is_list = false;
        while in_list
            && tokens
                .next_if(|token| matches!(token, Token::Comma | Token::Whitespace(_)) || is_constant(token))
                .is_some()
        {
            is_list = true;
        }
        if is_list {
            normal.push(MORE_OF_LIST);
            if tokens.peek().is_some_and(|token| *token != Token::RParen) {
                normal.push(", ");
            }
        }
        before = (before.1, token);
    }
    normal.truncate();
    if failed || read.len() < text.len() {
        normal.push(" ...");
    }
    normal
}

fn parameter(token: &Token) -> Option<usize> {
    match token {
        Token::Placeholder(name) => name.strip_prefix('$')?.parse().ok(),
        _ => None,
    }
}

fn is_constant(token: &Token) -> bool {
    matches!(
        token,
        Token::Number(..)
            | Token::SingleQuotedString(_)
            | Token::DollarQuotedString(_)
            | Token::EscapedStringLiteral(_)
            | Token::UnicodeStringLiteral(_)
            | Token::NationalStringLiteral(_)
            | Token::HexStringLiteral(_)
            | Token::SingleQuotedByteStringLiteral(_)
    )
}

#[cfg(test)]
mod tests {
    use super::normalized;

    #[test]
    fn statements_that_differ_in_constants_are_one() {
        let cases = [
            ("select 1", "select $1"),
            ("SELECT  a,\n'x' -- why\nFROM t;", "SELECT a, $1 FROM t"),
            ("select * from t where a = $1 and b = 5", "select * from t where a = $1 and b = $2"),
            (
                "select * from t where a in (1, 2,3) and b in ('x')",
                "select * from t where a in ($1 /*, ... */) and b in ($2)",
            ),
            ("select * from t where a in (1, 2, b)", "select * from t where a in ($1 /*, ... */, b)"),
            ("select f(1, 2), E'\\n', $$x$$", "select f($1, $2), $3, $4"),
            ("select \"A b\" from t where d > date '2020-01-01'", "select \"A b\" from t where d > date $1"),
            ("select 'open", "select ..."),
            ("select a from t order by 2 desc, b limit 5", "select a from t order by 2 desc, b limit $1"),
            (
                "select count(*) from t group by 1, 2 having 1 > 0",
                "select count(*) from t group by 1, 2 having $1 > $2",
            ),
            ("", ""),
        ];
        for (text, normal) in cases {
            assert_eq!(normalized(text).text, normal, "{text}");
        }
    }

    #[test]
    fn the_case_of_words_without_quotes_does_not_matter() {
        let folded = |text: &str| normalized(text).folded;
        assert_eq!(folded("SELECT Name FROM T WHERE Age > 5"), "select name from t where age > $1");
        assert_eq!(folded("select \"Name\" from T"), "select \"Name\" from t");
    }

    #[test]
    fn long_texts_are_told_up_to_their_bound() {
        let text = format!("select {}", "a, ".repeat(100_000));
        let normal = normalized(&text).text;
        assert!(normal.len() < 9 << 10 && normal.ends_with(" ..."), "{}", normal.len());
    }
}
