//! `FOR UPDATE` and `FOR SHARE` of a query: which table's rows it reads so.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    Expr, GroupByExpr, Ident, LockType, ObjectName, Query, Select, SelectItem, SetExpr, Statement, TableFactor, Visitor,
};

use super::visit::visit;
use rowkey_base::{Error, Result, SqlState};

/// What a query says of the rows that it reads FOR UPDATE or FOR SHARE.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowLocks {
    /// `FOR UPDATE` or `FOR SHARE`. FOR NO KEY UPDATE and FOR KEY SHARE are read as these.
    pub words: &'static str,
    /// FOR UPDATE: no other transaction may read the rows so either.
    pub is_exclusive: bool,
    /// The name of the table.
    pub table: ObjectName,
    /// What columns of the table are qualified with.
    alias: Ident,
}

impl RowLocks {
    /// Those of a statement; `None` where it has none.
    ///
    /// # Errors
    /// The rows of the query cannot be traced to those of one table.
    pub fn of(statement: &Statement) -> Result<Option<Self>> {
        let Statement::Query(query) = statement else { return Ok(None) };
        let Some(first) = query.locks.first() else { return Ok(None) };
        let words = words_of(&first.lock_type);
        let select = match query.body.as_ref() {
            SetExpr::Select(select) => select,
            SetExpr::SetOperation { .. } => return Err(RowLocks::not_allowed(words, "UNION/INTERSECT/EXCEPT")),
            SetExpr::Values(_) => return Err(refused(format!("{words} cannot be applied to VALUES"))),
            _ => return Err(refused(format!("{words} behind a query in parentheses is not supported"))),
        };
        refuse_grouped(select, words)?;
        let relation = match select.from.as_slice() {
            // There are no rows of tables.
            [] => return Ok(None),
            [from] if from.joins.is_empty() => &from.relation,
            _ => return Err(refused(format!("{words} is supported for the rows of one table, not for joins"))),
        };
        let TableFactor::Table { name, alias, args: None, .. } = relation else {
            return Err(refused(format!("{words} is supported for tables only, not for {relation}")));
        };
        if alias.as_ref().is_some_and(|alias| !alias.columns.is_empty()) {
            return Err(refused(format!("{words} is not supported where the alias of the table renames its columns")));
        }
        let own = name.0.last().and_then(|part| part.as_ident());
        let Some(alias) = alias.as_ref().map(|alias| &alias.name).or(own) else {
            return Err(refused(format!("{words} is supported for tables only, not for {name}")));
        };
        let is_same = |other: &Ident| match (alias.quote_style, other.quote_style) {
            (None, _) | (_, None) => alias.value.eq_ignore_ascii_case(&other.value),
            _ => alias.value == other.value,
        };
        let with = query.with.iter().flat_map(|with| &with.cte_tables);
        if name.0.len() == 1 && own.is_some_and(|own| with.clone().any(|cte| names_same(&cte.alias.name, own))) {
            return Err(refused(format!("{words} cannot be applied to a WITH query")));
        }
        for lock in &query.locks {
            let words = words_of(&lock.lock_type);
            if let Some(of) = &lock.of
                && !of.0.last().and_then(|part| part.as_ident()).is_some_and(is_same)
            {
                let message = format!("relation \"{of}\" in {words} clause not found in FROM clause");
                return Err(Error::new(SqlState::UNDEFINED_TABLE, message));
            }
            if let Some(nonblock) = &lock.nonblock {
                return Err(refused(format!("{words} {nonblock} is not supported: nobody waits for rows"))
                    .with_hint("of two transactions that read a row FOR UPDATE, who commits second fails (40001)"));
            }
        }
        let is_exclusive = query.locks.iter().any(|lock| matches!(lock.lock_type, LockType::Update));
        Ok(Some(Self { words, is_exclusive, table: name.clone(), alias: alias.clone() }))
    }

    /// The words of a query that reads no rows of tables so: it has no FROM.
    pub fn without_rows(statement: &Statement) -> Option<&'static str> {
        let Statement::Query(query) = statement else { return None };
        let lock = query.locks.first()?;
        match query.body.as_ref() {
            SetExpr::Select(select) if select.from.is_empty() => Some(words_of(&lock.lock_type)),
            _ => None,
        }
    }

    /// Adds columns of the table behind those of the query.
    pub fn select_also(&self, statement: &mut Statement, columns: &[&str]) {
        let Statement::Query(query) = statement else { return };
        let SetExpr::Select(select) = query.body.as_mut() else { return };
        select.projection.extend(columns.iter().map(|column| SelectItem::ExprWithAlias {
            expr: Expr::CompoundIdentifier(vec![self.alias.clone(), Ident::with_quote('"', *column)]),
            alias: Ident::with_quote('"', format!("(read {column})")),
        }));
    }

    /// The error where the rows of the plan are not those of the table.
    pub fn untraceable(&self, because: &str) -> Error {
        refused(format!("{} is supported for the rows of one table, not for {because}", self.words))
    }

    /// The error where the query has aggregates.
    pub fn of_aggregates(&self) -> Error {
        Self::not_allowed(self.words, "aggregate functions")
    }

    /// The error where the query has something else that no row can be traced through.
    pub fn not_allowed(words: &str, with: &str) -> Error {
        refused(format!("{words} is not allowed with {with}"))
    }
}

/// Refuses what is read FOR UPDATE below a statement. Queries themselves, and those that are
/// explained, may ask for it.
pub(super) fn refuse_nested(statement: &Statement) -> Result<()> {
    struct Nested<'s> {
        allowed: Option<&'s Query>,
        found: Option<&'static str>,
    }
    impl Visitor for Nested<'_> {
        type Break = ();

        fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
            match query.locks.first() {
                Some(lock) if !self.allowed.is_some_and(|allowed| std::ptr::eq(allowed, query)) => {
                    self.found = Some(words_of(&lock.lock_type));
                    ControlFlow::Break(())
                }
                _ => ControlFlow::Continue(()),
            }
        }
    }
    let outer = match statement {
        Statement::Explain { statement, .. } => statement,
        statement => statement,
    };
    let allowed = match outer {
        Statement::Query(query) => Some(query.as_ref()),
        _ => None,
    };
    let mut nested = Nested { allowed, found: None };
    let _found = visit(statement, &mut nested);
    match nested.found {
        Some(words) => Err(refused(format!("{words} in a query inside another statement is not supported"))
            .with_hint("read the rows by a SELECT ... FOR UPDATE of its own in the same transaction")),
        None => Ok(()),
    }
}

fn refuse_grouped(select: &Select, words: &str) -> Result<()> {
    let is_grouped = match &select.group_by {
        GroupByExpr::All(_) => true,
        GroupByExpr::Expressions(exprs, modifiers) => !exprs.is_empty() || !modifiers.is_empty(),
    };
    if select.distinct.is_some() {
        return Err(RowLocks::not_allowed(words, "DISTINCT clause"));
    }
    if is_grouped {
        return Err(RowLocks::not_allowed(words, "GROUP BY clause"));
    }
    if select.having.is_some() {
        return Err(RowLocks::not_allowed(words, "HAVING clause"));
    }
    Ok(())
}

fn words_of(kind: &LockType) -> &'static str {
    match kind {
        LockType::Update => "FOR UPDATE",
        LockType::Share => "FOR SHARE",
    }
}

fn names_same(a: &Ident, b: &Ident) -> bool {
    a.value.eq_ignore_ascii_case(&b.value)
}

fn refused(message: String) -> Error {
    Error::new(SqlState::FEATURE_NOT_SUPPORTED, message)
}
