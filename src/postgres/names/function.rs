//! Names of functions, and keywords that are functions.

use datafusion::sql::sqlparser::ast::{
    DuplicateTreatment, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentClause, FunctionArgumentList,
    FunctionArguments, Ident, ObjectName, ObjectNamePart, SelectItem, SetExpr, Spanned, Value, WindowFrameBound,
    WindowSpec, WindowType,
};

use datafusion::sql::sqlparser::tokenizer::Span;

use super::Relations;
use super::column::{fold, rename};
use super::error::{NameError, Result, SqlState, refuse};
use super::placement::{Called, Inside, Parts, arguments_of};
use super::scope::{Resolver, dotted, parts};
use super::untyped_arguments;
use super::volatile;
use super::window_frame::{check_frame, settle_empty_frame, settle_offsets};
use crate::plan_size::excess_width;
use crate::syntax::{plain_function, plain_query, plain_select};

/// Names that are functions without parentheses, which the parser takes for identifiers.
const WITHOUT_PARENTHESES: [&str; 9] = [
    "current_catalog",
    "current_date",
    "current_role",
    "current_schema",
    "current_timestamp",
    "current_user",
    "localtimestamp",
    "session_user",
    "user",
];

/// The call that an unquoted keyword means.
pub(super) fn keyword_call(ident: &Ident) -> Option<Function> {
    let name = ident.value.to_ascii_lowercase();
    if ident.quote_style.is_some() || !WITHOUT_PARENTHESES.contains(&name.as_str()) {
        return None;
    }
    let name = Ident { value: name, quote_style: None, span: ident.span };
    Some(plain_function(ObjectName(vec![ObjectNamePart::Identifier(name)])))
}

/// The column that a name behind a table's means, which the parser takes for a function without
/// parentheses: `t.user`.
pub(super) fn keyword_column(function: &Function) -> Option<Vec<Ident>> {
    if !matches!(function.args, FunctionArguments::None) || function.over.is_some() || function.name.0.len() < 2 {
        return None;
    }
    function.name.0.iter().map(|part| part.as_ident().cloned()).collect()
}

/// Makes a function's name flat and exact: the planner has one list of functions, all in lower case
/// and found without quotes.
pub(super) fn flatten(name: &mut ObjectName, relations: &dyn Relations) -> Result<String> {
    let database = relations.database();
    let mut idents = parts(name)?;
    let Some(last) = idents.pop() else {
        return Err(NameError::new(SqlState::SYNTAX_ERROR, "a function without a name"));
    };
    if let [schema] | [_, schema] = idents.as_slice()
        && (idents.len() == 1 || fold(&idents[0]) == database)
        && let Some(flat) = relations.function_in(&fold(schema), &fold(&last))
    {
        name.0 = vec![ObjectNamePart::Identifier(Ident { value: flat.clone(), quote_style: None, span: last.span })];
        return Ok(flat);
    }
    let known = match idents.as_slice() {
        [] => true,
        [schema] => is_system(schema),
        [first, schema] => fold(first) == database && is_system(schema),
        _ => false,
    };
    if !known {
        let first = idents[0].clone();
        idents.push(last);
        let message = format!("function {} does not exist", dotted(&idents));
        return Err(NameError::new(SqlState::UNDEFINED_FUNCTION, message).at(&first));
    }
    let folded = fold(&last);
    let upper = folded.contains(|letter: char| letter.is_ascii_uppercase());
    let quote_style = upper.then_some('"');
    name.0 = vec![ObjectNamePart::Identifier(Ident { value: folded.clone(), quote_style, span: last.span })];
    Ok(folded)
}

/// Takes the numbers out of ORDER BY within a call: there they are no positions, but the same for
/// all rows.
fn without_constant_keys(clauses: &mut Vec<FunctionArgumentClause>) {
    let is_number = |expr: &Expr| matches!(expr, Expr::Value(value) if matches!(value.value, Value::Number(..)));
    clauses.retain_mut(|clause| match clause {
        FunctionArgumentClause::OrderBy(orders) => {
            orders.retain(|order| !is_number(&order.expr));
            !orders.is_empty()
        }
        _ => true,
    });
}

