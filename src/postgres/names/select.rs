//! SELECT: the select list and the clauses that refer to it.

use std::collections::HashSet;
use std::rc::Rc;

use datafusion::sql::sqlparser::ast::{
    Distinct, Expr, GroupByExpr, Ident, NamedWindowDefinition, NamedWindowExpr, OrderBy, Select, SelectFlavor,
    SelectItem, SelectItemQualifiedWildcardKind, Spanned, WildcardAdditionalOptions,
};
use datafusion::sql::sqlparser::tokenizer::Span;

use super::column::{Base, Output, fold, numbered, quoted, rename, unique};
use super::error::{NameError, Result, SqlState, refuse};
use super::key_groups::named_columns;
use super::label::{Label, label, subquery_label};
use super::order::{As, Computed, Item, distinct_in_order};
use super::placement::{Clause, Inside, Parts};
use super::scope::{Level, Resolver, parts, unwrapped};
use super::subqueries::number_subqueries;
use super::volatile;
use crate::plan_size::{columns_of, excess_columns};
use crate::syntax::has_volatile;

/// As in PostgreSQL. Columns of `*` do not count: a table here can have more.
const SELECT_ITEMS_MAX: usize = 1664;

impl Resolver<'_> {
    /// Resolves the names of a SELECT and in the ORDER BY behind it; returns its output columns,
    /// behind which there may be others in the select list that ORDER BY alone names.
    pub(super) fn select(&mut self, select: &mut Select, order_by: Option<&mut OrderBy>) -> Result<Vec<Output>> {
        refuse_foreign(select)?;
        let frame = self.from(&mut select.from)?;
        let windows = named_windows(&mut select.named_window)?;
        let level = Level { frame, windows, ..Level::default() };
        self.within(level, |resolver| resolver.clauses(select, order_by))
    }

    fn clauses(&mut self, select: &mut Select, mut order_by: Option<&mut OrderBy>) -> Result<Vec<Output>> {
        let mut items = self.select_list(std::mem::take(&mut select.projection))?;
        if let Some(condition) = &mut select.selection {
            volatile::number(condition, &mut self.volatile_calls);
        }
        self.in_clause(Clause::Where, |resolver| resolver.exprs(select.selection.as_mut()))?;
        self.in_clause(Clause::Having, |resolver| resolver.exprs(select.having.as_mut()))?;
        for NamedWindowDefinition(_, window) in &mut select.named_window {
            if let NamedWindowExpr::WindowSpec(spec) = window {
                let mut inside = Parts::new(Inside::of_window());
                self.window_spec(spec, &mut inside)?;
                self.parts(inside)?;
            }
        }
        let mut named = Vec::new();
        if is_grouped(select) {
            named = named_columns(select.having.as_ref(), None);
            // Terms that are named by position or label are an item each.
            if select.distinct.is_none() && !has_volatile(&select.group_by) {
                items.iter_mut().for_each(|item| volatile::number(&mut item.expr, &mut self.volatile_calls));
            }
        }
        let distinct_on = matches!(select.distinct, Some(Distinct::On(_)));
        if let Some(order_by) = order_by.as_deref_mut() {
            // The planner compares the expressions of DISTINCT ON with those of ORDER BY.
            self.order_by(order_by, &items, if distinct_on { As::Expression } else { As::Position })?;
            self.keep_apart(&mut items, order_by);
            if is_grouped(select) {
                named.extend(named_columns(None, Some(order_by)));
            }
        }
        self.in_clause(Clause::GroupBy, |resolver| resolver.group_by(&mut select.group_by, &items))?;
        if is_grouped(select) {
            self.group_by_rows(&mut select.group_by, &items, named);
        } else if select.having.is_some() && self.calls().0 == 0 {
            // All rows are one group without an aggregate as well.
            select.group_by = GroupByExpr::Expressions(vec![Expr::GroupingSets(vec![Vec::new()])], Vec::new());
        }
        if let Some(Distinct::On(terms)) = &mut select.distinct {
            for term in terms.iter_mut() {
                self.output_term(term, &items, As::Expression, "DISTINCT ON")?;
            }
            if let Some(order_by) = order_by.as_deref_mut() {
                distinct_in_order(terms, order_by)?;
            }
        }
        self.count_columns()?;
        let (aggregates, windows) = self.calls();
        let several = self.levels.last().is_some_and(|level| level.subqueries > 1);
        if several && (aggregates > 0 || windows > 0 || is_grouped(select) || distinct_on) {
            number_subqueries(&mut items, select, order_by.as_deref_mut());
        }
        let hidden = match order_by {
            Some(order_by) if select.distinct.is_none() => self.order_beside_sets(&items, order_by),
            _ => Vec::new(),
        };
        let (projection, outputs) =
            items.into_iter().map(|item| if self.is_outer(&item.expr) { aliased(item) } else { written(item) }).unzip();
        select.projection = projection;
        select.projection.extend(hidden);
        Ok(outputs)
    }

    /// Refuses windows over so many columns, and so many aggregates, that to plan them takes longer
    /// than a statement may.
    fn count_columns(&mut self) -> Result<()> {
        let Some(level) = self.levels.last() else { return Ok(()) };
        let aggregates = level.different_aggregates.len();
        let below = if aggregates > 0 { aggregates } else { level.frame.columns.len() };
        self.columns_planned += columns_of(aggregates, level.different_windows.len(), below);
        refuse(excess_columns(self.columns_planned))
    }

    /// Whether an expression is a column of a query further out.
    pub(super) fn is_outer(&self, expr: &Expr) -> bool {
        let Expr::CompoundIdentifier(parts) = expr else { return false };
        let sources = self.levels.last().map_or(&[][..], |level| &level.frame.sources);
        parts.first().is_some_and(|first| sources.iter().all(|source| *source.alias != *first.value))
    }

    /// How many aggregates and window functions this query calls, as far as it is resolved.
    fn calls(&self) -> (usize, usize) {
        self.levels.last().map_or((0, 0), |level| (level.aggregates, level.window_calls))
    }

    /// Resolves a select list, `*` into its columns, and gives every item a label and a name.
    pub(super) fn select_list(&mut self, list: Vec<SelectItem>) -> Result<Vec<Item>> {
        if list.len() > SELECT_ITEMS_MAX {
            let message = format!("target lists can have at most {SELECT_ITEMS_MAX} entries");
            return Err(NameError::new(SqlState::TOO_MANY_COLUMNS, message));
        }
        // The one value of a subquery may be a whole row.
        let is_value = self.subqueries > 0 && list.len() == 1;
        let mut exprs = Vec::with_capacity(list.len());
        let mut labels = Vec::with_capacity(list.len());
        let mut origins = Vec::with_capacity(list.len());
        let mut computed = Vec::with_capacity(list.len());
        let mut add = |expr: Expr, label: Rc<str>, origin: Option<Base>, by: Option<Computed>| {
            exprs.push(expr);
            labels.push(label);
            origins.push(origin);
            computed.push(by);
        };
        for item in list {
            let before = self.calls();
            match item {
                SelectItem::UnnamedExpr(mut expr) => {
                    let row = if is_value { self.mark_row(&mut expr) } else { None };
                    let (expr, label, origin) = self.item(expr, row.as_ref().map(fold))?;
                    add(expr, label, origin, Computed::between(before, self.calls()));
                }
                SelectItem::ExprWithAlias { mut expr, alias } => {
                    if is_value {
                        self.mark_row(&mut expr);
                    }
                    let (expr, label, origin) = self.item(expr, Some(fold(&alias)))?;
                    add(expr, label, origin, Computed::between(before, self.calls()));
                }
                SelectItem::Wildcard(options) => {
                    refuse_options(&options)?;
                    let span = options.wildcard_token.0.span;
                    let frame = self.levels.last().map(|level| &level.frame);
                    let columns = frame.map(|frame| frame.columns.as_slice()).unwrap_or_default();
                    if columns.is_empty() && frame.is_none_or(|frame| frame.sources.is_empty()) {
                        let message = "SELECT * with no tables specified is not valid";
                        return Err(NameError::new(SqlState::SYNTAX_ERROR, message).at_span(span));
                    }
                    for column in columns.iter().filter(|column| !column.system) {
                        add(column.expr(span), column.name.clone(), column.origin.clone(), None);
                    }
                }
                SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), options) => {
                    refuse_options(&options)?;
                    let source = self.source(&parts(&name)?)?;
                    for column in source.columns.iter().filter(|column| !column.system) {
                        add(column.expr(name.span()), column.name.clone(), column.origin.clone(), None);
                    }
                }
                SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::Expr(expr), _) => {
                    return Err(NameError::unsupported("the fields of a value as columns are not supported")
                        .with_hint("name the fields: (x).field")
                        .at_node(&expr));
                }
                SelectItem::ExprWithAliases { expr, .. } => {
                    return Err(NameError::new(SqlState::SYNTAX_ERROR, "a column has one alias").at_node(&expr));
                }
            }
        }
        let names = unique(&labels);
        let outputs = labels.into_iter().zip(names).zip(origins.into_iter().zip(computed));
        let items = exprs.into_iter().zip(outputs).map(|(expr, ((label, name), (origin, computed)))| Item {
            expr,
            output: Output { label, name, origin },
            computed,
        });
        let mut items: Vec<_> = items.collect();
        self.rename_beside_sets(&mut items);
        Ok(items)
    }

    /// Gives items beside a set names that no column below has: the planner projects columns beside
    /// what is computed of them, before it unnests.
    fn rename_beside_sets(&self, items: &mut [Item]) {
        let Some(level) = self.levels.last().filter(|level| level.returns_sets) else { return };
        let mut taken: HashSet<Rc<str>> = items.iter().map(|item| Rc::clone(&item.output.name)).collect();
        taken.extend(level.frame.columns.iter().map(|column| Rc::clone(&column.name)));
        let below: HashSet<&str> = level.frame.columns.iter().map(|column| column.name.as_ref()).collect();
        for item in items.iter_mut().filter(|item| !item.is_named() && below.contains(item.output.name.as_ref())) {
            item.output.name = numbered(&item.output.name, |name| !taken.contains(name)).into();
            taken.insert(Rc::clone(&item.output.name));
        }
    }

    fn item(&mut self, mut expr: Expr, alias: Option<String>) -> Result<(Expr, Rc<str>, Option<Base>)> {
        let plain = matches!(unwrapped(&expr), Expr::Identifier(_) | Expr::CompoundIdentifier(_));
        let found = label(&expr);
        self.expr(&mut expr)?;
        let column = match &found {
            Label::Column(parts) => Some(self.column(parts)?),
            Label::Text(_) | Label::Subquery => None,
        };
        let origin = column.as_ref().filter(|_| plain).and_then(|column| column.origin.clone());
        let label = match (alias, found, column) {
            (Some(alias), ..) => alias.into(),
            (None, Label::Text(text), _) => text.into(),
            (None, _, Some(column)) => column.name.clone(),
            (None, ..) => self.label_of(subquery_label(&expr)),
        };
        Ok((expr, label, origin))
    }
}

