//! FROM: what its items are, and which columns they bring.

use std::cell::Cell;
use std::ops::ControlFlow;
use std::rc::Rc;

use datafusion::sql::sqlparser::ast::{
    CteAsMaterialized, DataType, Expr, FunctionArg, FunctionArgExpr, Ident, ObjectName, Select, SelectItem, SetExpr,
    TableAlias, TableAliasColumnDef, TableFactor, TableWithJoins, Value,
};
use datafusion::sql::sqlparser::tokenizer::Span;

use super::column::{Base, Column, Output, Place, fold, numbered, quoted, rename};
use super::error::{NameError, Result, SqlState};
use super::function::flatten;
use super::join::as_query;
use super::placement::{Clause, Inside, Parts};
use super::records::defines_columns;
use super::scope::{Frame, Level, Resolver, Source, as_name, dotted, lateral, parts};
use super::untyped_arguments::is_untyped;
use super::with::renamed;
use super::{Lookup, Relation};
use crate::ctes::{MATERIALIZED, NOT_MATERIALIZED};
use crate::functions::system::is_reserved;
use crate::syntax::{call_of, plain_cast, plain_query, plain_select, visit_expressions};

/// What WITH says of a query, for the planner.
fn word_of(materialized: &CteAsMaterialized) -> &'static str {
    match materialized {
        CteAsMaterialized::Materialized => MATERIALIZED,
        CteAsMaterialized::NotMaterialized => NOT_MATERIALIZED,
    }
}

/// Most relations of one FROM. What it costs to plan their joins grows with a power of them.
const RELATIONS_MAX: usize = 128;

