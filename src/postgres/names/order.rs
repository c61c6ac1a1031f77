//! Terms of ORDER BY, GROUP BY and DISTINCT ON, which may mean output columns.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::rc::Rc;

use datafusion::sql::sqlparser::ast::{
    Expr, GroupByExpr, Ident, OrderBy, OrderByExpr, OrderByKind, OrderByOptions, SelectItem, UnaryOperator, Value,
};
use datafusion::sql::sqlparser::tokenizer::Span;

use super::column::{Output, Pick, fold, is_exact, numbered, pick, quoted};
use super::error::{NameError, Result, SqlState, refuse};
use super::function::keyword_call;
use super::grouping_sets;
use super::scope::{Resolver, it_may_be, unwrapped};
use crate::plan_size::{SORT_KEYS, excess_width};
use crate::syntax::visit_expressions;

/// Most operators one behind the other in an expression that is looked for in the select list.
const LENGTH_MAX: usize = 100;

/// Begins the names of columns that ORDER BY alone names.
const ORDER_BY: &str = "__order_by_";

/// An item of a select list, resolved.
#[derive(Debug)]
pub(super) struct Item {
    pub expr: Expr,
    pub output: Output,
    /// None: of the rows of FROM.
    pub computed: Option<Computed>,
}

/// What an item calls that knows more than one row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Computed {
    ByAggregate,
    ByWindow,
}

impl Computed {
    /// What an item has called, by the numbers of aggregates and of windows before and after.
    pub(super) fn between(before: (usize, usize), after: (usize, usize)) -> Option<Self> {
        match (after.0 > before.0, after.1 > before.1) {
            (true, _) => Some(Self::ByAggregate),
            (false, true) => Some(Self::ByWindow),
            (false, false) => None,
        }
    }

    /// # Errors
    /// PostgreSQL's: rows are grouped before it is computed.
    fn refuse_in_group_by(self, term: &Expr) -> Result<()> {
        let (sqlstate, what) = match self {
            Self::ByAggregate => (SqlState::GROUPING_ERROR, "aggregate"),
            Self::ByWindow => (SqlState::WINDOWING_ERROR, "window"),
        };
        Err(NameError::new(sqlstate, format!("{what} functions are not allowed in GROUP BY")).at_node(term))
    }
}

impl Item {
    /// Whether it is a column under its own name.
    pub(super) fn is_named(&self) -> bool {
        matches!(&self.expr, Expr::CompoundIdentifier(parts) if parts.last().is_some_and(|last| *last.value == *self.output.name))
    }
}

/// How a term that means an output column is written.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum As {
    /// By its position, which no column of the input can take from it.
    Position,
    /// By its expression, where the planner knows no positions.
    Expression,
}

/// Puts the terms of DISTINCT ON in the order in which ORDER BY begins with them, as the planner
/// wants them; those that it does not name come after its own.
///
/// # Errors
/// `INVALID_COLUMN_REFERENCE`: ORDER BY names something else before it has named all of them.
pub(super) fn distinct_in_order(distinct_on: &mut Vec<Expr>, order_by: &mut OrderBy) -> Result<()> {
    let OrderByKind::Expressions(order) = &mut order_by.kind else { return Ok(()) };
    let mut left = std::mem::take(distinct_on);
    let mut leading: Vec<OrderByExpr> = Vec::with_capacity(order.len());
    let mut others = Vec::new();
    for term in order.drain(..) {
        // A second time it orders nothing.
        if leading.iter().any(|known| known.expr == term.expr) {
            continue;
        }
        match left.iter().position(|distinct| *distinct == term.expr) {
            Some(_) if others.is_empty() => {
                left.retain(|distinct| *distinct != term.expr);
                leading.push(term);
            }
            _ => others.push(term),
        }
    }
    if let Some(unnamed) = left.first()
        && !others.is_empty()
    {
        let message = "SELECT DISTINCT ON expressions must match initial ORDER BY expressions";
        return Err(NameError::new(SqlState::INVALID_COLUMN_REFERENCE, message).at_node(unnamed));
    }
    let options = OrderByOptions { asc: None, nulls_first: None };
    leading.extend(left.into_iter().map(|expr| OrderByExpr { expr, options, with_fill: None }));
    distinct_on.extend(leading.iter().map(|term| term.expr.clone()));
    order.append(&mut leading);
    order.append(&mut others);
    Ok(())
}

