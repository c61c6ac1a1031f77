//! From words to a tree.

use rowkey_model::Value;

use super::comparison::Operator;
use super::error::FilterError;
use super::lexer::{Lexer, Token, TokenKind};

/// Most parentheses and `not` within each other; each takes some stack.
const DEPTH_MAX: usize = 200;
/// Most comparisons. The service documents 15 and takes more; this bounds the work of each entity.
const COMPARISONS_MAX: usize = 10_000;

/// What a filter says.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Expression {
    Constant(bool),
    /// A property alone: whether it is the Boolean true.
    IsTrue(String),
    Comparison {
        property: String,
        operator: Operator,
        literal: Value,
    },
    Not(Box<Expression>),
    All(Vec<Expression>),
    Any(Vec<Expression>),
}

/// Reads a filter. The empty one holds for everything.
pub(super) fn parse(text: &str) -> Result<Expression, FilterError> {
    let mut lexer = Lexer::new(text);
    let token = lexer.next()?;
    let mut parser = Parser { lexer, token, depth: 0, comparisons: 0 };
    if parser.token.kind == TokenKind::End {
        return Ok(Expression::Constant(true));
    }
    let expression = parser.any()?;
    match parser.token.kind {
        TokenKind::End => Ok(expression),
        TokenKind::Word(word) if is_foreign_operator(word) => Err(FilterError::NotImplemented),
        _ => Err(parser.unexpected()),
    }
}

struct Parser<'a> {
    lexer: Lexer<'a>,
    token: Token<'a>,
    depth: usize,
    comparisons: usize,
}

/// What stands on a side of a comparison.
enum Operand<'a> {
    Property(&'a str),
    Literal(Value),
    Null,
}

impl<'a> Parser<'a> {
    /// The word at hand, and on to the next one.
    fn advance(&mut self) -> Result<Token<'a>, FilterError> {
        let next = self.lexer.next()?;
        Ok(std::mem::replace(&mut self.token, next))
    }

    fn unexpected(&self) -> FilterError {
        self.lexer.syntax(self.token.end)
    }

    fn eat_word(&mut self, word: &str) -> Result<bool, FilterError> {
        let is_it = self.token.kind == TokenKind::Word(word);
        if is_it {
            self.advance()?;
        }
        Ok(is_it)
    }

    /// `a or b or c`.
    fn any(&mut self) -> Result<Expression, FilterError> {
        let mut parts = vec![self.all()?];
        while self.eat_word("or")? {
            parts.push(self.all()?);
        }
        Ok(joined(parts, Expression::Any))
    }

    /// `a and b and c`.
    fn all(&mut self) -> Result<Expression, FilterError> {
        let mut parts = vec![self.unary()?];
        while self.eat_word("and")? {
            parts.push(self.unary()?);
        }
        Ok(joined(parts, Expression::All))
    }

    /// `not` binds weaker than a comparison: `not a eq 1` is `not (a eq 1)` (unconfirmed).
    fn unary(&mut self) -> Result<Expression, FilterError> {
        if self.token.kind == TokenKind::Open {
            self.advance()?;
            let inner = self.deeper(Self::any)?;
            if self.token.kind != TokenKind::Close {
                return Err(self.foreign_or_unexpected());
            }
            self.advance()?;
            return Ok(inner);
        }
        if self.eat_word("not")? {
            return Ok(Expression::Not(Box::new(self.deeper(Self::unary)?)));
        }
        self.comparison()
    }

    fn deeper(&mut self, read: fn(&mut Self) -> Result<Expression, FilterError>) -> Result<Expression, FilterError> {
        if self.depth == DEPTH_MAX {
            return Err(FilterError::TooLarge { what: "parentheses within each other", limit: DEPTH_MAX });
        }
        self.depth += 1;
        let read = read(self);
        self.depth -= 1;
        read
    }

    fn comparison(&mut self) -> Result<Expression, FilterError> {
        self.comparisons += 1;
        if self.comparisons > COMPARISONS_MAX {
            return Err(FilterError::TooLarge { what: "comparisons", limit: COMPARISONS_MAX });
        }
        let left = self.operand()?;
        let operator = match self.token.kind {
            TokenKind::Word(word) if is_foreign_operator(word) => return Err(FilterError::NotImplemented),
            TokenKind::Word(word) => Operator::parse(word),
            _ => None,
        };
        let Some(operator) = operator else { return self.alone(left) };
        self.advance()?;
        let right = self.operand()?;
        // `a eq b add 1`
        if matches!(self.token.kind, TokenKind::Word(word) if is_foreign_operator(word)) {
            return Err(FilterError::NotImplemented);
        }
        let (property, operator, literal) = match (left, right) {
            (Operand::Null, _) | (_, Operand::Null) => {
                return Err(operator.name_of_order().map_or(FilterError::Null, FilterError::NullOrder));
            }
            (Operand::Property(property), Operand::Literal(literal)) => (property, operator, literal),
            // The other way round is unconfirmed; it means the same mirrored.
            (Operand::Literal(literal), Operand::Property(property)) => (property, operator.mirrored(), literal),
            (Operand::Property(_), Operand::Property(_)) | (Operand::Literal(_), Operand::Literal(_)) => {
                return Err(FilterError::NotImplemented);
            }
        };
        Ok(Expression::Comparison { property: property.to_owned(), operator, literal })
    }

    /// An operand without an operator behind it.
    fn alone(&self, operand: Operand<'_>) -> Result<Expression, FilterError> {
        match operand {
            Operand::Property(property) => Ok(Expression::IsTrue(property.to_owned())),
            Operand::Literal(Value::Boolean(value)) => Ok(Expression::Constant(value)),
            Operand::Literal(_) | Operand::Null => Err(self.unexpected()),
        }
    }

    fn operand(&mut self) -> Result<Operand<'a>, FilterError> {
        match &self.token.kind {
            TokenKind::Word("and" | "or" | "not") => Err(self.unexpected()),
            TokenKind::Word(_) | TokenKind::Literal(_) | TokenKind::Null => {
                let operand = self.advance()?.kind;
                match operand {
                    // A function's.
                    TokenKind::Word(_) if self.token.kind == TokenKind::Open => Err(FilterError::NotImplemented),
                    TokenKind::Word(word) => Ok(Operand::Property(word)),
                    TokenKind::Literal(literal) => Ok(Operand::Literal(literal)),
                    _ => Ok(Operand::Null),
                }
            }
            _ => Err(self.unexpected()),
        }
    }

    fn foreign_or_unexpected(&self) -> FilterError {
        match self.token.kind {
            TokenKind::Word(word) if is_foreign_operator(word) => FilterError::NotImplemented,
            _ => self.unexpected(),
        }
    }
}

/// Operators of OData that the service does not have.
fn is_foreign_operator(word: &str) -> bool {
    matches!(word, "add" | "sub" | "mul" | "div" | "mod" | "in" | "has")
}

/// The only part, or all of them together.
fn joined(mut parts: Vec<Expression>, together: fn(Vec<Expression>) -> Expression) -> Expression {
    match parts.len() {
        1 => parts.remove(0),
        _ => together(parts),
    }
}
