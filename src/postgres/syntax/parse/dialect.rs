//! The parser's PostgreSQL, but for what takes it exponential time.

use std::any::TypeId;
use std::cell::Cell;
use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{BinaryOperator, DescribeAlias, Expr, Statement, UnaryOperator};
use datafusion::sql::sqlparser::dialect::{Dialect, PostgreSqlDialect, Precedence};
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan};

use super::limits::is_word;
use crate::syntax::visit_expressions;

/// [`PostgreSqlDialect`] whose arguments are named by identifiers alone, as PostgreSQL 15 has them.
/// Where a name may be any expression (`json_object('a' : 1)`, PostgreSQL 16) the parser reads each
/// argument as a name first and then again as a value: twice the time for each level of calls.
///
/// Words that begin an expression are tried as names of functions where that expression cannot be
/// parsed, with all that is in it: twice the time for each level, again. Those that are reserved in
/// PostgreSQL are no such names, and for the others there is an end to it.
#[derive(Debug)]
pub(super) struct PostgresDialect {
    /// How many expressions may still be begun.
    left: Cell<usize>,
    /// Whether there is no NATURAL JOIN, which has no ON that another join could wait for.
    nests_joins: bool,
}

/// How many expressions are begun for each token at most, and in addition: without a detour there
/// is less than one.
const BEGUN_FOR_TOKEN: usize = 4;
const BEGUN_IN_ADDITION: usize = 4096;

/// Words that other dialects reserve, and PostgreSQL does not: labels of columns without AS.
const FREE_LABELS: [Keyword; 9] = [
    Keyword::ANALYZE,
    Keyword::CLUSTER,
    Keyword::DISTRIBUTE,
    Keyword::EXCLUDE,
    Keyword::EXPLAIN,
    Keyword::MINUS,
    Keyword::SORT,
    Keyword::TOP,
    Keyword::VIEW,
];
/// The same for aliases of tables.
const FREE_ALIASES: [Keyword; 25] = [
    Keyword::ANTI,
    Keyword::ASOF,
    Keyword::CLUSTER,
    Keyword::CONNECT,
    Keyword::DISTRIBUTE,
    Keyword::EXPLAIN,
    Keyword::FORMAT,
    Keyword::GLOBAL,
    Keyword::MATCH_CONDITION,
    Keyword::MATCH_RECOGNIZE,
    Keyword::MINUS,
    Keyword::OPEN,
    Keyword::OUTPUT,
    Keyword::PARTITION,
    Keyword::PIVOT,
    Keyword::PREWHERE,
    Keyword::QUALIFY,
    Keyword::SAMPLE,
    Keyword::SEMI,
    Keyword::SETTINGS,
    Keyword::SORT,
    Keyword::START,
    Keyword::TOP,
    Keyword::UNPIVOT,
    Keyword::VIEW,
];

/// Operators that match patterns.
const MATCHES: [Token; 8] = [
    Token::Tilde,
    Token::TildeAsterisk,
    Token::ExclamationMarkTilde,
    Token::ExclamationMarkTildeAsterisk,
    Token::DoubleTilde,
    Token::DoubleTildeAsterisk,
    Token::ExclamationMarkDoubleTilde,
    Token::ExclamationMarkDoubleTildeAsterisk,
];

impl PostgresDialect {
    /// For a statement of these tokens.
    pub(super) fn of_tokens(tokens: &[TokenWithSpan]) -> Self {
        let left = tokens.len().saturating_mul(BEGUN_FOR_TOKEN).saturating_add(BEGUN_IN_ADDITION);
        let nests_joins = !tokens.iter().any(|token| is_word(&token.token, &[Keyword::NATURAL]));
        Self { left: Cell::new(left), nests_joins }
    }