impl Resolver<'_> {
    /// ORDER BY of a SELECT: an output name first, alone; inside expressions names are of the
    /// input.
    pub(super) fn order_by(&mut self, order_by: &mut OrderBy, items: &[Item], written: As) -> Result<()> {
        let terms = terms(order_by)?;
        refuse(excess_width(terms.len(), SORT_KEYS))?;
        for term in terms {
            self.output_term(&mut term.expr, items, written, "ORDER BY")?;
        }
        Ok(())
    }

    /// Columns that ORDER BY alone names stand beside the select list in the plan: an item that has
    /// the name of one gets another there.
    pub(super) fn keep_apart(&mut self, items: &mut [Item], order_by: &OrderBy) {
        let mut columns = HashSet::new();
        let _: ControlFlow<()> = visit_expressions(order_by, |expr| {
            if let Expr::CompoundIdentifier(parts) = expr
                && let Some(column) = parts.last()
            {
                columns.insert(column.value.clone());
            }
            ControlFlow::Continue(())
        });
        for place in 0..items.len() {
            let name = Rc::clone(&items[place].output.name);
            let is_column = items[place].is_named() && !self.is_outer(&items[place].expr);
            if !columns.contains(&*name) || is_column {
                continue;
            }
            let free = |name: &str| {
                !columns.contains(name)
                    && !self.labels.contains_key(name)
                    && items.iter().all(|item| *item.output.name != *name && *item.output.label != *name)
            };
            let other = numbered(&name, free);
            self.labels.insert(other.clone(), Rc::clone(&items[place].output.label));
            items[place].output.name = other.into();
        }
    }

    /// Items for the terms of ORDER BY that are none of a select list with sets: the planner sorts
    /// what it has unnested, which has the columns of the select list alone.
    pub(super) fn order_beside_sets(&self, items: &[Item], order_by: &mut OrderBy) -> Vec<SelectItem> {
        let OrderByKind::Expressions(terms) = &mut order_by.kind else { return Vec::new() };
        if !self.levels.last().is_some_and(|level| level.returns_sets) {
            return Vec::new();
        }
        let mut added = Vec::new();
        for term in terms.iter_mut().filter(|term| !matches!(term.expr, Expr::Value(_))) {
            let position = items.len() + added.len();
            let name =
                numbered(&format!("{ORDER_BY}{position}"), |name| items.iter().all(|item| *item.output.name != *name));
            let expr = std::mem::replace(&mut term.expr, number(position));
            added.push(SelectItem::ExprWithAlias { expr, alias: quoted(&name, Span::empty()) });
        }
        added
    }

    /// The label of a column that has another name in the plan.
    pub(super) fn label_of(&self, name: String) -> Rc<str> {
        self.labels.get(&name).cloned().unwrap_or_else(|| name.into())
    }

    /// A term of ORDER BY or DISTINCT ON.
    pub(super) fn output_term(&mut self, expr: &mut Expr, items: &[Item], written: As, clause: &str) -> Result<()> {
        match position_of(expr, items.iter().map(|item| &*item.output.label), clause)? {
            Some(position) => {
                write(expr, position, items, written);
                return Ok(());
            }
            None => {
                if let Some(ident) = bare(expr)
                    && let Some(position) = labelled(&ident, items, clause)?
                    && (is_exact(&ident, &items[position].output.label) || !self.is_exact_input(&ident))
                {
                    write(expr, position, items, written);
                    return Ok(());
                }
            }
        }
        self.expr(expr)?;
        if written == As::Position
            && !is_long(expr)
            && let Some(position) = items.iter().position(|item| unwrapped(&item.expr) == unwrapped(expr))
        {
            write(expr, position, items, written);
        }
        Ok(())
    }

    /// GROUP BY: a column of the input first, then an output name.
    pub(super) fn group_by(&mut self, group_by: &mut GroupByExpr, items: &[Item]) -> Result<()> {
        let terms = match group_by {
            GroupByExpr::Expressions(terms, modifiers) if modifiers.is_empty() => terms,
            GroupByExpr::Expressions(..) => return Err(NameError::unsupported("GROUP BY ... WITH is not supported")),
            GroupByExpr::All(_) => return Err(NameError::unsupported("GROUP BY ALL is not supported")),
        };
        // `GROUP BY ((a, b))` is `GROUP BY a, b`.
        let mut flat = Vec::with_capacity(terms.len());
        let mut open: Vec<Expr> = std::mem::take(terms).into_iter().rev().collect();
        while let Some(term) = open.pop() {
            match term {
                Expr::Tuple(parts) if parts.is_empty() => flat.push(Expr::GroupingSets(vec![Vec::new()])),
                Expr::Tuple(parts) => open.extend(parts.into_iter().rev()),
                Expr::Nested(inner) if matches!(unwrapped(&inner), Expr::Tuple(_)) => open.push(*inner),
                term => flat.push(term),
            }
        }
        *terms = flat;
        terms.iter_mut().try_for_each(grouping_sets::flatten)?;
        grouping_sets::refuse_many(terms)?;
        let is_set = |term: &Expr| matches!(term, Expr::GroupingSets(_) | Expr::Cube(_) | Expr::Rollup(_));
        let mut meant = terms.iter().any(is_set).then(Vec::new);
        for term in terms {
            match term {
                Expr::GroupingSets(sets) | Expr::Cube(sets) | Expr::Rollup(sets) => {
                    for term in sets.iter_mut().flatten() {
                        self.group_term(term, items, As::Expression, meant.as_mut())?;
                    }
                    grouping_sets::spell_out(term);
                }
                term => self.group_term(term, items, As::Position, meant.as_mut())?,
            }
        }
        if let Some(mut meant) = meant {
            meant.sort_unstable();
            meant.dedup();
            meant.retain(|item| !is_long(&items[*item].expr));
            refuse_equal_columns(&meant, items)?;
        }
        Ok(())
    }

    /// Adds the output column that the term means, if it is one, to those that are wanted.
    fn group_term(
        &mut self,
        expr: &mut Expr,
        items: &[Item],
        written: As,
        mut meant: Option<&mut Vec<usize>>,
    ) -> Result<()> {
        let each = |term: &mut Expr| self.group_term(term, items, written, meant.as_deref_mut());
        match expr {
            Expr::GroupingSets(sets) | Expr::Cube(sets) | Expr::Rollup(sets) => {
                return sets.iter_mut().flatten().try_for_each(each);
            }
            Expr::Tuple(terms) => return terms.iter_mut().try_for_each(each),
            _ => {}
        }
        let mut position = position_of(expr, items.iter().map(|item| &*item.output.label), "GROUP BY")?;
        if position.is_none()
            && let Some(ident) = bare(expr)
            && !self.is_input(&ident)
        {
            position = labelled(&ident, items, "GROUP BY")?;
        }
        if let Some(position) = position {
            if let Some(computed) = items[position].computed {
                computed.refuse_in_group_by(expr)?;
            }
            if let Some(meant) = meant {
                meant.push(position);
            }
            write(expr, position, items, written);
            return Ok(());
        }
        self.expr(expr)?;
        if let Some(meant) = meant
            && !is_long(expr)
        {
            meant.extend(items.iter().position(|item| unwrapped(&item.expr) == unwrapped(expr)));
        }
        Ok(())
    }

    /// Whether this query's own FROM has a column of exactly this name.
    fn is_exact_input(&self, ident: &Ident) -> bool {
        self.levels.last().is_some_and(|level| level.frame.columns.iter().any(|column| is_exact(ident, &column.name)))
    }

    /// Whether this query's own FROM has such a column, or several.
    fn is_input(&self, ident: &Ident) -> bool {
        self.levels
            .last()
            .is_some_and(|level| !matches!(pick(ident, level.frame.columns.iter(), |column| &column.name), Pick::None))
    }

    /// ORDER BY of a set operation knows the output columns only.
    pub(super) fn order_set_operation(&mut self, order_by: &mut OrderBy, outputs: &[Output]) -> Result<()> {
        for term in terms(order_by)? {
            if self.order_output(&mut term.expr, outputs)? {
                continue;
            }
            return match bare(&term.expr) {
                Some(ident) => {
                    let message = format!("column \"{}\" does not exist", fold(&ident));
                    Err(NameError::new(SqlState::UNDEFINED_COLUMN, message).at(&ident))
                }
                None => Err(NameError::unsupported("invalid UNION/INTERSECT/EXCEPT ORDER BY clause")
                    .with_hint("Add the expression/function to every SELECT, or move the UNION into a FROM clause.")
                    .at_node(&term.expr)),
            };
        }
        Ok(())
    }

    /// ORDER BY of VALUES; its columns are in scope.
    pub(super) fn order_rows(&mut self, order_by: &mut OrderBy, outputs: &[Output]) -> Result<()> {
        for term in terms(order_by)? {
            if !self.order_output(&mut term.expr, outputs)? {
                self.expr(&mut term.expr)?;
            }
        }
        Ok(())
    }

    fn order_output(&self, expr: &mut Expr, outputs: &[Output]) -> Result<bool> {
        if let Some(position) = position_of(expr, outputs.iter().map(|output| &*output.label), "ORDER BY")? {
            *expr = number(position);
            return Ok(true);
        }
        let Some(ident) = bare(expr) else { return Ok(false) };
        match pick(&ident, outputs.iter().enumerate(), |(_, output)| &output.label) {
            Pick::One((position, _)) => {
                *expr = number(position);
                Ok(true)
            }
            Pick::Several(names) => Err(ambiguous_output(&ident, &names, "ORDER BY")),
            Pick::None => Ok(false),
        }
    }
}