fn is_grouped(select: &Select) -> bool {
    matches!(&select.group_by, GroupByExpr::Expressions(terms, _) if !terms.is_empty())
}

/// An item as the planner gets it: with an alias unless it is a column of that name.
pub(super) fn written(item: Item) -> (SelectItem, Output) {
    if !item.is_named() {
        return aliased(item);
    }
    (SelectItem::UnnamedExpr(item.expr), item.output)
}

/// An item with an alias.
fn aliased(item: Item) -> (SelectItem, Output) {
    let Item { expr, output, .. } = item;
    (SelectItem::ExprWithAlias { expr, alias: quoted(&output.name, Span::empty()) }, output)
}

/// Folds the names of a WINDOW clause.
fn named_windows(windows: &mut [NamedWindowDefinition]) -> Result<Vec<String>> {
    let mut names: Vec<String> = Vec::with_capacity(windows.len());
    for NamedWindowDefinition(name, window) in windows {
        let folded = fold(name);
        if names.contains(&folded) {
            let message = format!("window \"{folded}\" is already defined");
            return Err(NameError::new(SqlState::DUPLICATE_ALIAS, message).at(name));
        }
        rename(name, &folded);
        if let NamedWindowExpr::NamedWindow(other) = window {
            rename_window(other, &names)?;
        }
        names.push(folded);
    }
    Ok(names)
}