    /// The bounds of BETWEEN. Symmetric ones hold one way or the other, and are written twice, as
    /// PostgreSQL does: what is within each other so grows with every level.
    fn bounds(&self, parser: &mut Parser, expr: &Expr, negated: bool, symmetric: bool) -> Result<Expr, ParserError> {
        let precedence = PARSER.prec_value(Precedence::Between);
        let low = parser.parse_subexpr(precedence)?;
        parser.expect_keyword(Keyword::AND)?;
        let high = parser.parse_subexpr(precedence)?;
        let within = |low: &Expr, high: &Expr| Expr::Between {
            expr: Box::new(expr.clone()),
            negated,
            low: Box::new(low.clone()),
            high: Box::new(high.clone()),
        };
        if !symmetric {
            return Ok(within(&low, &high));
        }
        let mut written = 0;
        for part in [expr, &low, &high] {
            let _ = visit_expressions(part, |_| {
                written += 1;
                ControlFlow::<()>::Continue(())
            });
        }
        self.left.set(self.left.get().saturating_sub(written));
        if self.is_exhausted() {
            return Err(ParserError::RecursionLimitExceeded);
        }
        let op = if negated { BinaryOperator::And } else { BinaryOperator::Or };
        let (left, right) = (Box::new(within(&low, &high)), Box::new(within(&high, &low)));
        Ok(Expr::Nested(Box::new(Expr::BinaryOp { left, op, right })))
    }

    /// Whether the parser was stopped.
    pub(super) fn is_exhausted(&self) -> bool {
        self.left.get() == 0
    }
}

const PARSER: PostgreSqlDialect = PostgreSqlDialect {};

fn is_null_test(parser: &Parser) -> bool {
    matches!(&parser.peek_token_ref().token, Token::Word(word)
        if word.quote_style.is_none() && word.value.eq_ignore_ascii_case("isnull"))
}

/// Whether the next operator would take LIKE or BETWEEN for its left side, which PostgreSQL does
/// not: of these there is no chain, and behind ESCAPE it belongs to what is escaped with, which the
/// parser takes for a value.
fn is_chained(parser: &Parser, expr: &Expr, precedence: u8) -> bool {
    let has_escape = match expr {
        Expr::Like { escape_char, .. } | Expr::ILike { escape_char, .. } | Expr::SimilarTo { escape_char, .. } => {
            escape_char.is_some()
        }
        Expr::Between { .. } => false,
        _ => return false,
    };
    let keyword = |place: usize| match &parser.peek_nth_token_ref(place).token {
        Token::Word(word) if word.quote_style.is_none() => word.keyword,
        _ => Keyword::NoKeyword,
    };
    let next = if keyword(0) == Keyword::NOT { keyword(1) } else { keyword(0) };
    let is_like = matches!(next, Keyword::LIKE | Keyword::ILIKE | Keyword::SIMILAR | Keyword::BETWEEN | Keyword::IN);
    is_like || has_escape && precedence > PARSER.prec_value(Precedence::Like)
}

/// `(VALUES (1))`, which the parser takes for a call.
fn is_values_query(parser: &Parser) -> bool {
    *parser.peek_nth_token_ref(0) == Token::LParen
        && matches!(&parser.peek_nth_token_ref(1).token, Token::Word(word)
            if word.quote_style.is_none() && word.keyword == Keyword::VALUES)
        && *parser.peek_nth_token_ref(2) == Token::LParen
}

/// Whether BETWEEN with a word behind it is negated, and symmetric; the words are read.
fn between(parser: &mut Parser) -> Option<(bool, bool)> {
    // All operators come this way.
    if !matches!(&parser.peek_token_ref().token, Token::Word(word)
        if matches!(word.keyword, Keyword::NOT | Keyword::BETWEEN))
    {
        return None;
    }
    [(false, true), (true, true), (false, false), (true, false)].into_iter().find(|(negated, symmetric)| {
        let kind = if *symmetric { Keyword::SYMMETRIC } else { Keyword::ASYMMETRIC };
        let words = [Keyword::NOT, Keyword::BETWEEN, kind];
        parser.parse_keywords(if *negated { &words } else { &words[1..] })
    })
}

