//! Where aggregates, window functions and sets may stand.
//!
//! PostgreSQL looks at the place of a call as it reads it: which clause it is in, which call is
//! around it, and, of sets, which construct would take one.

use datafusion::sql::sqlparser::ast::{BinaryOperator, Expr, Function, Spanned, UnaryOperator};
use datafusion::sql::sqlparser::tokenizer::Span;

use super::column::fold;
use super::error::{NameError, Result, SqlState};

const HINT: &str = "You might be able to move the set-returning function into a LATERAL FROM item.";

/// A part of a statement with expressions in it.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) enum Clause {
    /// The select list, ORDER BY, DISTINCT ON: all may stand there.
    #[default]
    Rows,
    Where,
    Having,
    GroupBy,
    Join,
    FromFunction,
    Values,
    /// VALUES of an INSERT with one row, which is planned as a select list.
    OneRow,
    Limit,
    Offset,
    Returning,
    Update,
    MergeWhen,
    Filter,
    Windows,
}

impl Clause {
    /// PostgreSQL's name of it.
    fn name(self) -> &'static str {
        match self {
            Self::Rows => "SELECT",
            Self::Where => "WHERE",
            Self::Having => "HAVING",
            Self::GroupBy => "GROUP BY",
            Self::Join => "JOIN conditions",
            Self::FromFunction => "functions in FROM",
            Self::Values | Self::OneRow => "VALUES",
            Self::Limit => "LIMIT",
            Self::Offset => "OFFSET",
            Self::Returning => "RETURNING",
            Self::Update => "UPDATE",
            Self::MergeWhen => "MERGE WHEN conditions",
            Self::Filter => "FILTER",
            Self::Windows => "window definitions",
        }
    }

    fn takes_sets(self) -> bool {
        matches!(self, Self::Rows | Self::GroupBy | Self::OneRow | Self::Windows)
    }

    fn takes_windows(self) -> bool {
        self == Self::Rows
    }

    fn takes_aggregates(self) -> bool {
        matches!(self, Self::Rows | Self::Having | Self::Windows)
    }
}

/// A construct that takes no set for an operand.
#[derive(Debug, Clone, Copy, PartialEq)]
enum NoSet {
    /// One that evaluates some of its operands only.
    In(&'static str),
    /// One that wants a truth value.
    ArgumentOf(&'static str),
    Aggregate,
    Window,
}

/// The call around an expression.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Around {
    Aggregate,
    Window,
}

/// What an expression stands in.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Inside {
    clause: Clause,
    around: Option<Around>,
    no_set: Option<NoSet>,
}

impl Inside {
    pub(super) fn clause(clause: Clause) -> Self {
        Self { clause, ..Self::default() }
    }

    /// What the operands of an expression stand in.
    pub(super) fn of_operands(self, expr: &Expr) -> Self {
        let no_set = match expr {
            Expr::BinaryOp { op: BinaryOperator::And, .. } | Expr::Between { negated: false, .. } => {
                NoSet::ArgumentOf("AND")
            }
            Expr::BinaryOp { op: BinaryOperator::Or, .. } | Expr::Between { negated: true, .. } => {
                NoSet::ArgumentOf("OR")
            }
            Expr::UnaryOp { op: UnaryOperator::Not, .. } => NoSet::ArgumentOf("NOT"),
            Expr::IsTrue(_) => NoSet::ArgumentOf("IS TRUE"),
            Expr::IsNotTrue(_) => NoSet::ArgumentOf("IS NOT TRUE"),
            Expr::IsFalse(_) => NoSet::ArgumentOf("IS FALSE"),
            Expr::IsNotFalse(_) => NoSet::ArgumentOf("IS NOT FALSE"),
            Expr::IsUnknown(_) => NoSet::ArgumentOf("IS UNKNOWN"),
            Expr::IsNotUnknown(_) => NoSet::ArgumentOf("IS NOT UNKNOWN"),
            // One of a list is compared with it, several with an array of them.
            Expr::InList { list, .. } if list.len() == 1 => NoSet::ArgumentOf("IN"),
            Expr::Case { .. } => NoSet::In("CASE"),
            Expr::Function(function) if is_coalesce(function) => NoSet::In("COALESCE"),
            _ => return self,
        };
        Self { no_set: Some(no_set), ..self }
    }

    /// What the conditions of a CASE stand in.
    pub(super) fn of_conditions(self) -> Self {
        Self { no_set: Some(NoSet::ArgumentOf("CASE/WHEN")), ..self }
    }