/// PostgreSQL's FUNC_MAX_ARGS.
const ARGUMENTS_MAX: usize = 100;
/// What looks like a call of a function, and is an expression of any number.
const NO_FUNCTIONS: [&str; 5] = ["coalesce", "greatest", "grouping", "least", "row"];

/// Functions of windows that are aggregates behind WITHIN GROUP.
const HYPOTHETICAL_SET: [&str; 4] = ["cume_dist", "dense_rank", "percent_rank", "rank"];

/// Window functions that are aggregates as well to DataFusion.
const OF_WINDOWS: [&str; 3] = ["first_value", "last_value", "nth_value"];

/// `is_plain`: the function is neither an aggregate nor one of windows.
///
/// # Errors
/// `TOO_MANY_ARGUMENTS`; `WRONG_OBJECT_TYPE` for a window behind what takes none, and for `count()`
/// of nothing.
fn check_call(name: &str, function: &Function, is_plain: bool, has_no_window: bool, span: Span) -> Result<()> {
    let has_arguments = match &function.args {
        FunctionArguments::List(list) => !list.args.is_empty(),
        FunctionArguments::None | FunctionArguments::Subquery(_) => true,
    };
    if let FunctionArguments::List(list) = &function.args
        && list.args.len() > ARGUMENTS_MAX
        && !NO_FUNCTIONS.contains(&name)
    {
        let message = format!("cannot pass more than {ARGUMENTS_MAX} arguments to a function");
        return Err(NameError::new(SqlState::TOO_MANY_ARGUMENTS, message).at_span(span));
    }
    let is_of_star = |list: &FunctionArgumentList| {
        list.duplicate_treatment == Some(DuplicateTreatment::Distinct)
            && matches!(list.args.as_slice(), [FunctionArg::Unnamed(FunctionArgExpr::Wildcard)])
    };
    if matches!(&function.args, FunctionArguments::List(list) if is_of_star(list)) {
        return Err(NameError::new(SqlState::SYNTAX_ERROR, "DISTINCT * is not supported").at_span(span));
    }
    if function.null_treatment.is_some() {
        return Err(
            NameError::new(SqlState::SYNTAX_ERROR, "IGNORE NULLS and RESPECT NULLS are not supported").at_span(span)
        );
    }
    let message = if has_no_window {
        format!("OVER specified, but {name} is not a window function nor an aggregate function")
    } else if let Some(clause) = clause_of_aggregates(function).filter(|_| is_plain) {
        format!("{clause} specified, but {name} is not an aggregate function")
    } else if name == "count" && !has_arguments {
        "count(*) must be used to call a parameterless aggregate function".to_owned()
    } else {
        return Ok(());
    };
    Err(NameError::new(SqlState::WRONG_OBJECT_TYPE, message).at_span(span))
}

/// What a call has that only aggregates take.
fn clause_of_aggregates(function: &Function) -> Option<&'static str> {
    let FunctionArguments::List(list) = &function.args else { return None };
    if list.duplicate_treatment == Some(DuplicateTreatment::Distinct) {
        return Some("DISTINCT");
    }
    if !function.within_group.is_empty() {
        return Some("WITHIN GROUP");
    }
    if list.clauses.iter().any(|clause| matches!(clause, FunctionArgumentClause::OrderBy(_))) {
        return Some("ORDER BY");
    }
    function.filter.as_ref().map(|_| "FILTER")
}

fn is_system(schema: &Ident) -> bool {
    ["pg_catalog", "information_schema"].contains(&fold(schema).as_str())
}