fn keyword_at(parser: &Parser, place: usize) -> Option<Keyword> {
    match &parser.peek_nth_token_ref(place).token {
        Token::Word(word) if word.quote_style.is_none() => Some(word.keyword),
        _ => None,
    }
}

/// Whether it is ALL that stands at a place, not ANY or SOME, before a query that begins with one
/// of these words.
fn quantifier(parser: &Parser, place: usize, begins: &[Keyword]) -> Option<bool> {
    let is_all = match keyword_at(parser, place)? {
        Keyword::ALL => true,
        Keyword::ANY | Keyword::SOME => false,
        _ => return None,
    };
    let opens = parser.peek_nth_token_ref(place + 1).token == Token::LParen;
    (opens && begins.contains(&keyword_at(parser, place + 2)?)).then_some(is_all)
}

/// The operator of LIKE or ILIKE with ANY, SOME or ALL and a subquery behind it, and whether it is
/// ALL; the words are read.
fn like_each(parser: &mut Parser) -> Option<(BinaryOperator, bool)> {
    let negated = keyword_at(parser, 0) == Some(Keyword::NOT);
    let at = usize::from(negated);
    let op = match (keyword_at(parser, at)?, negated) {
        (Keyword::LIKE, false) => BinaryOperator::PGLikeMatch,
        (Keyword::LIKE, true) => BinaryOperator::PGNotLikeMatch,
        (Keyword::ILIKE, false) => BinaryOperator::PGILikeMatch,
        (Keyword::ILIKE, true) => BinaryOperator::PGNotILikeMatch,
        _ => return None,
    };
    let is_all = quantifier(parser, at + 1, &[Keyword::SELECT, Keyword::WITH, Keyword::VALUES])?;
    (0..at + 2).for_each(|_| parser.advance_token());
    Some((op, is_all))
}

/// The operator of a comparison with ANY, SOME or ALL and `(VALUES ...)` behind it, and whether it
/// is ALL; the words are read.
fn compared_with_values(parser: &mut Parser) -> Option<(BinaryOperator, bool)> {
    let op = match &parser.peek_token_ref().token {
        Token::Eq => BinaryOperator::Eq,
        Token::Neq => BinaryOperator::NotEq,
        Token::Lt => BinaryOperator::Lt,
        Token::LtEq => BinaryOperator::LtEq,
        Token::Gt => BinaryOperator::Gt,
        Token::GtEq => BinaryOperator::GtEq,
        _ => return None,
    };
    let is_all = quantifier(parser, 1, &[Keyword::VALUES])?;
    (0..2).for_each(|_| parser.advance_token());
    Some((op, is_all))
}

/// A comparison with each row of a subquery, which stands next.
fn quantified(parser: &mut Parser, expr: &Expr, compare_op: BinaryOperator, is_all: bool) -> Result<Expr, ParserError> {
    parser.expect_token(&Token::LParen)?;
    let right = Box::new(Expr::Subquery(parser.parse_query()?));
    parser.expect_token(&Token::RParen)?;
    let left = Box::new(expr.clone());
    Ok(match is_all {
        true => Expr::AllOp { left, compare_op, right },
        false => Expr::AnyOp { left, compare_op, right, is_some: false },
    })
}

/// `IN ((SELECT ...), x)`, which the parser takes for a subquery; one alone in parentheses is that.
fn in_list_of_queries(parser: &mut Parser, expr: &Expr) -> Option<Expr> {
    let token = |place: usize| &parser.peek_nth_token_ref(place).token;
    let is_word = |place: usize, keyword: Keyword| is_keyword(parser, place, keyword);
    let negated = is_word(0, Keyword::NOT);
    let at = usize::from(negated);
    let begins_with_query = is_word(at, Keyword::IN)
        && *token(at + 1) == Token::LParen
        && *token(at + 2) == Token::LParen
        && (is_word(at + 3, Keyword::SELECT) || is_word(at + 3, Keyword::WITH));
    if !begins_with_query {
        return None;
    }
    let list = parser.maybe_parse(|parser| {
        (0..at + 2).for_each(|_| parser.advance_token());
        let list = parser.parse_comma_separated(Parser::parse_expr)?;
        parser.expect_token(&Token::RParen)?;
        match list.as_slice() {
            [Expr::Subquery(_) | Expr::Nested(_)] => parser.expected("several values", parser.peek_token()),
            _ => Ok(list),
        }
    });
    let list = list.ok()??;
    Some(Expr::InList { expr: Box::new(expr.clone()), list, negated })
}