/// Two output columns of one expression are two terms of the sets: where one of them is left out,
/// the other keeps its values. Takes each item once.
///
/// # Errors
/// Two such items: in a plan they are one column.
fn refuse_equal_columns(meant: &[usize], items: &[Item]) -> Result<()> {
    for (place, first) in meant.iter().enumerate() {
        let first = &items[*first];
        let mut others = meant[place + 1..].iter().map(|other| &items[*other]);
        if let Some(second) = others.find(|other| unwrapped(&other.expr) == unwrapped(&first.expr)) {
            let message = format!(
                "grouping sets of two columns of one expression, \"{}\" and \"{}\", are not supported",
                first.output.label, second.output.label
            );
            return Err(NameError::unsupported(message).at_node(&second.expr));
        }
    }
    Ok(())
}

/// Whether an expression leans so far to the left that what recurses, as comparing it does, could
/// take too much stack.
pub(super) fn is_long(expr: &Expr) -> bool {
    let mut inner = expr;
    for _ in 0..LENGTH_MAX {
        inner = match inner {
            Expr::BinaryOp { left, .. } => left,
            Expr::Cast { expr, .. }
            | Expr::Nested(expr)
            | Expr::Collate { expr, .. }
            | Expr::IsNull(expr)
            | Expr::IsNotNull(expr) => expr,
            Expr::AtTimeZone { timestamp, .. } => timestamp,
            _ => return false,
        };
    }
    true
}