impl Resolver<'_> {
    /// Resolves the names of a FROM clause; returns what it offers to the rest of the query.
    pub(super) fn from(&mut self, from: &mut [TableWithJoins]) -> Result<Frame> {
        let mut frame = Frame::default();
        let mut taken = Vec::new();
        for item in from {
            let found = self.joined(item, &frame, &mut taken)?;
            frame.append(found);
        }
        Ok(frame)
    }

    /// One item of FROM. LATERAL ones may name the items `before` it; `taken` are the sources that
    /// this FROM has already.
    pub(super) fn factor(
        &mut self,
        factor: &mut TableFactor,
        before: &Frame,
        taken: &mut Vec<Rc<Source>>,
    ) -> Result<Frame> {
        if taken.len() == RELATIONS_MAX {
            let message = format!("FROM has more than {RELATIONS_MAX} relations");
            return Err(NameError::new(SqlState::STATEMENT_TOO_COMPLEX, message));
        }
        if let TableFactor::NestedJoin { table_with_joins, alias } = factor {
            let Some(alias) = alias.take() else {
                return self.nested(|resolver| resolver.joined(table_with_joins, before, taken));
            };
            // Under one alias the planner wants different names: as a subquery the columns can have
            // them.
            let frame = self.within(apart(before), |resolver| {
                resolver.nested(|resolver| resolver.from(std::slice::from_mut(table_with_joins.as_mut())))
            })?;
            let tables = TableWithJoins { relation: placeholder(), joins: Vec::new() };
            let (query, outputs) = as_query(std::mem::replace(table_with_joins.as_mut(), tables), &frame);
            let mut alias = Some(alias);
            let frame = self.derived(&mut alias, outputs, taken)?;
            *factor = TableFactor::Derived { lateral: false, subquery: Box::new(query), alias, sample: None };
            return Ok(frame);
        }
        if let Some(unnest) = lateral_unnest(factor) {
            *factor = unnest;
        }
        match factor {
            TableFactor::Table { args: None, .. } => self.table(factor, taken),
            TableFactor::Table { args: Some(_), .. } | TableFactor::Function { .. } => {
                self.table_function(factor, before, taken)
            }
            TableFactor::UNNEST {
                alias,
                array_exprs,
                with_offset: false,
                with_offset_alias: None,
                with_ordinality,
            } => {
                if let [array] = array_exprs.as_slice()
                    && is_untyped(array)
                {
                    let message = "function unnest(unknown) is not unique";
                    return Err(NameError::new(SqlState::AMBIGUOUS_FUNCTION, message).at_node(array));
                }
                self.within(lateral(before), |resolver| {
                    resolver.in_clause(Clause::FromFunction, |resolver| resolver.exprs(array_exprs.iter_mut()))
                })?;
                let names = vec!["unnest".to_owned(); array_exprs.len()];
                self.called(alias, "unnest", names, *with_ordinality, taken)
            }
            TableFactor::Derived { lateral: is_lateral, subquery, alias, sample: None } => {
                let level = if *is_lateral { lateral(before) } else { apart(before) };
                let outputs = self.within(level, |resolver| resolver.query(subquery))?;
                self.derived(alias, outputs, taken)
            }
            other => Err(NameError::unsupported(format!("{other} in FROM is not supported")).at_node(other)),
        }
    }

    /// A base relation or a WITH query.
    fn table(&mut self, factor: &mut TableFactor, taken: &mut Vec<Rc<Source>>) -> Result<Frame> {
        let TableFactor::Table {
            name,
            alias,
            with_hints,
            version,
            with_ordinality,
            partitions,
            json_path,
            sample,
            index_hints,
            ..
        } = factor
        else {
            return Err(NameError::unsupported(format!("{factor} in FROM is not supported")));
        };
        let plain = with_hints.is_empty()
            && version.is_none()
            && !*with_ordinality
            && partitions.is_empty()
            && json_path.is_none()
            && index_hints.is_empty();
        if !plain || sample.is_some() {
            let message = format!("options behind the table {name} are not supported");
            return Err(NameError::unsupported(message).at_node(name));
        }
        let idents = parts(name)?;
        let span = idents.last().map_or(Span::empty(), |ident| ident.span);
        if let Some(cte) = self.cte(&idents)? {
            let outputs = cte.outputs.clone();
            let visible = cte.name.clone();
            *name = ObjectName::from(vec![quoted(&cte.plan_name, span)]);
            *partitions = cte.materialized.as_ref().map(|said| Ident::new(word_of(said))).into_iter().collect();
            self.count_relation()?;
            let aliased = alias.is_some();
            let alias = alias.get_or_insert_with(|| named_alias(&visible));
            let outputs = renamed(outputs, &format!("table \"{}\"", fold(&alias.name)), alias)?;
            return self.add_source(alias, None, aliased, outputs, 0, taken);
        }
        let relation = self.relation(&idents).map_err(|error| match idents.as_slice() {
            // The parser takes a word for a name where PostgreSQL's stops: `FROM WHERE`.
            [word] if word.quote_style.is_none() && is_reserved(&word.value) => {
                NameError::new(SqlState::SYNTAX_ERROR, format!("syntax error at or near \"{}\"", word.value)).at(word)
            }
            _ => error,
        })?;
        self.count_relation()?;
        *name = ObjectName::from(vec![quoted(&relation.schema, Span::empty()), quoted(&relation.name, span)]);
        let outputs = self.outputs_of(&relation);
        let aliased = alias.is_some();
        let alias = alias.get_or_insert_with(|| TableAlias { name: quoted(&relation.name, span), ..named_alias("") });
        let outputs = renamed(outputs, &format!("table \"{}\"", fold(&alias.name)), alias)?;
        self.add_source(alias, Some((relation.schema, relation.name)), aliased, outputs, relation.system_columns, taken)
    }

    /// The columns of a base relation, which counts as read.
    pub(super) fn outputs_of(&mut self, relation: &Relation) -> Vec<Output> {
        let read = (relation.schema.clone(), relation.name.clone());
        if !self.read.contains(&read) {
            self.read.push(read);
        }
        let base = Rc::new((relation.schema.clone(), relation.name.clone()));
        let output = |column: &String| {
            let column: Rc<str> = column.as_str().into();
            let origin = Some(Base { relation: Rc::clone(&base), column: Rc::clone(&column) });
            Output { label: Rc::clone(&column), name: column, origin }
        };
        relation.columns.iter().map(output).collect()
    }

    /// The WITH query that a name without a schema means.
    fn cte(&mut self, idents: &[Ident]) -> Result<Option<&super::scope::Cte>> {
        let [ident] = idents else { return Ok(None) };
        let name = fold(ident);
        let known = self.ctes.iter().rposition(|cte| cte.name == name);
        let to_come = self.ctes_to_come.iter().rev().find(|(coming, _)| *coming == name);
        if let Some((_, from)) = to_come
            && known.is_none_or(|known| known < *from)
        {
            let message = format!(
                "WITH query \"{name}\" cannot be named here: only the right side of its own UNION and later queries can name it"
            );
            return Err(NameError::new(SqlState::INVALID_RECURSION, message).at(ident));
        }
        let subqueries = self.subqueries;
        let Some(cte) = known.and_then(|index| self.ctes.get_mut(index)) else { return Ok(None) };
        let refused = match cte.recursive {
            Some(before) if before < subqueries => Some("within a subquery"),
            Some(_) if cte.named => Some("more than once"),
            _ => None,
        };
        if let Some(place) = refused {
            let message = format!("recursive reference to query \"{name}\" must not appear {place}");
            return Err(NameError::new(SqlState::INVALID_RECURSION, message).at(ident));
        }
        cte.named = true;
        Ok(Some(cte))
    }

    /// The base relation that a name means.
    pub(super) fn relation(&self, idents: &[Ident]) -> Result<Relation> {
        let (schema, name) = match idents {
            [name] => (None, name),
            [schema, name] => (Some(schema), name),
            [database, schema, name] if self.is_database(database) => (Some(schema), name),
            [first, _, _] => {
                let name = dotted(idents);
                let message = format!("cross-database references are not implemented: \"{name}\"");
                return Err(NameError::unsupported(message).at(first));
            }
            _ => {
                let message = format!("improper qualified name (too many dotted names): {}", dotted(idents));
                let error = NameError::new(SqlState::SYNTAX_ERROR, message);
                return Err(idents.first().map_or(error.clone(), |first| error.at(first)));
            }
        };
        let suggestion = match self.relations.relation(schema.map(as_name), as_name(name)) {
            Lookup::Found(relation) => return Ok(relation),
            Lookup::NoSuchSchema => None,
            Lookup::NoSuchRelation { suggestion } => suggestion,
        };
        let missing: Vec<Ident> = schema.into_iter().chain([name]).cloned().collect();
        let message = format!("relation \"{}\" does not exist", dotted(&missing));
        let error = NameError::new(SqlState::UNDEFINED_TABLE, message).at(&missing[0]);
        Err(match suggestion {
            Some(nearest) => error.with_hint(format!("Perhaps you meant the table \"{nearest}\".")),
            None => error,
        })
    }

    /// A subquery. PostgreSQL 15 demands an alias, later ones do not.
    pub(super) fn derived(
        &mut self,
        alias: &mut Option<TableAlias>,
        outputs: Vec<Output>,
        taken: &mut Vec<Rc<Source>>,
    ) -> Result<Frame> {
        let alias = match alias {
            Some(alias) => alias,
            None => alias.insert(named_alias(&self.plan_name("subquery"))),
        };
        let outputs = renamed(outputs, &format!("table \"{}\"", fold(&alias.name)), alias)?;
        self.add_source(alias, None, true, outputs, 0, taken)
    }

    /// A function in FROM, which may name the items before it.
    fn table_function(
        &mut self,
        factor: &mut TableFactor,
        before: &Frame,
        taken: &mut Vec<Rc<Source>>,
    ) -> Result<Frame> {
        if let TableFactor::Table { name, alias, .. } | TableFactor::Function { name, alias, .. } = &*factor {
            let function = flatten(&mut name.clone(), self.relations)?;
            if defines_columns(&function, alias.as_ref())? {
                return self.record(factor, &function, before, taken);
            }
        }
        let (name, args, alias, ordinality) = match factor {
            TableFactor::Table { name, args: Some(args), alias, with_ordinality, .. } => {
                (name, &mut args.args, alias, *with_ordinality)
            }
            TableFactor::Function { name, args, alias, with_ordinality, .. } => (name, args, alias, *with_ordinality),
            other => return Err(NameError::unsupported(format!("{other} in FROM is not supported"))),
        };
        let function = flatten(name, self.relations)?;
        if !self.relations.returns_rows(&function) {
            let value = call_of(name.clone(), std::mem::take(args), Vec::new());
            let mut alias = alias.take();
            let (value, frame) = self.value_in_from(value, &function, &mut alias, ordinality, before, taken)?;
            let subquery = Box::new(plain_query(SetExpr::Select(Box::new(value))));
            *factor = TableFactor::Derived { lateral: !before.sources.is_empty(), subquery, alias, sample: None };
            return Ok(frame);
        }
        self.within(lateral(before), |resolver| {
            let mut inside = Parts::new(Inside::clause(Clause::FromFunction));
            args.iter_mut().try_for_each(|arg| resolver.argument(arg, &mut inside))?;
            resolver.parts(inside)
        })?;
        let columns = self.relations.function_columns(&function).unwrap_or_else(|| vec![function.clone()]);
        let frame = self.called(alias, &function, columns, ordinality, taken)?;
        if names_columns(args) {
            // Only in this form the planner lets arguments name columns.
            *factor = TableFactor::Function {
                lateral: !before.sources.is_empty(),
                name: name.clone(),
                args: std::mem::take(args),
                with_ordinality: ordinality,
                alias: alias.take(),
            };
        }
        Ok(frame)
    }

    /// A function in FROM that gives one row: its value.
    fn value_in_from(
        &mut self,
        mut call: Expr,
        function: &str,
        alias: &mut Option<TableAlias>,
        ordinality: bool,
        before: &Frame,
        taken: &mut Vec<Rc<Source>>,
    ) -> Result<(Select, Frame)> {
        self.within(lateral(before), |resolver| {
            resolver.in_clause(Clause::FromFunction, |resolver| resolver.expr(&mut call))
        })?;
        let frame = self.called(alias, function, vec![function.to_owned()], ordinality, taken)?;
        let names = alias.iter().flat_map(|alias| &alias.columns).map(|column| column.name.clone());
        let one = plain_cast(Expr::value(Value::Number("1".to_owned(), false)), DataType::BigInt(None));
        let items = [call, one].into_iter().zip(names);
        let items = items.map(|(expr, alias)| SelectItem::ExprWithAlias { expr, alias });
        Ok((plain_select(items.collect(), Vec::new()), frame))
    }

    /// The source that a function in FROM is. An alias renames its column, too, if it has only one.
    fn called(
        &self,
        alias: &mut Option<TableAlias>,
        function: &str,
        mut columns: Vec<String>,
        ordinality: bool,
        taken: &mut Vec<Rc<Source>>,
    ) -> Result<Frame> {
        let alias = match alias {
            Some(alias) => {
                if let [column] = columns.as_mut_slice()
                    && column == function
                {
                    *column = fold(&alias.name);
                }
                alias
            }
            None => alias.insert(named_alias(function)),
        };
        if ordinality {
            columns.push("ordinality".to_owned());
        }
        let scalar = columns.len() == 1 && !ordinality;
        let mut outputs = Output::plain(columns.into_iter().map(Rc::from).collect());
        if alias.columns.is_empty() {
            // The planner has other names for the columns of functions: these are the ones that
            // count.
            let column =
                |output: &Output| TableAliasColumnDef { name: quoted(&output.name, Span::empty()), data_type: None };
            alias.columns = outputs.iter().map(column).collect();
        } else {
            outputs = renamed(outputs, &format!("table \"{}\"", fold(&alias.name)), alias)?;
        }
        let frame = self.add_source(alias, None, true, outputs, 0, taken)?;
        frame.sources.iter().for_each(|source| source.scalar.set(scalar));
        Ok(frame)
    }

    /// Makes a source of an item of FROM, under an alias that the plan has only once.
    pub(super) fn add_source(
        &self,
        alias: &mut TableAlias,
        relation: Option<(String, String)>,
        aliased: bool,
        outputs: Vec<Output>,
        system_columns: usize,
        taken: &mut Vec<Rc<Source>>,
    ) -> Result<Frame> {
        let name = fold(&alias.name);
        for other in taken.iter().filter(|other| other.name == name) {
            // Tables of different schemas may share their name, as long as nothing has to tell them
            // apart.
            let both_tables = !aliased && !other.aliased && relation.is_some() && other.relation.is_some();
            if !both_tables || other.relation == relation {
                let message = format!("table name \"{name}\" specified more than once");
                return Err(NameError::new(SqlState::DUPLICATE_ALIAS, message).at(&alias.name));
            }
        }
        // An alias of its own beside those of outer queries, too: a name that means theirs must not
        // be caught here.
        let outer = || self.levels.iter().flat_map(|level| &level.frame.sources);
        let free = |name: &str| taken.iter().chain(outer()).all(|other| *other.alias != *name);
        let plan_alias: Rc<str> = if free(&name) { name.as_str().into() } else { numbered(&name, free).into() };
        rename(&mut alias.name, &plan_alias);
        for source in outer().filter(|source| outputs.iter().any(|output| *output.name == *source.alias)) {
            let mut clashing = self.clashing.borrow_mut();
            if !clashing.contains(&source.alias) {
                clashing.push(Rc::clone(&source.alias));
            }
        }
        let visible = outputs.len().saturating_sub(system_columns);
        let column = |(index, output): (usize, Output)| {
            Rc::new(Column {
                name: output.label,
                place: Place::Source { alias: Rc::clone(&plan_alias), name: output.name },
                origin: output.origin,
                system: index >= visible,
            })
        };
        let columns = outputs.into_iter().enumerate().map(column).collect();
        let (scalar, outer) = (Cell::new(false), Cell::new(false));
        let frame =
            Frame::of(Source { name, alias: Rc::clone(&plan_alias), relation, aliased, columns, scalar, outer });
        taken.extend(frame.sources.iter().cloned());
        Ok(frame)
    }
}