    /// What the condition of a FILTER stands in.
    pub(super) fn of_filter() -> Self {
        Self::clause(Clause::Filter)
    }

    /// What the keys of a window stand in.
    pub(super) fn of_window() -> Self {
        Self::clause(Clause::Windows)
    }
}

pub(super) fn is_coalesce(function: &Function) -> bool {
    function.name.0.last().and_then(|part| part.as_ident()).is_some_and(|name| fold(name) == "coalesce")
}

/// The expressions of which one consists, and what they stand in.
pub(super) struct Parts<'e> {
    pub exprs: Vec<(&'e mut Expr, Inside)>,
    /// Of those that are added.
    pub inside: Inside,
}

impl<'e> Parts<'e> {
    pub(super) fn new(inside: Inside) -> Self {
        Self { exprs: Vec::new(), inside }
    }

    pub(super) fn push(&mut self, expr: &'e mut Expr) {
        self.exprs.push((expr, self.inside));
    }

    pub(super) fn extend(&mut self, exprs: impl IntoIterator<Item = &'e mut Expr>) {
        exprs.into_iter().for_each(|expr| self.push(expr));
    }
}

/// What is asked of the name of a function.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Called {
    Aggregate,
    Set,
    Other,
}

/// What the arguments of a call stand in, which are `operands` as those of any expression.
///
/// # Errors
/// PostgreSQL's for a call that has no place here.
pub(super) fn arguments_of(
    function: &Function,
    called: Called,
    inside: Inside,
    operands: Inside,
    in_subquery: bool,
) -> Result<Inside> {
    let at = function.name.span();
    if function.over.is_some() {
        refuse_window(inside, at)?;
        return Ok(Inside { around: Some(Around::Window), no_set: Some(NoSet::Window), ..inside });
    }
    match called {
        // One in a subquery may be the outer query's.
        Called::Aggregate if !in_subquery && !inside.clause.takes_aggregates() => {
            let message = format!("aggregate functions are not allowed in {}", inside.clause.name());
            Err(NameError::new(SqlState::GROUPING_ERROR, message).at_span(at))
        }
        Called::Aggregate => Ok(Inside { around: Some(Around::Aggregate), no_set: Some(NoSet::Aggregate), ..inside }),
        Called::Set => refuse_set(inside, at).map(|()| operands),
        Called::Other => Ok(operands),
    }
}

fn refuse_window(inside: Inside, at: Span) -> Result<()> {
    let refused = match inside {
        Inside { clause, .. } if !clause.takes_windows() => {
            let message = format!("window functions are not allowed in {}", clause.name());
            NameError::new(SqlState::WINDOWING_ERROR, message)
        }
        Inside { around: Some(Around::Aggregate), .. } => {
            let message = "aggregate function calls cannot contain window function calls";
            NameError::new(SqlState::GROUPING_ERROR, message)
        }
        Inside { around: Some(Around::Window), .. } => {
            NameError::new(SqlState::WINDOWING_ERROR, "window function calls cannot be nested")
        }
        Inside { around: None, .. } => return Ok(()),
    };
    Err(refused.at_span(at))
}

fn refuse_set(inside: Inside, at: Span) -> Result<()> {
    let refused = match (inside.clause, inside.no_set) {
        (Clause::FromFunction, None | Some(NoSet::In(_))) => {
            NameError::unsupported("set-returning functions must appear at top level of FROM")
        }
        (clause, _) if !clause.takes_sets() && clause != Clause::FromFunction => {
            NameError::unsupported(format!("set-returning functions are not allowed in {}", clause.name()))
        }
        (_, None) => return Ok(()),
        (_, Some(NoSet::In(construct))) => {
            NameError::unsupported(format!("set-returning functions are not allowed in {construct}")).with_hint(HINT)
        }
        (_, Some(NoSet::ArgumentOf(construct))) => {
            let message = format!("argument of {construct} must not return a set");
            NameError::new(SqlState::DATATYPE_MISMATCH, message)
        }
        (_, Some(NoSet::Aggregate)) => {
            NameError::unsupported("aggregate function calls cannot contain set-returning function calls")
                .with_hint(HINT)
        }
        (_, Some(NoSet::Window)) => {
            NameError::unsupported("window function calls cannot contain set-returning function calls").with_hint(HINT)
        }
    };
    Err(refused.at_span(at))
}