/// Makes a constant of a subquery that has nothing else, as others write a window without an order.
fn without_subquery(order: &mut Expr) {
    let Expr::Subquery(query) = order else { return };
    let SetExpr::Select(select) = query.body.as_ref() else { return };
    if let [SelectItem::UnnamedExpr(Expr::Value(constant))] = select.projection.as_slice()
        && **query == plain_query(SetExpr::Select(Box::new(plain_select(select.projection.clone(), Vec::new()))))
    {
        *order = Expr::Value(constant.clone());
    }
}

/// Most keys of a window. What it costs to plan its order grows with a power of them.
const WINDOW_KEYS_MAX: usize = 64;

impl Resolver<'_> {
    /// Names a function and hands out the expressions in it.
    pub(super) fn function<'e>(
        &mut self,
        function: &'e mut Function,
        inside: Inside,
        out: &mut Parts<'e>,
    ) -> Result<()> {
        let span = function.name.span();
        let at = span.start;
        let name = flatten(&mut function.name, self.relations)?;
        if self.relations.takes_row_of_table(&name) {
            self.row_of_table(&mut function.args, span)?;
            self.functions.push((name, at));
            return Ok(());
        }
        self.mark_rows(&name, &mut function.args);
        untyped_arguments::settle(&name, function)?;
        let within = out.inside;
        let called = match name.as_str() {
            name if self.relations.is_aggregate(name) => Called::Aggregate,
            name if self.relations.returns_rows(name) => Called::Set,
            _ => Called::Other,
        };
        let has_no_window = function.over.is_some()
            && match called {
                Called::Aggregate => false,
                Called::Set => true,
                Called::Other => self.relations.is_scalar(&name),
            };
        if called == Called::Aggregate {
            volatile::number_in_arguments(function, &mut self.volatile_calls);
        }
        let is_plain = match called {
            Called::Aggregate => false,
            Called::Set => true,
            Called::Other => self.relations.is_scalar(&name),
        };
        check_call(&name, function, is_plain, has_no_window, span)?;
        if HYPOTHETICAL_SET.contains(&name.as_str()) && !function.within_group.is_empty() {
            let message = format!("the hypothetical-set aggregate {name} is not supported");
            return Err(NameError::unsupported(message).at_span(span));
        }
        if OF_WINDOWS.contains(&name.as_str()) && function.over.is_none() {
            let message = format!("window function {name} requires an OVER clause");
            return Err(NameError::new(SqlState::WRONG_OBJECT_TYPE, message).at_span(span));
        }
        if let Some(level) = self.levels.last_mut() {
            if let Some(window) = &function.over {
                level.window_calls += 1;
                level.different_windows.insert(window.to_string());
                refuse(excess_width(level.window_calls, "calls of window functions"))?;
            }
            level.returns_sets |= called == Called::Set;
            if called == Called::Aggregate && function.over.is_none() {
                level.aggregates += 1;
                level.different_aggregates.insert(function.to_string());
                refuse(excess_width(level.different_aggregates.len(), "aggregates"))?;
            }
        }
        out.inside = arguments_of(function, called, inside, within, self.subqueries > 0)?;
        self.functions.push((name, at));
        self.arguments(&mut function.parameters, out)?;
        self.arguments(&mut function.args, out)?;
        out.extend(function.within_group.iter_mut().map(|order| &mut order.expr));
        out.inside = Inside::of_filter();
        out.extend(function.filter.as_deref_mut());
        match &mut function.over {
            None => Ok(()),
            Some(WindowType::NamedWindow(name)) => self.window_name(name),
            Some(WindowType::WindowSpec(spec)) => self.window_spec(spec, out),
        }
    }

    fn arguments<'e>(&mut self, arguments: &'e mut FunctionArguments, out: &mut Parts<'e>) -> Result<()> {
        match arguments {
            FunctionArguments::None => Ok(()),
            FunctionArguments::Subquery(query) => self.subquery(query),
            FunctionArguments::List(list) => {
                for argument in &mut list.args {
                    self.argument(argument, out)?;
                }
                without_constant_keys(&mut list.clauses);
                for clause in &mut list.clauses {
                    match clause {
                        FunctionArgumentClause::OrderBy(orders) => {
                            out.extend(orders.iter_mut().map(|order| &mut order.expr));
                        }
                        FunctionArgumentClause::Limit(expr) => out.push(expr),
                        FunctionArgumentClause::Having(bound) => out.push(&mut bound.1),
                        FunctionArgumentClause::IgnoreOrRespectNulls(_)
                        | FunctionArgumentClause::OnOverflow(_)
                        | FunctionArgumentClause::Separator(_)
                        | FunctionArgumentClause::JsonNullClause(_)
                        | FunctionArgumentClause::JsonReturningClause(_) => {}
                    }
                }
                Ok(())
            }
        }
    }

    /// Hands out the expression of one argument.
    pub(super) fn argument<'e>(&mut self, argument: &'e mut FunctionArg, out: &mut Parts<'e>) -> Result<()> {
        let argument = match argument {
            FunctionArg::Unnamed(argument) => argument,
            FunctionArg::Named { name, arg, .. } => {
                name.value = fold(name);
                name.quote_style = None;
                arg
            }
            FunctionArg::ExprNamed { name: Expr::Identifier(name), arg, .. } => {
                name.value = fold(name);
                name.quote_style = None;
                arg
            }
            FunctionArg::ExprNamed { name, .. } => {
                return Err(NameError::unsupported("an argument's name is a plain name").at_node(name));
            }
        };
        match argument {
            FunctionArgExpr::Expr(expr) => out.push(expr),
            FunctionArgExpr::Wildcard => {}
            FunctionArgExpr::QualifiedWildcard(name) => {
                return Err(NameError::unsupported("a whole row as an argument is not supported")
                    .with_hint("name its columns")
                    .at_node(name));
            }
            FunctionArgExpr::WildcardWithOptions(_) => {
                return Err(NameError::new(SqlState::SYNTAX_ERROR, "options of * in an argument are not SQL"));
            }
        }
        Ok(())
    }

    fn window_name(&self, name: &mut Ident) -> Result<()> {
        let folded = fold(name);
        if self.levels.last().is_none_or(|level| !level.windows.contains(&folded)) {
            let message = format!("window \"{folded}\" does not exist");
            return Err(NameError::new(SqlState::UNDEFINED_OBJECT, message).at(name));
        }
        rename(name, &folded);
        Ok(())
    }

    /// Names the window that a specification starts from and hands out the expressions in it.
    pub(super) fn window_spec<'e>(&mut self, spec: &'e mut WindowSpec, out: &mut Parts<'e>) -> Result<()> {
        check_frame(spec)?;
        if let Some(frame) = &mut spec.window_frame {
            settle_offsets(frame)?;
            settle_empty_frame(frame)?;
        }
        if let Some(name) = &mut spec.window_name {
            self.window_name(name)?;
        }
        if spec.partition_by.len() + spec.order_by.len() > WINDOW_KEYS_MAX {
            let message = format!("a window is partitioned and ordered by more than {WINDOW_KEYS_MAX} expressions");
            return Err(NameError::new(SqlState::STATEMENT_TOO_COMPLEX, message));
        }
        out.inside = Inside::of_window();
        spec.order_by.iter_mut().for_each(|order| without_subquery(&mut order.expr));
        out.extend(&mut spec.partition_by);
        out.extend(spec.order_by.iter_mut().map(|order| &mut order.expr));
        if let Some(frame) = &mut spec.window_frame {
            for bound in [Some(&mut frame.start_bound), frame.end_bound.as_mut()].into_iter().flatten() {
                match bound {
                    WindowFrameBound::CurrentRow => {}
                    WindowFrameBound::Preceding(expr) | WindowFrameBound::Following(expr) => {
                        out.extend(expr.as_deref_mut());
                    }
                }
            }
        }
        Ok(())
    }
}