fn names_columns(args: &Vec<FunctionArg>) -> bool {
    visit_expressions(args, |expr| match expr {
        Expr::CompoundIdentifier(_) => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    })
    .is_break()
}

/// What another item sees of them: nothing, though an error may say that they are there.
pub(super) fn apart(before: &Frame) -> Level {
    Level { out_of_reach: before.sources.clone(), ..Level::default() }
}

pub(super) fn named_alias(name: &str) -> TableAlias {
    TableAlias { explicit: true, name: quoted(name, Span::empty()), columns: Vec::new(), at: None }
}

/// Stands where an item was taken out.
fn placeholder() -> TableFactor {
    TableFactor::UNNEST {
        alias: None,
        array_exprs: Vec::new(),
        with_offset: false,
        with_offset_alias: None,
        with_ordinality: false,
    }
}

/// `LATERAL unnest(a, b)` as `unnest(a, b)`, which is LATERAL anyway.
fn lateral_unnest(factor: &mut TableFactor) -> Option<TableFactor> {
    let TableFactor::Function { name, args, with_ordinality, alias, .. } = factor else { return None };
    let is_unnest = name.0.last().and_then(|part| part.as_ident()).is_some_and(|name| {
        name.quote_style.is_none() && name.value.eq_ignore_ascii_case("unnest") || name.value == "unnest"
    });
    let plain = |arg: &FunctionArg| match arg {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(array)) => Some(array.clone()),
        _ => None,
    };
    let array_exprs = is_unnest.then(|| args.iter().map(plain).collect::<Option<Vec<_>>>())??;
    let (alias, with_ordinality) = (alias.take(), *with_ordinality);
    Some(TableFactor::UNNEST { alias, array_exprs, with_offset: false, with_offset_alias: None, with_ordinality })
}
