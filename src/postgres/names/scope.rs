//! Scopes: what can be named where.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use datafusion::sql::sqlparser::ast::{CteAsMaterialized, Expr, Ident, ObjectName};
use datafusion::sql::sqlparser::tokenizer::Location;

use super::column::{Column, Output, Pick, fold, is_exact, numbered, pick};
use super::error::{NameError, Result, SqlState};
use super::placement::Clause;
use super::{Lookup, Name, OutputColumn, Relations, Resolved};
use crate::suggestion::suggestion;

/// Deepest nesting of queries and joins in parentheses. Each level takes some 30 KiB of stack in a
/// build without optimisation.
const DEPTH_MAX: usize = 50;
/// Deepest nesting of WITH queries in WITH queries.
const WITHS_MAX: usize = 8;
/// Most relations that a statement reads, each as often as it is named.
const RELATIONS_MAX: usize = 5_000;

/// One item of a FROM clause.
#[derive(Debug)]
pub(super) struct Source {
    /// The name by which it is referred to.
    pub name: String,
    /// Its alias in the plan.
    pub alias: Rc<str>,
    /// For a base relation: schema and name.
    pub relation: Option<(String, String)>,
    /// Without an alias a base relation can be named with its schema.
    pub aliased: bool,
    pub columns: Vec<Rc<Column>>,
    /// A function that returns values, which its name means as well.
    pub scalar: Cell<bool>,
    /// An outer join may put NULLs into its place.
    pub outer: Cell<bool>,
}

/// What a FROM clause offers: its items, and the columns that may be named alone, in the order of
/// `*`.
#[derive(Debug, Clone, Default)]
pub(super) struct Frame {
    pub sources: Vec<Rc<Source>>,
    pub columns: Vec<Rc<Column>>,
}

impl Frame {
    pub(super) fn of(source: Source) -> Self {
        let columns = source.columns.clone();
        Self { sources: vec![Rc::new(source)], columns }
    }

    pub(super) fn append(&mut self, other: Self) {
        self.sources.extend(other.sources);
        self.columns.extend(other.columns);
    }
}

/// One query level: what it offers, and what is near but cannot be named from here.
#[derive(Debug, Default)]
pub(super) struct Level {
    pub frame: Frame,
    pub out_of_reach: Vec<Rc<Source>>,
    pub windows: Vec<String>,
    /// How many calls of aggregates and of window functions it has, as far as it is resolved.
    pub aggregates: usize,
    pub window_calls: usize,
    /// Whether its select list returns sets.
    pub returns_sets: bool,
    /// How many subqueries stand in expressions of this query.
    pub subqueries: usize,
    /// The aggregates that differ, as they are written.
    pub different_aggregates: HashSet<String>,
    /// The windows that differ, as they are written.
    pub different_windows: HashSet<String>,
}

/// A query in a WITH clause.
#[derive(Debug)]
pub(super) struct Cte {
    pub name: String,
    /// Its name in the plan, unique in the statement: the planner refuses one that shadows another.
    pub plan_name: String,
    pub outputs: Vec<Output>,
    pub named: bool,
    /// For one whose right side is resolved: how many queries in expressions were open before.
    pub recursive: Option<usize>,
    /// What the statement says of how it is computed.
    pub materialized: Option<CteAsMaterialized>,
}

/// The walk over one statement.
pub(super) struct Resolver<'a> {
    pub relations: &'a dyn Relations,
    pub levels: Vec<Level>,
    pub ctes: Vec<Cte>,
    /// Queries of WITH RECURSIVE that are not known yet, and how many were when each was announced:
    /// later ones hide it.
    pub ctes_to_come: Vec<(String, usize)>,
    pub plan_names: HashSet<String>,
    pub read: Vec<(String, String)>,
    pub functions: Vec<(String, Location)>,
    pub depth: usize,
    /// How many WITH queries are open, one in the other.
    pub with_depth: usize,
    /// Relations that were named so far.
    pub relations_planned: usize,
    /// Columns that windows and aggregates hand on so far.
    pub columns_planned: usize,
    /// Volatile calls that have a number so far.
    pub volatile_calls: usize,
    /// EXCEPT ALL and INTERSECT ALL so far.
    pub multisets: usize,
    /// How many queries in expressions are open.
    pub subqueries: usize,
    /// The clause that is walked.
    pub clause: Clause,
    /// Aliases that are names of columns in queries which see them.
    pub clashing: RefCell<Vec<Rc<str>>>,
    /// The labels of columns that ORDER BY gave other names in the plan, by those.
    pub labels: HashMap<String, Rc<str>>,
}

