//! Whole rows: the name of an item of FROM where a value stands.

use std::rc::Rc;

use datafusion::sql::sqlparser::ast::helpers::attached_token::AttachedToken;
use datafusion::sql::sqlparser::ast::{
    Expr, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, ObjectName, Query, Select, SelectItem, SetExpr,
    Spanned, TableFactor, TableWithJoins, Value,
};
use datafusion::sql::sqlparser::tokenizer::Span;

use super::column::{Pick, fold, pick};
use super::error::{NameError, Result, SqlState};
use super::function::keyword_call;
use super::label::{Label, label};
use super::scope::{Resolver, Source, named, parts, unwrapped};
use crate::syntax::{plain_call, plain_case, plain_query, plain_select};

/// Functions that take a whole row.
const OF_ROWS: [&str; 13] = [
    "array_agg",
    "count",
    "json_agg",
    "json_build_array",
    "json_build_object",
    "json_object_agg",
    "jsonb_agg",
    "jsonb_build_array",
    "jsonb_build_object",
    "jsonb_object_agg",
    "row_to_json",
    "to_json",
    "to_jsonb",
];
/// The column without which there is no entity.
const KEY: &str = "PartitionKey";

impl Resolver<'_> {
    /// Marks the arguments of a function that are whole rows.
    pub(super) fn mark_rows(&self, function: &str, arguments: &mut FunctionArguments) {
        let FunctionArguments::List(list) = arguments else { return };
        if !OF_ROWS.contains(&function) {
            return;
        }
        for argument in &mut list.args {
            let FunctionArg::Unnamed(argument) = argument else { continue };
            match argument {
                FunctionArgExpr::Expr(expr) => {
                    if self.mark_row(expr).is_none()
                        && let Some(row) = self.computed_row(expr)
                    {
                        *expr = row;
                    }
                }
                FunctionArgExpr::QualifiedWildcard(name) => *argument = FunctionArgExpr::Expr(marked(name.clone())),
                FunctionArgExpr::Wildcard | FunctionArgExpr::WildcardWithOptions(_) => {}
            }
        }
    }

    /// Marks a name that is no column's but an item's of FROM; the name, if it did.
    pub(super) fn mark_row(&self, expr: &mut Expr) -> Option<Ident> {
        let Expr::Identifier(ident) = expr else { return None };
        let is_column = |ident: &Ident| {
            self.levels.iter().any(|level| is_picked(pick(ident, level.frame.columns.iter(), |c| &c.name)))
        };
        let is_source =
            |ident: &Ident| self.levels.iter().any(|level| is_picked(named(level.frame.sources.iter(), ident)));
        if keyword_call(ident).is_some() || is_column(ident) || !is_source(ident) {
            return None;
        }
        let ident = ident.clone();
        *expr = marked(ObjectName::from(vec![ident.clone()]));
        Some(ident)
    }

    /// `(SELECT r FROM (SELECT a, b) r)`, which gives names to the fields of a row, as the row: the
    /// planner lets no subquery in FROM name columns of the query around.
    fn computed_row(&self, expr: &Expr) -> Option<Expr> {
        let Expr::Subquery(query) = unwrapped(expr) else { return None };
        let select = plain(query)?;
        let [
            SelectItem::UnnamedExpr(Expr::Identifier(name))
            | SelectItem::ExprWithAlias { expr: Expr::Identifier(name), .. },
        ] = select.projection.as_slice()
        else {
            return None;
        };
        let [TableWithJoins { relation, joins }] = select.from.as_slice() else { return None };
        let TableFactor::Derived { subquery, alias: Some(alias), sample: None, .. } = relation else { return None };
        let fields = plain(subquery).filter(|fields| fields.from.is_empty())?;
        if !joins.is_empty() || !alias.columns.is_empty() || fold(&alias.name) != fold(name) {
            return None;
        }
        let (mut names, mut members) = (Vec::new(), Vec::new());
        for item in &fields.projection {
            let (name, value) = match item {
                SelectItem::ExprWithAlias { expr, alias } => (fold(alias), expr),
                SelectItem::UnnamedExpr(expr) => match label(expr) {
                    Label::Text(text) => (text, expr),
                    Label::Column(parts) => (self.column(&parts).ok()?.name.as_ref().to_owned(), expr),
                    Label::Subquery => return None,
                },
                _ => return None,
            };
            if names.contains(&name) || name == fold(&alias.name) {
                return None;
            }
            members.extend([Expr::value(Value::SingleQuotedString(name.clone())), value.clone()]);
            names.push(name);
        }
        (!members.is_empty()).then(|| call("named_struct", members, query.span()))
    }

    /// Puts the names and values of all columns of a table in the place of its name as the only
    /// argument; names of system columns come with a colon before them.
    pub(super) fn row_of_table(&self, arguments: &mut FunctionArguments, at: Span) -> Result<()> {
        let refused = || {
            let message = "the argument is the name of a table in FROM";
            NameError::new(SqlState::UNDEFINED_FUNCTION, message).at_span(at)
        };
        let FunctionArguments::List(list) = arguments else { return Err(refused()) };
        let [FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Identifier(name)))] = list.args.as_slice() else {
            return Err(refused());
        };
        let (source, span) = (self.source(std::slice::from_ref(name))?, name.span);
        if !is_table(&source) || !source.columns.iter().any(|column| column.system) {
            return Err(refused());
        }
        let members = source.columns.iter().flat_map(|column| {
            let mark = if column.system { ":" } else { "" };
            let label = Expr::value(Value::SingleQuotedString(format!("{mark}{}", column.name)));
            [label, column.expr(span)]
        });
        list.args = members.map(|member| FunctionArg::Unnamed(FunctionArgExpr::Expr(member))).collect();
        Ok(())
    }

    /// The row of an item of FROM as a value.
    pub(super) fn whole_row(&self, name: &ObjectName) -> Result<Expr> {
        let (source, span) = (self.source(&parts(name)?)?, name.span());
        let columns = || source.columns.iter().filter(|column| !column.system);
        if source.scalar.get()
            && let Some(column) = columns().next()
        {
            return Ok(column.expr(span));
        }
        if columns().next().is_none() {
            return Err(NameError::unsupported("a row without columns is not supported").at_node(name));
        }
        let members = columns().flat_map(|column| {
            // The row of a table has a type of its own, whose names no alias changes.
            let of_table = column.origin.as_ref().filter(|_| source.relation.is_some());
            let name = of_table.map_or(&column.name, |origin| &origin.column);
            let label = Expr::value(Value::SingleQuotedString(name.as_ref().to_owned()));
            [label, column.expr(span)]
        });
        let row = call("named_struct", members.collect(), span);
        if !source.outer.get() {
            return Ok(row);
        }
        let key = columns().find(|column| *column.name == *KEY).filter(|_| is_table(&source));
        let Some(key) = key else {
            let message =
                format!("the whole row of \"{}\", which an outer join may lack, is not supported", source.name);
            return Err(NameError::unsupported(message).with_hint("make the value in a subquery").at_node(name));
        };
        Ok(plain_case([(Expr::IsNotNull(Box::new(key.expr(span))), row)], None))
    }
}

/// A query that is one SELECT of a list, of FROM or without.
fn plain(query: &Query) -> Option<&Select> {
    let SetExpr::Select(select) = query.body.as_ref() else { return None };
    let only = plain_select(select.projection.clone(), select.from.clone());
    let is_plain = **select == only && *query == plain_query(SetExpr::Select(select.clone()));
    is_plain.then_some(select.as_ref())
}

fn is_table(source: &Rc<Source>) -> bool {
    source.relation.as_ref().is_some_and(|(schema, _)| schema == "public")
}

fn is_picked<T>(picked: Pick<T>) -> bool {
    !matches!(picked, Pick::None)
}

fn marked(name: ObjectName) -> Expr {
    Expr::QualifiedWildcard(name, AttachedToken::empty())
}

fn call(name: &str, arguments: Vec<Expr>, span: Span) -> Expr {
    plain_call(ObjectName::from(vec![Ident { value: name.to_owned(), quote_style: None, span }]), arguments)
}