fn rename_window(name: &mut Ident, known: &[String]) -> Result<()> {
    let folded = fold(name);
    if !known.contains(&folded) {
        let message = format!("window \"{folded}\" does not exist");
        return Err(NameError::new(SqlState::UNDEFINED_OBJECT, message).at(name));
    }
    rename(name, &folded);
    Ok(())
}

fn refuse_options(options: &WildcardAdditionalOptions) -> Result<()> {
    let plain = options.opt_ilike.is_none()
        && options.opt_exclude.is_none()
        && options.opt_except.is_none()
        && options.opt_replace.is_none()
        && options.opt_rename.is_none()
        && options.opt_alias.is_none();
    if plain { Ok(()) } else { Err(NameError::unsupported("options behind * are not supported")) }
}

/// Clauses of other dialects, whose names would be left as they are.
fn refuse_foreign(select: &Select) -> Result<()> {
    let found = [
        (select.top.is_some(), "TOP"),
        (select.exclude.is_some(), "EXCLUDE"),
        (select.into.is_some(), "SELECT INTO"),
        (!select.lateral_views.is_empty(), "LATERAL VIEW"),
        (select.prewhere.is_some(), "PREWHERE"),
        (!select.connect_by.is_empty(), "CONNECT BY"),
        (!select.cluster_by.is_empty(), "CLUSTER BY"),
        (!select.distribute_by.is_empty(), "DISTRIBUTE BY"),
        (!select.sort_by.is_empty(), "SORT BY"),
        (select.qualify.is_some(), "QUALIFY"),
        (select.value_table_mode.is_some(), "SELECT AS"),
        (select.flavor != SelectFlavor::Standard, "FROM before SELECT"),
    ];
    match found.into_iter().find(|(there, _)| *there) {
        Some((_, clause)) => Err(NameError::unsupported(format!("{clause} is not supported"))),
        None => Ok(()),
    }
}
