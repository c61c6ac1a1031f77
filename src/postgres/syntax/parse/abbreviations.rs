//! Forms of PostgreSQL that the parser does not read, as words that it does: `TABLE t` is `SELECT *
//! FROM t`, `ONLY t` is `t`, since tables have no others below them, `trim(LEADING FROM x)` is
//! `ltrim(x)`, ORDER BY x USING > is DESC, and of FOR NO KEY UPDATE and FOR KEY SHARE the stronger
//! FOR UPDATE and FOR SHARE.

use std::borrow::Cow;
use std::collections::HashMap;

use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan, Word};

use rowkey_base::{Error, Result, SqlState};

/// Words of such forms.
const CONCERNED: &[Keyword] = &[Keyword::TABLE, Keyword::ONLY, Keyword::KEY, Keyword::TRIM, Keyword::USING];

/// The words of a statement with such forms spelled out. Words that stand for others have their
/// places.
pub(super) fn spelled_out(tokens: &[TokenWithSpan]) -> Cow<'_, [TokenWithSpan]> {
    let concerned = |token: &TokenWithSpan| is(&token.token, CONCERNED);
    if !tokens.iter().any(concerned) {
        return Cow::Borrowed(tokens);
    }
    let trims = trims_as_calls(tokens);
    let mut written: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len() + 4);
    let mut before = Token::EOF;
    // AS is before a query once: in CREATE VIEW, CREATE TABLE and PREPARE. What it is before
    // elsewhere is a label.
    let mut as_query = false;
    // The words that are left out here.
    let mut left_out = 0;
    for (at, token) in tokens.iter().enumerate() {
        if at < left_out {
            continue;
        }
        if let Token::Whitespace(_) = token.token {
            written.push(token.clone());
            continue;
        }
        if before == Token::EOF {
            as_query = is(&token.token, &[Keyword::CREATE, Keyword::PREPARE]);
        }
        // Behind a point it is the name of a column.
        if before == Token::Period || is(&before, &[Keyword::AS]) && !std::mem::take(&mut as_query) {
            written.push(token.clone());
            before = LABEL;
            continue;
        }
        let next = tokens[at + 1..].iter().map(|token| &token.token).find(|next| !matches!(next, Token::Whitespace(_)));
        if is(&before, &[Keyword::FOR])
            && let Some(words) = words_of_key_locks(&tokens[at..])
        {
            left_out = at + words;
            continue;
        }
        if is(&token.token, &[Keyword::USING])
            && let Some(direction) = next.and_then(direction_of)
        {
            written.push(TokenWithSpan { token: word(direction), span: token.span });
            let operator = tokens[at + 1..].iter().position(|token| Some(&token.token) == next);
            left_out = at + 2 + operator.unwrap_or_default();
            continue;
        }
        if let Some((function, words)) = trims.get(&at) {
            let put = |token_of| TokenWithSpan { token: token_of, span: token.span };
            let function = Word { value: (*function).to_owned(), quote_style: None, keyword: Keyword::NoKeyword };
            written.extend([put(Token::Word(function)), put(Token::LParen)]);
            (left_out, before) = (at + words, Token::LParen);
            continue;
        }
        let names_something = matches!(next, Some(Token::Word(_)));
        if is(&token.token, &[Keyword::TABLE]) && names_something && !is(&before, BEFORE_NAMES_OF_TABLES) {
            let put = |token_of| TokenWithSpan { token: token_of, span: token.span };
            written.extend([put(word(Keyword::SELECT)), put(Token::Mul), put(word(Keyword::FROM))]);
            before = word(Keyword::FROM);
            continue;
        }
        let only = is(&token.token, &[Keyword::ONLY])
            && (names_something || next == Some(&Token::LParen))
            && (before == Token::Comma || is(&before, BEFORE_ONLY));
        if !only {
            written.push(token.clone());
            before = token.token.clone();
        }
    }
    Cow::Owned(written)
}

/// Refuses `FROM ROWS FROM (...)`, which the parser takes for a table named `rows`.
pub(super) fn refuse_rows_from(tokens: &[TokenWithSpan]) -> Result<()> {
    let words = tokens.iter().map(|token| &token.token).filter(|token| !matches!(token, Token::Whitespace(_)));
    let mut before = [&Token::EOF, &Token::EOF];
    for token in words {
        let is_item = *before[0] == Token::Comma || is(before[0], BEFORE_ONLY) || is(before[0], &[Keyword::LATERAL]);
        if is(token, &[Keyword::FROM]) && is(before[1], &[Keyword::ROWS]) && is_item {
            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, "ROWS FROM is not supported")
                .with_hint("join the functions by WITH ORDINALITY, or give several arrays to unnest"));
        }
        before = [before[1], token];
    }
    Ok(())
}

