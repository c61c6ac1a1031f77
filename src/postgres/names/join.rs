//! Joins. USING and NATURAL become ON, and the columns that they merge expressions, so that nothing
//! is left to be guessed by name.

use std::rc::Rc;

use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, JoinConstraint,
    JoinOperator, ObjectName, Query, SetExpr, TableWithJoins, Value,
};
use datafusion::sql::sqlparser::tokenizer::Span;

use super::column::{Column, Output, Pick, Place, fold, pick, quoted, unique};
use super::error::{NameError, Result, SqlState};
use super::order::Item;
use super::placement::{Clause, is_coalesce};
use super::scope::{Frame, Level, Resolver, Source, parts};
use super::select::written;
use crate::syntax::{plain_call, plain_query, plain_select};

/// Which side of a join keeps all its rows, which says where a merged column comes from.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Kept {
    LeftOrNone,
    Right,
    Both,
}

impl Resolver<'_> {
    /// An item of FROM with what is joined to it.
    pub(super) fn joined(
        &mut self,
        item: &mut TableWithJoins,
        before: &Frame,
        taken: &mut Vec<Rc<Source>>,
    ) -> Result<Frame> {
        let before_left = self.recursive_references().count();
        let mut left = self.factor(&mut item.relation, before, taken)?;
        for join in &mut item.joins {
            let mut to_the_left = before.clone();
            to_the_left.append(left.clone());
            let before_right = self.recursive_references().count();
            let right = self.factor(&mut join.relation, &to_the_left, taken)?;
            let (left_lacks, right_lacks) = lacking_sides(&join.join_operator);
            let left_recurs = before_left < before_right;
            let right_recurs = before_right < self.recursive_references().count();
            if (left_lacks && left_recurs || right_lacks && right_recurs)
                && let Some(name) = self.recursive_references().last()
            {
                let message = format!("recursive reference to query \"{name}\" must not appear within an outer join");
                return Err(NameError::new(SqlState::INVALID_RECURSION, message).at_node(&join.relation));
            }
            left = self.join(&mut join.join_operator, left, right, before)?;
        }
        Ok(left)
    }

    /// The queries that have been named in their own definitions.
    fn recursive_references(&self) -> impl Iterator<Item = &str> {
        self.ctes.iter().filter(|cte| cte.recursive.is_some() && cte.named).map(|cte| cte.name.as_str())
    }

    fn join(&mut self, operator: &mut JoinOperator, mut left: Frame, right: Frame, before: &Frame) -> Result<Frame> {
        let (left_lacks, right_lacks) = lacking_sides(operator);
        let (kept, constraint) = match operator {
            JoinOperator::Join(constraint)
            | JoinOperator::Inner(constraint)
            | JoinOperator::Left(constraint)
            | JoinOperator::LeftOuter(constraint) => (Kept::LeftOrNone, constraint),
            JoinOperator::Right(constraint) | JoinOperator::RightOuter(constraint) => (Kept::Right, constraint),
            JoinOperator::FullOuter(constraint) => (Kept::Both, constraint),
            JoinOperator::CrossJoin(JoinConstraint::None) => {
                left.append(right);
                return Ok(left);
            }
            _ => return Err(NameError::unsupported("joins are INNER, LEFT, RIGHT, FULL and CROSS JOIN")),
        };
        let names = match constraint {
            JoinConstraint::On(condition) => {
                let lacking: Vec<Rc<Source>> = lacking(&left, left_lacks).chain(lacking(&right, right_lacks)).collect();
                left.append(right);
                let level = Level { frame: left.clone(), out_of_reach: before.sources.clone(), ..Level::default() };
                self.in_clause(Clause::Join, |resolver| resolver.within(level, |resolver| resolver.expr(condition)))?;
                lacking.iter().for_each(|source| source.outer.set(true));
                return Ok(left);
            }
            JoinConstraint::Using(names) => names.iter().map(single).collect::<Result<Vec<Ident>>>()?,
            JoinConstraint::Natural => common(&left, &right),
            JoinConstraint::None => return Err(NameError::new(SqlState::SYNTAX_ERROR, "a join without ON or USING")),
        };
        lacking(&left, left_lacks).chain(lacking(&right, right_lacks)).for_each(|source| source.outer.set(true));
        let (condition, frame) = merge(&names, left, right, kept)?;
        // NATURAL without a common column joins every row with every other.
        let all = || Expr::Value(Value::Boolean(true).with_span(Span::empty()));
        *constraint = JoinConstraint::On(condition.unwrap_or_else(all));
        Ok(frame)
    }
}

/// Whether a join may have no row of its left side, and of its right.
fn lacking_sides(operator: &JoinOperator) -> (bool, bool) {
    match operator {
        JoinOperator::Left(_) | JoinOperator::LeftOuter(_) => (false, true),
        JoinOperator::Right(_) | JoinOperator::RightOuter(_) => (true, false),
        JoinOperator::FullOuter(_) => (true, true),
        _ => (false, false),
    }
}

/// The items of which an outer join may have no row.
fn lacking(frame: &Frame, lacks: bool) -> impl Iterator<Item = Rc<Source>> {
    frame.sources.iter().filter(move |_| lacks).cloned()
}

