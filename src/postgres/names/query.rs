//! Queries: set operations, VALUES, and what stands around them.

use datafusion::sql::sqlparser::ast::{
    Expr, Fetch, LimitClause, OrderBy, Query, Select, SelectItem, SetExpr, SetOperator, SetQuantifier, Spanned, Table,
    TableAlias, TableFactor, TableWithJoins, Values, WildcardAdditionalOptions,
};
use datafusion::sql::sqlparser::ast::{Ident, ObjectName};
use datafusion::sql::sqlparser::tokenizer::Span;

use super::column::{Column, Output, Place, quoted};
use super::error::{NameError, Result, SqlState};
use super::multisets::{into_sets, is_multiset};
use super::order::is_long;
use super::placement::Clause;
use super::scope::{Frame, Level, Resolver};
use crate::syntax::{plain_query, plain_select, plain_table};

/// The name of a query within another that leaves out columns.
const SORTED: &str = "__sorted";

impl Resolver<'_> {
    /// Resolves the names of a query; returns its output columns.
    pub(super) fn query(&mut self, query: &mut Query) -> Result<Vec<Output>> {
        self.nested(|resolver| {
            let known = resolver.ctes.len();
            let outputs = resolver.in_clause(Clause::Rows, |resolver| resolver.query_with(query));
            resolver.ctes.truncate(known);
            outputs
        })
    }

    fn query_with(&mut self, query: &mut Query) -> Result<Vec<Output>> {
        unwrap_parentheses(query)?;
        if let Some(with) = &mut query.with {
            self.with(with)?;
        }
        let outputs = match query.body.as_mut() {
            SetExpr::Select(select) => self.select(select, query.order_by.as_mut())?,
            SetExpr::Table(table) => {
                let mut select = all_of(table);
                let outputs = self.select(&mut select, query.order_by.as_mut())?;
                *query.body = SetExpr::Select(Box::new(select));
                outputs
            }
            SetExpr::Values(values) => {
                let outputs = self.values(values)?;
                self.order_values(query.order_by.as_mut(), &outputs)?;
                outputs
            }
            SetExpr::Insert(statement)
            | SetExpr::Update(statement)
            | SetExpr::Delete(statement)
            | SetExpr::Merge(statement)
                if self.depth == 1 =>
            {
                self.statement(statement)?
            }
            body => {
                let outputs = self.set_expr(body)?;
                if let Some(order_by) = &mut query.order_by {
                    self.order_set_operation(order_by, &outputs)?;
                }
                outputs
            }
        };
        self.around(query)?;
        leave_out_others(query, &outputs);
        Ok(outputs)
    }

    /// LIMIT, OFFSET and FETCH see no columns of the query.
    pub(super) fn around(&mut self, query: &mut Query) -> Result<()> {
        if let Some(for_clause) = &query.for_clause {
            return Err(NameError::unsupported(format!("{for_clause} is not supported")));
        }
        if !query.pipe_operators.is_empty() {
            return Err(NameError::unsupported("|> is not supported"));
        }
        match &mut query.limit_clause {
            None => {}
            Some(LimitClause::LimitOffset { limit, offset, limit_by }) => {
                if !limit_by.is_empty() {
                    return Err(NameError::unsupported("LIMIT BY is not supported"));
                }
                self.in_clause(Clause::Limit, |resolver| resolver.exprs(limit.as_mut()))?;
                let offset = offset.as_mut().map(|offset| &mut offset.value);
                self.in_clause(Clause::Offset, |resolver| resolver.exprs(offset))?;
            }
            Some(LimitClause::OffsetCommaLimit { offset, limit }) => {
                self.in_clause(Clause::Limit, |resolver| resolver.exprs([offset, limit]))?;
            }
        }
        let fetch = query.fetch.as_mut().and_then(|fetch| fetch.quantity.as_mut());
        self.in_clause(Clause::Limit, |resolver| resolver.exprs(fetch))
    }

    /// A tree of set operations, whose columns are those of its leftmost query. Chains lean to the
    /// left.
    pub(super) fn set_expr(&mut self, body: &mut SetExpr) -> Result<Vec<Output>> {
        let mut rights = Vec::new();
        let mut has_multisets = false;
        let mut leaf = &mut *body;
        while let SetExpr::SetOperation { op, set_quantifier, left, right } = leaf {
            if !matches!(set_quantifier, SetQuantifier::All | SetQuantifier::Distinct | SetQuantifier::None) {
                return Err(NameError::unsupported(format!("{op} {set_quantifier} is not supported")));
            }
            has_multisets |= is_multiset(*op, *set_quantifier);
            rights.push((*op, right.as_mut()));
            leaf = left.as_mut();
        }
        let mut outputs = self.operand(leaf)?;
        for (op, right) in rights.into_iter().rev() {
            let start = start_of(right);
            let found = self.set_expr(right)?;
            same_width(op, outputs.len(), found.len()).map_err(|error| error.at_span(start))?;
            outputs.iter_mut().for_each(|output| output.origin = None);
        }
        if has_multisets {
            into_sets(body, &outputs, &mut self.multisets)?;
        }
        Ok(outputs)
    }

    fn operand(&mut self, body: &mut SetExpr) -> Result<Vec<Output>> {
        match body {
            SetExpr::Select(select) => self.select(select, None),
            SetExpr::Query(query) => self.query(query),
            SetExpr::Values(values) => self.values(values),
            SetExpr::Table(table) => {
                let mut select = all_of(table);
                let outputs = self.select(&mut select, None)?;
                *body = SetExpr::Select(Box::new(select));
                Ok(outputs)
            }
            SetExpr::SetOperation { .. } => self.set_expr(body),
            SetExpr::Insert(_) | SetExpr::Update(_) | SetExpr::Delete(_) | SetExpr::Merge(_) => {
                Err(NameError::unsupported("a statement that changes data inside a query is not supported"))
            }
        }
    }

    fn values(&mut self, values: &mut Values) -> Result<Vec<Output>> {
        let width = values.rows.first().map_or(0, |row| row.content.len());
        for row in &mut values.rows {
            if row.content.len() != width {
                let error = NameError::new(SqlState::SYNTAX_ERROR, "VALUES lists must all be the same length");
                return Err(match row.content.first() {
                    Some(first) => error.at_node(first),
                    None => error,
                });
            }
            self.in_clause(Clause::Values, |resolver| resolver.exprs(&mut row.content))?;
        }
        Ok(Output::plain((1..=width).map(|number| format!("column{number}").into()).collect()))
    }

    /// ORDER BY of VALUES may compute with its columns.
    fn order_values(&mut self, order_by: Option<&mut OrderBy>, outputs: &[Output]) -> Result<()> {
        let Some(order_by) = order_by else { return Ok(()) };
        let columns = outputs.iter().map(|output| {
            let expr = Expr::Identifier(Ident::with_quote('"', output.name.as_ref()));
            let place = Place::Computed(Box::new(expr));
            std::rc::Rc::new(Column { name: output.label.clone(), place, origin: None, system: false })
        });
        let frame = Frame { sources: Vec::new(), columns: columns.collect() };
        self.within(Level { frame, ..Level::default() }, |resolver| resolver.order_rows(order_by, outputs))
    }
}