impl<'a> Resolver<'a> {
    pub(super) fn new(relations: &'a dyn Relations) -> Self {
        Self {
            relations,
            levels: Vec::new(),
            ctes: Vec::new(),
            ctes_to_come: Vec::new(),
            plan_names: HashSet::new(),
            read: Vec::new(),
            functions: Vec::new(),
            depth: 0,
            with_depth: 0,
            relations_planned: 0,
            columns_planned: 0,
            volatile_calls: 0,
            multisets: 0,
            subqueries: 0,
            clause: Clause::default(),
            clashing: RefCell::new(Vec::new()),
            labels: HashMap::new(),
        }
    }

    pub(super) fn finish(self, output: Vec<Output>) -> Resolved {
        Resolved {
            output: output.into_iter().map(OutputColumn::from).collect(),
            relations: self.read,
            functions: self.functions,
        }
    }

    /// Does `work` in a clause.
    pub(super) fn in_clause<T>(&mut self, clause: Clause, work: impl FnOnce(&mut Self) -> T) -> T {
        let before = std::mem::replace(&mut self.clause, clause);
        let done = work(self);
        self.clause = before;
        done
    }

    /// Runs `work` one level further in.
    pub(super) fn within<T>(&mut self, level: Level, work: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.levels.push(level);
        let result = work(self);
        self.levels.pop();
        result
    }

    /// Counts the nesting of queries, so that a deep one is an error and not the end of the stack.
    pub(super) fn nested<T>(&mut self, work: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth == DEPTH_MAX {
            let message = format!("queries are nested more than {DEPTH_MAX} deep");
            return Err(NameError::new(SqlState::STATEMENT_TOO_COMPLEX, message));
        }
        self.depth += 1;
        let result = work(self);
        self.depth -= 1;
        result
    }

    /// Resolves a WITH query. The planner looks for relations in each twice, so that what is in one
    /// in one in another is walked as often as there are subsets of those.
    pub(super) fn within_with<T>(&mut self, work: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.with_depth == WITHS_MAX {
            let message = format!("WITH queries are nested more than {WITHS_MAX} deep");
            return Err(NameError::new(SqlState::STATEMENT_TOO_COMPLEX, message)
                .with_hint("WITH queries beside each other may name those before them"));
        }
        self.with_depth += 1;
        let result = work(self);
        self.with_depth -= 1;
        result
    }

    /// Counts a relation of a FROM.
    pub(super) fn count_relation(&mut self) -> Result<()> {
        self.relations_planned += 1;
        if self.relations_planned > RELATIONS_MAX {
            let message = format!("the statement reads more than {RELATIONS_MAX} relations");
            return Err(
                NameError::new(SqlState::STATEMENT_TOO_COMPLEX, message).with_hint("make several statements of it")
            );
        }
        Ok(())
    }

    /// A name for a WITH query that no other in the statement has.
    pub(super) fn plan_name(&mut self, name: &str) -> String {
        let free = |name: &str| !self.plan_names.contains(name);
        let unique = if free(name) { name.to_owned() } else { numbered(name, free) };
        self.plan_names.insert(unique.clone());
        unique
    }

    /// The column that a dotted name means, from the innermost query outwards.
    pub(super) fn column(&self, parts: &[Ident]) -> Result<Rc<Column>> {
        match parts {
            [column] => self.bare_column(column),
            [.., column] => {
                let source = self.qualifier(&parts[..parts.len() - 1], parts)?;
                column_of(&source, column, &parts[0])
            }
            [] => Err(NameError::new(SqlState::SYNTAX_ERROR, "a name without parts")),
        }
    }

    fn bare_column(&self, ident: &Ident) -> Result<Rc<Column>> {
        // One that differs in case comes behind an exact one of a query around.
        let mut similar = None;
        for level in self.levels.iter().rev() {
            let (picked, exact) = match pick(ident, level.frame.columns.iter(), |column| &column.name) {
                Pick::One(column) => (Ok(Rc::clone(column)), is_exact(ident, &column.name)),
                Pick::Several(names) => {
                    let exact = names.iter().all(|name| is_exact(ident, name));
                    (Err(ambiguous(ident, &names).at(ident)), exact)
                }
                Pick::None => continue,
            };
            if exact {
                return picked;
            }
            similar.get_or_insert(picked);
        }
        if let Some(similar) = similar {
            return similar;
        }
        let source = self.levels.iter().rev().find_map(|level| match named(level.frame.sources.iter(), ident) {
            Pick::None => None,
            picked => Some(picked),
        });
        if let Some(picked) = source {
            if let Pick::One(source) = picked
                && source.scalar.get()
                && let Some(column) = source.columns.first()
            {
                let name = fold(ident).into();
                return Ok(Rc::new(Column { name, place: column.place.clone(), origin: None, system: false }));
            }
            let message = format!("whole-row reference to \"{}\" is not supported", fold(ident));
            return Err(NameError::unsupported(message).with_hint("name its columns").at(ident));
        }
        Err(self.no_such_column(ident))
    }