fn is_not_exists(parser: &Parser) -> bool {
    is_keyword(parser, 0, Keyword::NOT) && is_keyword(parser, 1, Keyword::EXISTS)
}

fn is_keyword(parser: &Parser, place: usize, keyword: Keyword) -> bool {
    matches!(&parser.peek_nth_token_ref(place).token, Token::Word(word) if word.keyword == keyword)
}

fn explains_parentheses(parser: &Parser) -> bool {
    let is_open = |place| parser.peek_nth_token_ref(place).token == Token::LParen;
    let begins_query = || [Keyword::SELECT, Keyword::VALUES, Keyword::WITH, Keyword::TABLE].into_iter();
    is_keyword(parser, 0, Keyword::EXPLAIN)
        && is_open(1)
        && (is_open(2) || begins_query().any(|keyword| is_keyword(parser, 2, keyword)))
}

/// Methods that answer as the parser's dialect does.
macro_rules! as_the_parser_has_it {
    ($($method:ident($($argument:ident: $type:ty),*) -> $answer:ty;)+) => {
        $(fn $method(&self $(, $argument: $type)*) -> $answer {
            PARSER.$method($($argument),*)
        })+
    };
}

impl Dialect for PostgresDialect {
    fn supports_named_fn_args_with_expr_name(&self) -> bool {
        false
    }

    /// `a JOIN b JOIN c ON .. ON ..`: the second join is the right side of the first.
    fn supports_left_associative_joins_without_parens(&self) -> bool {
        !self.nests_joins
    }

    fn parse_prefix(&self, parser: &mut Parser) -> Option<Result<Expr, ParserError>> {
        self.left.set(self.left.get().saturating_sub(1));
        if self.is_exhausted() {
            return Some(Err(ParserError::RecursionLimitExceeded));
        }
        // The parser takes it for one word, which binds more than what follows: NOT binds less.
        if is_not_exists(parser) {
            parser.advance_token();
            let negated = parser.parse_subexpr(PARSER.prec_value(Precedence::UnaryNot));
            return Some(negated.map(|expr| Expr::UnaryOp { op: UnaryOperator::Not, expr: Box::new(expr) }));
        }
        is_values_query(parser).then(|| {
            parser.advance_token();
            let query = parser.parse_query()?;
            parser.expect_token(&Token::RParen)?;
            Ok(Expr::Subquery(query))
        })
    }

    /// EXPLAIN of a query in parentheses, which the parser would take for options.
    fn parse_statement(&self, parser: &mut Parser) -> Option<Result<Statement, ParserError>> {
        explains_parentheses(parser).then(|| {
            parser.advance_token();
            let statement = Box::new(parser.parse_statement()?);
            Ok(Statement::Explain {
                describe_alias: DescribeAlias::Explain,
                analyze: false,
                verbose: false,
                query_plan: false,
                estimate: false,
                statement,
                format: None,
                options: None,
            })
        })
    }

    fn get_next_precedence(&self, parser: &Parser) -> Option<Result<u8, ParserError>> {
        if is_null_test(parser) {
            return Some(Ok(PARSER.prec_value(Precedence::Is)));
        }
        // The parser has them at the place of `=`.
        match MATCHES.contains(&parser.peek_token_ref().token) {
            true => Some(Ok(PARSER.prec_value(Precedence::PgOther))),
            false => PARSER.get_next_precedence(parser),
        }
    }