fn terms(order_by: &mut OrderBy) -> Result<&mut Vec<OrderByExpr>> {
    if order_by.interpolate.is_some() {
        return Err(NameError::unsupported("ORDER BY ... INTERPOLATE is not supported"));
    }
    match &mut order_by.kind {
        OrderByKind::Expressions(terms) => Ok(terms),
        OrderByKind::All(_) => Err(NameError::unsupported("ORDER BY ALL is not supported")),
    }
}

/// A name that stands alone, and is no function.
fn bare(expr: &Expr) -> Option<Ident> {
    match unwrapped(expr) {
        Expr::Identifier(ident) if keyword_call(ident).is_none() => Some(ident.clone()),
        _ => None,
    }
}

/// The output column, from 0, that a constant means by its position.
fn position_of<'i>(expr: &Expr, labels: impl ExactSizeIterator<Item = &'i str>, clause: &str) -> Result<Option<usize>> {
    let (value, is_negative) = match unwrapped(expr) {
        Expr::Value(value) => (value, false),
        // The sign belongs to the constant.
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => match unwrapped(expr) {
            Expr::Value(value) if matches!(value.value, Value::Number(..)) => (value, true),
            _ => return Ok(None),
        },
        _ => return Ok(None),
    };
    let mut span = value.span;
    if is_negative {
        // The sign stands right before it, mostly.
        span.start.column = span.start.column.saturating_sub(1).max(1);
    }
    let number = match &value.value {
        Value::Number(text, _) => text.parse::<i32>().ok().and_then(|number| usize::try_from(number).ok()),
        Value::Placeholder(_) => return Ok(None),
        _ => None,
    };
    let Some(number) = number else {
        let message = format!("non-integer constant in {clause}");
        return Err(NameError::new(SqlState::SYNTAX_ERROR, message).at_span(span));
    };
    if is_negative || number == 0 || number > labels.len() {
        let sign = if is_negative { "-" } else { "" };
        let message = format!("{clause} position {sign}{number} is not in select list");
        return Err(NameError::new(SqlState::INVALID_COLUMN_REFERENCE, message).at_span(span));
    }
    Ok(Some(number - 1))
}

/// The item of this label. Several are one if they are the same expression.
fn labelled(ident: &Ident, items: &[Item], clause: &str) -> Result<Option<usize>> {
    match pick(ident, items.iter().enumerate(), |(_, item)| &item.output.label) {
        Pick::One((position, _)) => Ok(Some(position)),
        Pick::None => Ok(None),
        Pick::Several(names) => {
            let mut fitting =
                items.iter().enumerate().filter(|(_, item)| names.iter().any(|name| **name == *item.output.label));
            match fitting.next() {
                Some((position, first))
                    if !is_long(&first.expr)
                        && fitting.all(|(_, item)| unwrapped(&item.expr) == unwrapped(&first.expr)) =>
                {
                    Ok(Some(position))
                }
                _ => Err(ambiguous_output(ident, &names, clause)),
            }
        }
    }
}

fn ambiguous_output(ident: &Ident, names: &[String], clause: &str) -> NameError {
    let message = format!("{clause} \"{}\" is ambiguous", fold(ident));
    let error = NameError::new(SqlState::AMBIGUOUS_COLUMN, message).at(ident);
    if names.iter().all(|name| Some(name) == names.first()) { error } else { error.with_hint(it_may_be(names)) }
}

fn write(expr: &mut Expr, position: usize, items: &[Item], written: As) {
    *expr = match written {
        As::Position => number(position),
        As::Expression => items[position].expr.clone(),
    };
}

fn number(position: usize) -> Expr {
    Expr::Value(Value::Number((position + 1).to_string(), false).with_span(Span::empty()))
}