/// The direction of an order by an operator.
fn direction_of(operator: &Token) -> Option<Keyword> {
    match operator {
        Token::Lt => Some(Keyword::ASC),
        Token::Gt => Some(Keyword::DESC),
        _ => None,
    }
}

/// How many words and blanks stand before UPDATE in `NO KEY UPDATE`, or SHARE in `KEY SHARE`.
fn words_of_key_locks(tokens: &[TokenWithSpan]) -> Option<usize> {
    let words = tokens.iter().enumerate().filter(|(_, token)| !matches!(token.token, Token::Whitespace(_)));
    let mut words = words.take(3);
    let (_, first) = words.next()?;
    let (at, second) = words.next()?;
    if is(&first.token, &[Keyword::KEY]) && is(&second.token, &[Keyword::SHARE]) {
        return Some(at);
    }
    let (at, third) = words.next()?;
    let is_update =
        is(&first.token, &[Keyword::NO]) && is(&second.token, &[Keyword::KEY]) && is(&third.token, &[Keyword::UPDATE]);
    is_update.then_some(at)
}

/// A TRIM whose parenthesis is open.
struct OpenTrim {
    at: usize,
    /// The function of its side, once that is read.
    function: Option<&'static str>,
    /// The words and blanks up to its first argument.
    words: usize,
}

/// The calls that `trim(LEADING FROM x)` stands for, without characters to trim, by the place of
/// TRIM: the function, and how many words and blanks stand before its first argument. So too of
/// `trim(LEADING x, y)`, where the parser forgets the side. In one pass, however deep they are.
fn trims_as_calls(tokens: &[TokenWithSpan]) -> HashMap<usize, (&'static str, usize)> {
    let (mut found, mut open) = (HashMap::new(), Vec::<Option<OpenTrim>>::new());
    let mut before: Option<(usize, &Token)> = None;
    let words = tokens.iter().enumerate().filter(|(_, token)| !matches!(token.token, Token::Whitespace(_)));
    for (at, TokenWithSpan { token, .. }) in words {
        match token {
            Token::LParen => {
                open.push(before.filter(|(_, before)| is(before, &[Keyword::TRIM])).map(|(trim, _)| OpenTrim {
                    at: trim,
                    function: None,
                    words: at + 1 - trim,
                }))
            }
            Token::RParen | Token::Comma => {
                // No FROM belongs to it.
                if let Some(OpenTrim { at: trim, function: Some(function), words }) =
                    open.last_mut().and_then(Option::take)
                {
                    found.insert(trim, (function, words));
                }
                if *token == Token::RParen {
                    open.pop();
                }
            }
            Token::Word(word) if word.quote_style.is_none() => {
                let innermost = open.last_mut();
                let is_first = matches!(before, Some((_, Token::LParen)));
                match (word.keyword, innermost) {
                    (Keyword::LEADING | Keyword::TRAILING | Keyword::BOTH, Some(Some(trim))) if is_first => {
                        trim.function = Some(match word.keyword {
                            Keyword::LEADING => "ltrim",
                            Keyword::TRAILING => "rtrim",
                            _ => "btrim",
                        });
                        trim.words = at + 1 - trim.at;
                    }
                    (Keyword::FROM, Some(innermost)) => {
                        if let Some(trim) = innermost.take()
                            && before.is_some_and(|(before, _)| before < trim.at + trim.words)
                        {
                            found.insert(trim.at, (trim.function.unwrap_or("btrim"), at + 1 - trim.at));
                        }
                    }
                    _ => {}
                }
            }
            _ => {}
        }
        before = Some((at, token));
    }
    found
}

/// After these words TABLE is the kind of an object.
const BEFORE_NAMES_OF_TABLES: &[Keyword] = &[
    Keyword::CREATE,
    Keyword::DROP,
    Keyword::ALTER,
    Keyword::TRUNCATE,
    Keyword::ON,
    Keyword::LOCK,
    Keyword::TEMP,
    Keyword::TEMPORARY,
    Keyword::UNLOGGED,
    Keyword::EXTERNAL,
    Keyword::FOREIGN,
    Keyword::LOCAL,
    Keyword::GLOBAL,
    Keyword::REPLACE,
    Keyword::INTO,
    Keyword::SHOW,
    Keyword::DESCRIBE,
    Keyword::DESC,
];

/// Whatever stands behind AS means nothing for the words behind it.
const LABEL: Token = Token::Word(Word { value: String::new(), quote_style: None, keyword: Keyword::NoKeyword });

const BEFORE_ONLY: &[Keyword] =
    &[Keyword::FROM, Keyword::JOIN, Keyword::UPDATE, Keyword::USING, Keyword::INTO, Keyword::TABLE, Keyword::TRUNCATE];