    /// What the parser does not have: `x ISNULL`, `BETWEEN SYMMETRIC`, `COLLATE` behind more than a
    /// name or a value, `LIKE ALL` of a subquery, `= ANY` of VALUES, and `IN` a list that begins
    /// with a subquery.
    fn parse_infix(&self, parser: &mut Parser, expr: &Expr, precedence: u8) -> Option<Result<Expr, ParserError>> {
        if is_chained(parser, expr, precedence) {
            return Some(parser.expected_ref("an operator that binds less", parser.peek_token_ref()));
        }
        if let Some((negated, symmetric)) = between(parser) {
            return Some(self.bounds(parser, expr, negated, symmetric));
        }
        if let Some((compare_op, is_all)) = like_each(parser).or_else(|| compared_with_values(parser)) {
            return Some(quantified(parser, expr, compare_op, is_all));
        }
        if let Some(in_list) = in_list_of_queries(parser, expr) {
            return Some(Ok(in_list));
        }
        if parser.parse_keyword(Keyword::COLLATE) {
            let collation = parser.parse_object_name(false);
            return Some(collation.map(|collation| Expr::Collate { expr: Box::new(expr.clone()), collation }));
        }
        is_null_test(parser).then(|| {
            parser.advance_token();
            Ok(Expr::IsNull(Box::new(expr.clone())))
        })
    }

    fn is_reserved_for_identifier(&self, keyword: Keyword) -> bool {
        let is_reserved = matches!(keyword, Keyword::ARRAY | Keyword::CASE | Keyword::CAST | Keyword::NOT);
        is_reserved || PARSER.is_reserved_for_identifier(keyword)
    }

    /// The parser has one list of reserved words for all dialects; `ON CONFLICT` may stand behind a
    /// select list.
    fn is_column_alias(&self, keyword: &Keyword, parser: &mut Parser) -> bool {
        *keyword != Keyword::ON && (FREE_LABELS.contains(keyword) || PARSER.is_column_alias(keyword, parser))
    }

    fn is_table_alias(&self, keyword: &Keyword, parser: &mut Parser) -> bool {
        FREE_ALIASES.contains(keyword) || PARSER.is_table_alias(keyword, parser)
    }

    fn dialect(&self) -> TypeId {
        PARSER.dialect()
    }

    as_the_parser_has_it! {
        allow_extract_custom() -> bool;
        allow_extract_single_quotes() -> bool;
        identifier_quote_style(identifier: &str) -> Option<char>;
        is_custom_operator_part(letter: char) -> bool;
        is_delimited_identifier_start(letter: char) -> bool;
        is_identifier_part(letter: char) -> bool;
        is_identifier_start(letter: char) -> bool;
        prec_value(precedence: Precedence) -> u8;
        supports_alter_column_type_using() -> bool;
        supports_array_typedef_with_brackets() -> bool;
        supports_bitwise_shift_operators() -> bool;
        supports_comma_separated_trim() -> bool;
        supports_comment_on() -> bool;
        supports_comment_optimizer_hint() -> bool;
        supports_create_index_with_clause() -> bool;
        supports_create_table_like_parenthesized() -> bool;
        supports_empty_projections() -> bool;
        supports_explain_with_utility_options() -> bool;
        supports_factorial_operator() -> bool;
        supports_filter_during_aggregation() -> bool;
        supports_geometric_types() -> bool;
        supports_group_by_expr() -> bool;
        supports_insert_table_alias() -> bool;
        supports_interval_options() -> bool;
        supports_listen_notify() -> bool;
        supports_load_extension() -> bool;
        supports_named_fn_args_with_colon_operator() -> bool;
        supports_nested_comments() -> bool;
        supports_notnull_operator() -> bool;
        supports_numeric_literal_underscores() -> bool;
        supports_select_wildcard_with_alias() -> bool;
        supports_set_names() -> bool;
        supports_string_escape_constant() -> bool;
        supports_unicode_string_literal() -> bool;
        supports_xml_expressions() -> bool;
    }
}