fn single(name: &ObjectName) -> Result<Ident> {
    match parts(name)?.as_slice() {
        [ident] => Ok(ident.clone()),
        _ => {
            Err(NameError::new(SqlState::SYNTAX_ERROR, format!("a column in USING has no qualifier: {name}"))
                .at_node(name))
        }
    }
}

/// What NATURAL joins by: the columns of exactly one name.
fn common(left: &Frame, right: &Frame) -> Vec<Ident> {
    let in_right = |column: &&Rc<Column>| {
        right.columns.iter().any(|other| other.name == column.name && !other.system) && !column.system
    };
    left.columns.iter().filter(in_right).map(|column| quoted(&column.name, Span::empty())).collect()
}

/// The condition that USING stands for, and the columns after it: merged ones, the others of the
/// left, those of the right.
fn merge(names: &[Ident], left: Frame, right: Frame, kept: Kept) -> Result<(Option<Expr>, Frame)> {
    let mut condition: Option<Expr> = None;
    let mut merged: Vec<Rc<Column>> = Vec::with_capacity(names.len());
    let (mut from_left, mut from_right) = (left.columns, right.columns);
    for name in names {
        if merged.iter().any(|column| *column.name == *name.value) {
            let message = format!("column name \"{}\" appears more than once in USING clause", fold(name));
            return Err(NameError::new(SqlState::DUPLICATE_COLUMN, message).at(name));
        }
        let one = take(&mut from_left, name, "left")?;
        let other = take(&mut from_right, name, "right")?;
        let equal = Expr::BinaryOp {
            left: Box::new(one.expr(name.span)),
            op: BinaryOperator::Eq,
            right: Box::new(other.expr(name.span)),
        };
        condition = Some(match condition {
            None => equal,
            Some(before) => Expr::BinaryOp { left: Box::new(before), op: BinaryOperator::And, right: Box::new(equal) },
        });
        merged.push(match kept {
            Kept::LeftOrNone => one,
            Kept::Right => Rc::new(Column {
                name: one.name.clone(),
                place: match &other.place {
                    Place::Source { alias, name } => Place::Source { alias: Rc::clone(alias), name: name.clone() },
                    Place::Computed(expr) => Place::Computed(expr.clone()),
                },
                origin: other.origin.clone(),
                system: false,
            }),
            Kept::Both => Rc::new(Column {
                name: one.name.clone(),
                place: Place::Computed(Box::new(coalesce(&one, &other, name.span))),
                origin: None,
                system: false,
            }),
        });
    }
    let columns = merged.into_iter().chain(from_left).chain(from_right).collect();
    let sources = left.sources.into_iter().chain(right.sources).collect();
    Ok((condition, Frame { sources, columns }))
}

/// Takes the column of a name in USING out of one side.
fn take(columns: &mut Vec<Rc<Column>>, name: &Ident, side: &str) -> Result<Rc<Column>> {
    match pick(name, columns.iter().enumerate(), |(_, column)| &column.name) {
        Pick::One((index, _)) => Ok(columns.remove(index)),
        Pick::Several(_) => {
            let message = format!("common column name \"{}\" appears more than once in {side} table", fold(name));
            Err(NameError::new(SqlState::AMBIGUOUS_COLUMN, message).at(name))
        }
        Pick::None => {
            let message = format!("column \"{}\" specified in USING clause does not exist in {side} table", fold(name));
            Err(NameError::new(SqlState::UNDEFINED_COLUMN, message).at(name))
        }
    }
}

/// A column that FULL JOIN has merged before gets one more argument: nested calls take time to plan
/// that doubles with each.
fn coalesce(left: &Column, right: &Column, span: Span) -> Expr {
    let mut arguments = Vec::new();
    for column in [left, right] {
        match &column.place {
            Place::Computed(expr) => match expr.as_ref() {
                Expr::Function(call @ Function { args: FunctionArguments::List(list), .. }) if is_coalesce(call) => {
                    arguments.extend(list.args.iter().filter_map(|argument| match argument {
                        FunctionArg::Unnamed(FunctionArgExpr::Expr(argument)) => Some(argument.clone()),
                        _ => None,
                    }));
                }
                other => arguments.push(other.clone()),
            },
            Place::Source { .. } => arguments.push(column.expr(span)),
        }
    }
    plain_call(ObjectName::from(vec![Ident::new("coalesce")]), arguments)
}

/// A resolved join as a query of all its columns.
pub(super) fn as_query(tables: TableWithJoins, frame: &Frame) -> (Query, Vec<Output>) {
    let columns: Vec<&Rc<Column>> = frame.columns.iter().filter(|column| !column.system).collect();
    let labels: Vec<Rc<str>> = columns.iter().map(|column| column.name.clone()).collect();
    let names = unique(&labels);
    let items = columns.into_iter().zip(labels.into_iter().zip(names)).map(|(column, (label, name))| Item {
        expr: column.expr(Span::empty()),
        output: Output { label, name, origin: column.origin.clone() },
        computed: None,
    });
    let (projection, outputs) = items.map(written).unzip();
    (plain_query(SetExpr::Select(Box::new(plain_select(projection, vec![tables])))), outputs)
}
