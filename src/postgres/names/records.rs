//! `json_to_record` and its like in FROM: rows of columns that the alias defines.

use std::rc::Rc;

use datafusion::sql::sqlparser::ast::{
    BinaryOperator, DataType, Expr, FunctionArg, FunctionArgExpr, Ident, ObjectName, SelectItem, SetExpr, TableAlias,
    TableFactor, Value,
};
use datafusion::sql::sqlparser::tokenizer::Span;

use super::column::{Output, fold, quoted};
use super::error::{NameError, Result, SqlState};
use super::placement::Clause;
use super::scope::{Frame, Resolver, Source, lateral};
use crate::syntax::{call_of, plain_cast, plain_query, plain_select};

const RECORDS: [&str; 4] = ["json_to_record", "jsonb_to_record", "json_to_recordset", "jsonb_to_recordset"];

/// Whether rows of a function in FROM have the columns that its alias defines.
///
/// # Errors
/// It has, and the alias defines none, or it has not, and the alias defines some.
pub(super) fn defines_columns(function: &str, alias: Option<&TableAlias>) -> Result<bool> {
    let columns = alias.map_or(&[][..], |alias| alias.columns.as_slice());
    let defined = columns.iter().filter(|column| column.data_type.is_some()).count();
    let said = match (RECORDS.contains(&function), defined) {
        (false, 0) => return Ok(false),
        (true, count) if count > 0 && count == columns.len() => return Ok(true),
        (true, _) => "a column definition list is required for functions returning \"record\"",
        (false, _) => "a column definition list is only allowed for functions returning \"record\"",
    };
    let error = NameError::new(SqlState::SYNTAX_ERROR, said);
    Err(alias.map_or(error.clone(), |alias| error.at(&alias.name)))
}

impl Resolver<'_> {
    /// The subquery that takes the columns out of the document, and what it brings.
    pub(super) fn record(
        &mut self,
        factor: &mut TableFactor,
        function: &str,
        before: &Frame,
        taken: &mut Vec<Rc<Source>>,
    ) -> Result<Frame> {
        let (args, alias, ordinality) = match factor {
            TableFactor::Table { args: Some(args), alias, with_ordinality, .. } => {
                (&mut args.args, alias, *with_ordinality)
            }
            TableFactor::Function { args, alias, with_ordinality, .. } => (args, alias, *with_ordinality),
            other => return Err(NameError::unsupported(format!("{other} in FROM is not supported"))),
        };
        if ordinality {
            let message = "WITH ORDINALITY cannot be used with a column definition list";
            return Err(NameError::new(SqlState::SYNTAX_ERROR, message));
        }
        let [FunctionArg::Unnamed(FunctionArgExpr::Expr(document))] = args.as_mut_slice() else {
            let message = format!("function {function} takes one document");
            return Err(NameError::new(SqlState::UNDEFINED_FUNCTION, message));
        };
        self.within(lateral(before), |resolver| {
            resolver.in_clause(Clause::FromFunction, |resolver| resolver.expr(document))
        })?;
        let family = if function.starts_with("jsonb") { "jsonb" } else { "json" };
        let row = match function.ends_with("set") {
            true => {
                let documents = called(&format!("{family}_records"), document.clone());
                called(&format!("{family}_array_elements"), documents)
            }
            false => called(&format!("{family}_record"), document.clone()),
        };
        let (mut items, mut names) = (Vec::new(), Vec::new());
        for column in alias.iter_mut().flat_map(|alias| &mut alias.columns) {
            let Some(data_type) = column.data_type.take() else { continue };
            let name = fold(&column.name);
            let expr = field(&row, &name, data_type, function).map_err(|error| error.at(&column.name))?;
            items.push(SelectItem::ExprWithAlias { expr, alias: quoted(&name, Span::empty()) });
            names.push(name);
        }
        let mut alias = alias.take();
        let frame = self.derived(&mut alias, Output::plain(names.into_iter().map(Rc::from).collect()), taken)?;
        let subquery = Box::new(plain_query(SetExpr::Select(Box::new(plain_select(items, Vec::new())))));
        *factor = TableFactor::Derived { lateral: !before.sources.is_empty(), subquery, alias, sample: None };
        Ok(frame)
    }
}

/// A field of an object in a type: its text is read as one, and the null of JSON is NULL.
fn field(row: &Expr, name: &str, data_type: DataType, function: &str) -> Result<Expr> {
    let is_supported = match &data_type {
        DataType::Array(_) | DataType::JSON | DataType::Char(_) | DataType::Character(_) => false,
        DataType::Varchar(length) | DataType::CharacterVarying(length) | DataType::CharVarying(length) => {
            length.is_none()
        }
        _ => true,
    };
    if !is_supported {
        return Err(NameError::unsupported(format!("{function} with a column of type {data_type} is not supported")));
    }
    let taken = |op: BinaryOperator, data_type: DataType| {
        let key = Expr::value(Value::SingleQuotedString(name.to_owned()));
        let part = Expr::BinaryOp { left: Box::new(row.clone()), op, right: Box::new(key) };
        plain_cast(Expr::Nested(Box::new(part)), data_type)
    };
    if data_type != DataType::JSONB {
        return Ok(taken(BinaryOperator::LongArrow, data_type));
    }
    let null = plain_cast(Expr::value(Value::SingleQuotedString("null".to_owned())), DataType::JSONB);
    let args =
        [taken(BinaryOperator::Arrow, data_type), null].map(|arg| FunctionArg::Unnamed(FunctionArgExpr::Expr(arg)));
    Ok(call_of(ObjectName::from(vec![Ident::new("nullif")]), args.into(), Vec::new()))
}

fn called(function: &str, document: Expr) -> Expr {
    let args = vec![FunctionArg::Unnamed(FunctionArgExpr::Expr(document))];
    call_of(ObjectName::from(vec![Ident::new(function)]), args, Vec::new())
}