    fn no_such_column(&self, ident: &Ident) -> NameError {
        let error = NameError::new(SqlState::UNDEFINED_COLUMN, format!("column \"{}\" does not exist", fold(ident)));
        for level in self.levels.iter().rev() {
            for source in &level.out_of_reach {
                if let Pick::One(column) = pick(ident, source.columns.iter(), |column| &column.name) {
                    let (column, table) = (&column.name, &source.name);
                    let hint = format!(
                        "There is a column named \"{column}\" in table \"{table}\", but it cannot be referenced from this part of the query."
                    );
                    return error.with_hint(hint).at(ident);
                }
            }
        }
        let candidates: Vec<(&str, &str)> = self
            .levels
            .iter()
            .flat_map(|level| &level.frame.sources)
            .flat_map(|source| source.columns.iter().map(|column| (source.name.as_str(), column.name.as_ref())))
            .collect();
        let names: Vec<&str> = candidates.iter().map(|(_, column)| *column).collect();
        let nearest = suggestion(&ident.value, &names);
        match nearest.and_then(|nearest| candidates.iter().find(|(_, column)| *column == nearest)) {
            Some((source, column)) => with_nearest(error, source, column),
            None => error,
        }
        .at(ident)
    }

    /// The FROM item that a qualifier means: an alias or table, perhaps with schema and database.
    pub(super) fn source(&self, qualifier: &[Ident]) -> Result<Rc<Source>> {
        self.qualifier(qualifier, qualifier)
    }

    /// [`Self::source`] at the front of a longer name.
    fn qualifier(&self, qualifier: &[Ident], whole: &[Ident]) -> Result<Rc<Source>> {
        let (schema, name) = match qualifier {
            [name] => (None, name),
            [schema, name] => (Some(schema), name),
            [database, schema, name] if self.is_database(database) => (Some(schema), name),
            [first, _, _] => {
                let name = dotted(whole);
                return Err(
                    NameError::unsupported(format!("cross-database references are not implemented: {name}")).at(first)
                );
            }
            _ => {
                let message = format!("improper qualified name (too many dotted names): {}", dotted(whole));
                let error = NameError::new(SqlState::SYNTAX_ERROR, message);
                return Err(qualifier.first().map_or(error.clone(), |first| error.at(first)));
            }
        };
        for level in self.levels.iter().rev() {
            let fits = |source: &&Rc<Source>| schema.is_none_or(|schema| in_schema(source, schema));
            match named(level.frame.sources.iter().filter(fits), name) {
                Pick::One(source) => return Ok(Rc::clone(source)),
                Pick::Several(names) => {
                    let message = format!("table reference \"{}\" is ambiguous", fold(name));
                    let error = NameError::new(SqlState::AMBIGUOUS_ALIAS, message).at(name);
                    let several = names.iter().any(|name| Some(name) != names.first());
                    return Err(if several { error.with_hint(it_may_be(&names)) } else { error });
                }
                Pick::None => {}
            }
        }
        Err(self.no_such_source(schema, name))
    }

    fn no_such_source(&self, schema: Option<&Ident>, name: &Ident) -> NameError {
        let folded = fold(name);
        let at = schema.unwrap_or(name);
        let invalid = || {
            let message = format!("invalid reference to FROM-clause entry for table \"{folded}\"");
            NameError::new(SqlState::UNDEFINED_TABLE, message).at(at)
        };
        let visible = || self.levels.iter().rev().flat_map(|level| &level.frame.sources);
        let meant = match self.relations.relation(schema.map(as_name), as_name(name)) {
            Lookup::Found(relation) => Some((relation.schema, relation.name)),
            Lookup::NoSuchSchema | Lookup::NoSuchRelation { .. } => None,
        };
        let renamed = visible().find(|source| source.aliased && meant.is_some() && source.relation == meant);
        if let Some(source) = renamed {
            return invalid().with_hint(format!("Perhaps you meant to reference the table alias \"{}\".", source.name));
        }
        let out_of_reach = self.levels.iter().rev().flat_map(|level| &level.out_of_reach);
        let near = if schema.is_some() {
            visible().chain(out_of_reach).find(|source| is_named(source, name))
        } else {
            out_of_reach.into_iter().find(|source| is_named(source, name))
        };
        if let Some(source) = near {
            return invalid().with_hint(format!(
                "There is an entry for table \"{}\", but it cannot be referenced from this part of the query.",
                source.name
            ));
        }
        NameError::new(SqlState::UNDEFINED_TABLE, format!("missing FROM-clause entry for table \"{folded}\"")).at(at)
    }