/// Puts a query around one whose select list has more columns than its outputs.
fn leave_out_others(query: &mut Query, outputs: &[Output]) {
    if !matches!(query.body.as_ref(), SetExpr::Select(select) if select.projection.len() > outputs.len()) {
        return;
    }
    let items = outputs.iter().map(|output| {
        let path = [SORTED, output.name.as_ref()].map(|name| quoted(name, Span::empty()));
        SelectItem::UnnamedExpr(Expr::CompoundIdentifier(path.to_vec()))
    });
    let mut inner = plain_query(SetExpr::Select(Box::new(plain_select(items.collect(), Vec::new()))));
    std::mem::swap(&mut inner.body, &mut query.body);
    inner.order_by = query.order_by.take();
    inner.limit_clause = query.limit_clause.take();
    inner.fetch = query.fetch.take();
    let SetExpr::Select(outer) = query.body.as_mut() else { return };
    let alias = TableAlias { explicit: true, name: quoted(SORTED, Span::empty()), columns: Vec::new(), at: None };
    let relation = TableFactor::Derived { lateral: false, subquery: Box::new(inner), alias: Some(alias), sample: None };
    outer.from.push(TableWithJoins { relation, joins: Vec::new() });
}

/// Where the first output column of a query stands.
pub(super) fn start_of(body: &SetExpr) -> Span {
    let mut leaf = body;
    let first = loop {
        leaf = match leaf {
            SetExpr::Query(query) => &query.body,
            SetExpr::SetOperation { left, .. } => left,
            SetExpr::Values(values) => break values.rows.first().and_then(|row| row.content.first()),
            SetExpr::Select(select) => match select.projection.first() {
                Some(SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. }) => break Some(expr),
                Some(item) => return item.span(),
                None => return Span::empty(),
            },
            _ => return Span::empty(),
        };
    };
    // The span of an expression is found by recursion.
    first.filter(|expr| !is_long(expr)).map_or(Span::empty(), Spanned::span)
}