fn is(token: &Token, keywords: &[Keyword]) -> bool {
    matches!(token, Token::Word(word) if word.quote_style.is_none() && keywords.contains(&word.keyword))
}

fn word(keyword: Keyword) -> Token {
    Token::Word(Word { value: format!("{keyword:?}"), quote_style: None, keyword })
}

#[cfg(test)]
mod tests {
    use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
    use datafusion::sql::sqlparser::tokenizer::Tokenizer;

    use super::*;

    #[test]
    fn tables_are_selected_from_and_only_says_nothing() {
        for (text, expected) in [
            ("TABLE t", "SELECT * FROM t"),
            ("table \"T\" order by 1", "SELECT * FROM \"T\" order by 1"),
            ("(TABLE a) UNION ALL TABLE b", "(SELECT * FROM a) UNION ALL SELECT * FROM b"),
            ("TABLE ONLY t", "SELECT * FROM t"),
            ("INSERT INTO t (a) TABLE u", "INSERT INTO t (a) SELECT * FROM u"),
            ("CREATE TABLE t AS TABLE u", "CREATE TABLE t AS SELECT * FROM u"),
            ("DROP TABLE t", "DROP TABLE t"),
            ("SELECT 1 FROM ONLY t JOIN ONLY u USING (a), ONLY v", "SELECT 1 FROM t JOIN u USING (a), v"),
            (
                "SELECT \"only\", \"table\" FROM t FETCH FIRST ROW ONLY",
                "SELECT \"only\", \"table\" FROM t FETCH FIRST ROW ONLY",
            ),
            ("UPDATE ONLY t SET a = 1", "UPDATE t SET a = 1"),
            ("SELECT a AS table FROM t", "SELECT a AS table FROM t"),
            ("SELECT x.table FROM x", "SELECT x.table FROM x"),
            ("SELECT x.only, x.table t FROM ONLY x", "SELECT x.only, x.table t FROM x"),
            ("SELECT a AS table, b AS only, c AS from FROM ONLY t", "SELECT a AS table, b AS only, c AS from FROM t"),
            ("CREATE VIEW v AS SELECT a AS table FROM t", "CREATE VIEW v AS SELECT a AS table FROM t"),
            ("CREATE VIEW v AS TABLE t", "CREATE VIEW v AS SELECT * FROM t"),
            ("WITH w AS (TABLE t) SELECT a AS table FROM w", "WITH w AS (SELECT * FROM t) SELECT a AS table FROM w"),
            ("DELETE FROM t RETURNING a AS table", "DELETE FROM t RETURNING a AS table"),
            ("SELECT 1 FROM t FOR NO KEY UPDATE OF t", "SELECT 1 FROM t FOR UPDATE OF t"),
            ("SELECT 1 FROM t FOR KEY SHARE", "SELECT 1 FROM t FOR SHARE"),
            ("SELECT key FROM t WHERE no = key", "SELECT key FROM t WHERE no = key"),
            ("COMMENT ON TABLE t IS 'x'", "COMMENT ON TABLE t IS 'x'"),
            ("SELECT trim(LEADING FROM a), TRIM ( both from b)", "SELECT ltrim(a), btrim(b)"),
            ("SELECT trim(trailing from trim(from a))", "SELECT rtrim(btrim(a))"),
            ("SELECT trim(leading 'x' from a), trim(a), trim", "SELECT trim(leading 'x' from a), trim(a), trim"),
            ("SELECT trim(leading a, 'x'), trim(both f(b, c))", "SELECT ltrim(a, 'x'), btrim(f(b, c))"),
            ("SELECT trim(leading f(a, b) from c)", "SELECT trim(leading f(a, b) from c)"),
            (
                "SELECT a FROM t JOIN u USING (a) ORDER BY a USING > , b using< limit 1",
                "SELECT a FROM t JOIN u USING (a) ORDER BY a DESC, b ASC limit 1",
            ),
            ("SELECT x.trim, a AS trim FROM x", "SELECT x.trim, a AS trim FROM x"),
        ] {
            let tokens = Tokenizer::new(&PostgreSqlDialect {}, text).tokenize_with_location().expect(text);
            let mut written = Vec::new();
            for token in spelled_out(&tokens).iter() {
                if !matches!(token.token, Token::Whitespace(_) | Token::EOF) {
                    written.push(token.token.to_string());
                }
            }
            let tokens = Tokenizer::new(&PostgreSqlDialect {}, expected).tokenize_with_location().expect(expected);
            let expected = tokens.iter().map(|token| &token.token);
            let expected = expected.filter(|token| !matches!(token, Token::Whitespace(_) | Token::EOF));
            assert_eq!(written, expected.map(ToString::to_string).collect::<Vec<_>>(), "{text}");
        }
    }
}