    pub(super) fn is_database(&self, ident: &Ident) -> bool {
        let database = self.relations.database();
        ident.value == database || (ident.quote_style.is_none() && ident.value.eq_ignore_ascii_case(database))
    }
}

/// The source that a name means. The name of a table in `public` ignores case, quoted or not.
pub(super) fn named<'s>(sources: impl Iterator<Item = &'s Rc<Source>>, ident: &Ident) -> Pick<&'s Rc<Source>> {
    let candidates: Vec<&Rc<Source>> = sources.filter(|source| is_named(source, ident)).collect();
    let unquoted = Ident { quote_style: None, ..ident.clone() };
    pick(&unquoted, candidates.into_iter(), |source| &source.name)
}

fn is_named(source: &Source, ident: &Ident) -> bool {
    let any_case = ident.quote_style.is_none()
        || (!source.aliased && source.relation.as_ref().is_some_and(|(schema, _)| schema == "public"));
    source.name == ident.value || (any_case && source.name.eq_ignore_ascii_case(&ident.value))
}

fn in_schema(source: &Source, ident: &Ident) -> bool {
    !source.aliased && source.relation.as_ref().is_some_and(|(schema, _)| *schema == fold(ident))
}

/// A column of one source. `first` is where its dotted name begins.
fn column_of(source: &Source, ident: &Ident, first: &Ident) -> Result<Rc<Column>> {
    match pick(ident, source.columns.iter(), |column| &column.name) {
        Pick::One(column) => Ok(Rc::clone(column)),
        Pick::Several(names) => Err(ambiguous(ident, &names).at(first)),
        Pick::None => {
            let message = format!("column {}.{} does not exist", source.name, fold(ident));
            let error = NameError::new(SqlState::UNDEFINED_COLUMN, message).at(first);
            let names: Vec<&str> = source.columns.iter().map(|column| column.name.as_ref()).collect();
            Err(match suggestion(&ident.value, &names) {
                Some(nearest) => with_nearest(error, &source.name, nearest),
                None => error,
            })
        }
    }
}

fn with_nearest(error: NameError, source: &str, column: &str) -> NameError {
    error.with_hint(format!("Perhaps you meant to reference the column \"{source}.{column}\"."))
}

/// Several columns match a name. Where they differ in case, quoting picks one.
pub(super) fn ambiguous(ident: &Ident, names: &[String]) -> NameError {
    let message = format!("column reference \"{}\" is ambiguous", fold(ident));
    let error = NameError::new(SqlState::AMBIGUOUS_COLUMN, message);
    if names.iter().all(|name| Some(name) == names.first()) { error } else { error.with_hint(it_may_be(names)) }
}

/// The names to choose from.
pub(super) fn it_may_be(names: &[String]) -> String {
    let mut quoted: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
    quoted.sort();
    quoted.dedup();
    format!("It may be {}: put the one you mean in double quotes.", quoted.join(" or "))
}

/// An identifier as [`Relations`] wants it.
pub(super) fn as_name(ident: &Ident) -> Name<'_> {
    (&ident.value, ident.quote_style.is_some())
}

/// A dotted name as it was meant, without quotes.
pub(super) fn dotted(parts: &[Ident]) -> String {
    parts.iter().map(fold).collect::<Vec<_>>().join(".")
}

/// The parts of a name that consists of identifiers.
pub(super) fn parts(name: &ObjectName) -> Result<Vec<Ident>> {
    name.0
        .iter()
        .map(|part| part.as_ident().cloned())
        .collect::<Option<Vec<_>>>()
        .ok_or_else(|| NameError::unsupported(format!("a function call as part of the name {name} is not supported")))
}

/// An expression without the parentheses around it.
pub(super) fn unwrapped(expr: &Expr) -> &Expr {
    let mut inner = expr;
    while let Expr::Nested(next) = inner {
        inner = next;
    }
    inner
}

/// What a LATERAL item sees of the items before it: all.
pub(super) fn lateral(before: &Frame) -> Level {
    Level { frame: before.clone(), ..Level::default() }
}