/// Both sides of a set operation have the same number of columns.
pub(super) fn same_width(op: SetOperator, left: usize, right: usize) -> Result<()> {
    if left == right {
        return Ok(());
    }
    let message = format!("each {op} query must have the same number of columns");
    Err(NameError::new(SqlState::SYNTAX_ERROR, message))
}

/// Parentheses around all of a query mean nothing: `(SELECT ... LIMIT 1) ORDER BY a` is `SELECT ...
/// ORDER BY a LIMIT 1`.
fn unwrap_parentheses(query: &mut Query) -> Result<()> {
    while let SetExpr::Query(inner) = query.body.as_mut() {
        let twice = |clause: &str| {
            Err(NameError::new(SqlState::SYNTAX_ERROR, format!("multiple {clause} clauses not allowed")))
        };
        if inner.order_by.is_some() && query.order_by.is_some() {
            return twice("ORDER BY");
        }
        // LIMIT and OFFSET are two clauses of one query: `(SELECT ... LIMIT 2) OFFSET 1`.
        let (outer, within) = (
            RowLimits::of(query.limit_clause.as_ref(), query.fetch.as_ref()),
            RowLimits::of(inner.limit_clause.as_ref(), inner.fetch.as_ref()),
        );
        if outer.limits && within.limits {
            return twice("LIMIT");
        }
        if outer.skips && within.skips {
            return twice("OFFSET");
        }
        if inner.with.is_some() && query.with.is_some() {
            return twice("WITH");
        }
        query.with = query.with.take().or_else(|| inner.with.take());
        query.order_by = query.order_by.take().or_else(|| inner.order_by.take());
        query.limit_clause = match (query.limit_clause.take(), inner.limit_clause.take()) {
            (
                Some(LimitClause::LimitOffset { limit, offset, limit_by }),
                Some(LimitClause::LimitOffset { limit: inner_limit, offset: inner_offset, .. }),
            ) => {
                let (limit, offset) = (limit.or(inner_limit), offset.or(inner_offset));
                Some(LimitClause::LimitOffset { limit, offset, limit_by })
            }
            (outer, inner) => outer.or(inner),
        };
        query.fetch = query.fetch.take().or_else(|| inner.fetch.take());
        query.locks.append(&mut inner.locks);
        let body = std::mem::replace(
            &mut *inner.body,
            SetExpr::Table(Box::new(Table { table_name: None, schema_name: None })),
        );
        *query.body = body;
    }
    Ok(())
}

/// Which of the clauses that cut its rows a query has.
struct RowLimits {
    limits: bool,
    skips: bool,
}

impl RowLimits {
    fn of(clause: Option<&LimitClause>, fetch: Option<&Fetch>) -> Self {
        let (limits, skips) = match clause {
            Some(LimitClause::LimitOffset { limit, offset, .. }) => (limit.is_some(), offset.is_some()),
            Some(LimitClause::OffsetCommaLimit { .. }) => (true, true),
            None => (false, false),
        };
        Self { limits: limits || fetch.is_some(), skips }
    }
}

/// `TABLE t` as the SELECT that it abbreviates.
fn all_of(table: &Table) -> Select {
    let name = [&table.schema_name, &table.table_name].into_iter().flatten().map(Ident::new).collect::<Vec<_>>();
    plain_select(
        vec![SelectItem::Wildcard(WildcardAdditionalOptions::default())],
        vec![plain_table(ObjectName::from(name), None, None)],
    )
}
