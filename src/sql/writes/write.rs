//! Statements that write, taken apart after their names are resolved.

use datafusion::sql::sqlparser::ast::{
    self, ConflictTarget, Expr, FromTable, MergeAction, MergeClauseKind, MergeInsertKind, ObjectName, OnConflictAction,
    OnInsert, Query, SelectItem, SetExpr, SqliteOnConflict, Statement, TableObject, TableWithJoins,
    UpdateTableFromKind, With,
};
use datafusion::sql::sqlparser::tokenizer::Location;

use super::exact_copies::without_types;
use super::syntax::{self, aliases, and, assigned, case, column, columns_named, flattened, item, memory_name, null};
use super::target::{Takes, Target};
use super::values::is_default;
use crate::planner::StatementPlanner;
use rowkey_base::{Error, Result, SqlState};
use rowkey_postgres::names::OutputColumn;
use rowkey_postgres::syntax::{Statement as Parsed, is_nothing};

/// Most WHEN clauses of MERGE: each is decided after all before it, in one expression.
const MERGE_CLAUSES_MAX: usize = 32;

/// A statement that writes to one table.
#[derive(Debug)]
pub(crate) struct Write {
    pub target: Target,
    /// Schema and name of the table, as a FROM has them.
    pub relation: (String, String),
    /// The name of the table's rows in expressions.
    pub alias: String,
    pub with: Option<With>,
    pub action: Action,
    /// What else is in FROM or USING.
    pub others: Vec<TableWithJoins>,
    pub returning: Option<Vec<SelectItem>>,
    pub output: Vec<OutputColumn>,
    /// Functions that are called, and where.
    pub functions: Vec<(String, Location)>,
}

#[derive(Debug)]
pub(crate) enum Action {
    Insert { columns: Vec<usize>, source: Source, conflict: Conflict },
    Update { assignments: Vec<(usize, Expr)>, selection: Option<Expr> },
    Delete { selection: Option<Expr> },
    Merge { on: Expr, clauses: Vec<Clause> },
}

/// Where the rows of an INSERT come from.
#[derive(Debug)]
pub(crate) enum Source {
    Values(Vec<Vec<Expr>>),
    Query(Box<Query>),
}

/// What becomes of a row whose key exists.
#[derive(Debug)]
pub(crate) enum Conflict {
    Fail,
    Nothing,
    /// The new row takes its place.
    Replace,
    Update {
        assignments: Vec<(usize, Expr)>,
        selection: Option<Box<Expr>>,
    },
}

/// `WHEN [NOT] MATCHED [AND condition] THEN ...`
#[derive(Debug)]
pub(crate) struct Clause {
    pub matched: bool,
    pub condition: Option<Expr>,
    pub action: ClauseAction,
}

#[derive(Debug)]
pub(crate) enum ClauseAction {
    Nothing,
    Delete,
    Update(Vec<(usize, Expr)>),
    Insert(Vec<(usize, Expr)>),
}

impl ClauseAction {
    pub(crate) fn assignments(&self) -> &[(usize, Expr)] {
        match self {
            ClauseAction::Update(assignments) | ClauseAction::Insert(assignments) => assignments,
            ClauseAction::Nothing | ClauseAction::Delete => &[],
        }
    }
}

/// The rows that come from a query that a statement makes: keys first, then what the action says.
pub(crate) const KEY_COLUMNS: usize = 2;

fn unsupported(what: &str) -> Error {
    Error::new(SqlState::FEATURE_NOT_SUPPORTED, format!("{what} is not supported"))
}

impl Write {
    /// Resolves the names of a statement and takes it apart.
    pub(crate) fn read(planner: &StatementPlanner, parsed: &Parsed, statement: &Statement) -> Result<Self> {
        let mut statement = statement.clone();
        let resolved = planner.resolve(parsed, &mut statement)?;
        let (with, statement) = match statement {
            Statement::Query(query) => {
                let query = *query;
                match *query.body {
                    SetExpr::Insert(inner)
                    | SetExpr::Update(inner)
                    | SetExpr::Delete(inner)
                    | SetExpr::Merge(inner) => (query.with, inner),
                    _ => return Err(Error::new(SqlState::INTERNAL_ERROR, "a query is no statement that writes")),
                }
            }
            other => (None, other),
        };
        let mut write = match statement {
            Statement::Insert(insert) => Self::of_insert(planner, insert)?,
            Statement::Update(update) => Self::of_update(planner, update)?,
            Statement::Delete(delete) => Self::of_delete(planner, delete)?,
            Statement::Merge(merge) => Self::of_merge(planner, merge)?,
            other => return Err(unsupported(&other.to_string())),
        };
        write.with = with;
        write.output = resolved.output;
        write.functions = resolved.functions;
        Ok(write)
    }

    fn new(target: Target, relation: (String, String), alias: String, action: Action) -> Self {
        Self {
            target,
            relation,
            alias,
            with: None,
            action,
            others: Vec::new(),
            returning: None,
            output: Vec::new(),
            functions: Vec::new(),
        }
    }

    fn of_insert(planner: &StatementPlanner, insert: ast::Insert) -> Result<Self> {
        if insert.overwrite || insert.ignore || insert.partitioned.is_some() || insert.replace_into {
            return Err(unsupported("an option of this INSERT, which PostgreSQL does not have,"));
        }
        let TableObject::TableName(name) = &insert.table else {
            return Err(unsupported("INSERT into a function"));
        };
        let relation = syntax::relation_of(name)?;
        let target = Target::of(planner, &relation.0, &relation.1, "insert into")?;
        let alias = match &insert.table_alias {
            Some(alias) => alias.alias.value.clone(),
            None => relation.1.clone(),
        };
        let source = match insert.source {
            None => Source::Values(vec![Vec::new()]),
            Some(query) => match *query.body {
                SetExpr::Values(values)
                    if query.with.is_none()
                        && query.order_by.is_none()
                        && query.limit_clause.is_none()
                        && query.fetch.is_none() =>
                {
                    Source::Values(values.rows.into_iter().map(|row| row.content).collect())
                }
                body => Source::Query(Box::new(Query { body: Box::new(body), ..*query })),
            },
        };
        let columns = insert_columns(&target, &insert.columns, &source)?;
        let columns = match &source {
            Source::Query(query) if insert.columns.is_empty() => {
                let timestamp = target.columns.iter().position(|column| matches!(column.takes, Takes::Timestamp));
                without_types(query, planner, with_timestamp(&target, columns, query, timestamp), timestamp)
            }
            _ => columns,
        };
        refuse_generated(&target, &columns, &source)?;
        let conflict = match (insert.or, insert.on) {
            (None, None) => Conflict::Fail,
            (Some(SqliteOnConflict::Replace), None) => Conflict::Replace,
            (Some(other), None) => return Err(unsupported(&format!("INSERT {other}"))),
            (None, Some(OnInsert::OnConflict(conflict))) => read_conflict(&target, conflict)?,
            (_, Some(_)) => return Err(unsupported("this combination of OR and ON")),
        };
        let action = Action::Insert { columns, source, conflict };
        Ok(Self { returning: insert.returning, ..Self::new(target, relation, alias, action) })
    }

    fn of_update(planner: &StatementPlanner, update: ast::Update) -> Result<Self> {
        let (schema, table, alias) = syntax::table_of(&update.table.relation)?;
        let target = Target::of(planner, &schema, &table, "update")?;
        let assignments = resolve_assignments(&target, &update.assignments, true)?;
        let others = match update.from {
            None => Vec::new(),
            Some(UpdateTableFromKind::AfterSet(from)) => from,
            Some(UpdateTableFromKind::BeforeSet(_)) => return Err(unsupported("UPDATE with FROM before SET")),
        };
        let action = Action::Update { assignments, selection: update.selection };
        Ok(Self { returning: update.returning, others, ..Self::new(target, (schema, table), alias, action) })
    }

    fn of_delete(planner: &StatementPlanner, delete: ast::Delete) -> Result<Self> {
        let (FromTable::WithFromKeyword(tables) | FromTable::WithoutKeyword(tables)) = &delete.from;
        let [table] = tables.as_slice() else {
            return Err(Error::new(SqlState::SYNTAX_ERROR, "one table is changed at a time"));
        };
        let (schema, table, alias) = syntax::table_of(&table.relation)?;
        let target = Target::of(planner, &schema, &table, "delete from")?;
        let others = delete.using.unwrap_or_default();
        let action = Action::Delete { selection: delete.selection };
        Ok(Self { returning: delete.returning, others, ..Self::new(target, (schema, table), alias, action) })
    }

    fn of_merge(planner: &StatementPlanner, merge: ast::Merge) -> Result<Self> {
        if merge.output.is_some() {
            return Err(unsupported("RETURNING of MERGE"));
        }
        let (schema, table, alias) = syntax::table_of(&merge.table)?;
        let target = Target::of(planner, &schema, &table, "merge into")?;
        if merge.clauses.len() > MERGE_CLAUSES_MAX {
            let message = format!("MERGE has more than {MERGE_CLAUSES_MAX} WHEN clauses");
            return Err(Error::new(SqlState::STATEMENT_TOO_COMPLEX, message));
        }
        let clauses =
            merge.clauses.into_iter().map(|clause| read_clause(&target, clause)).collect::<Result<Vec<_>>>()?;
        let others = vec![TableWithJoins { relation: merge.source, joins: Vec::new() }];
        let action = Action::Merge { on: *merge.on, clauses };
        Ok(Self { others, ..Self::new(target, (schema, table), alias, action) })
    }

    /// The names that expressions of RETURNING know: the table's rows and everything in FROM or
    /// USING.
    pub(crate) fn aliases(&self) -> Vec<String> {
        let mut all = aliases(&self.others);
        all.push(self.alias.clone());
        all
    }

    /// Columns of the table's rows, and of others, that RETURNING names.
    pub(crate) fn returned(&self) -> Vec<(String, String)> {
        match &self.returning {
            Some(items) => columns_named(items, &self.aliases()),
            None => Vec::new(),
        }
    }

    /// What has to be read before anything is written, as a query; None if all is given.
    pub(crate) fn query(&self) -> Result<Option<Statement>> {
        let with = self.with.as_ref();
        let keys = || {
            vec![item(column(&self.alias, "PartitionKey"), "(key 1)"), item(column(&self.alias, "RowKey"), "(key 2)")]
        };
        let own = syntax::from_table(&[&self.relation.0, &self.relation.1], &self.alias);
        let from = || std::iter::once(own.clone()).chain(self.others.iter().cloned()).collect::<Vec<_>>();
        let value = |place: usize, (at, expr): &(usize, Expr)| {
            item(assigned(expr, &self.target.columns[*at]), &format!("(value {})", place + 1))
        };
        match &self.action {
            Action::Insert { source: Source::Values(_), .. } => Ok(None),
            Action::Insert { source: Source::Query(query), columns, .. } => {
                let mut query = query.clone();
                if let SetExpr::Select(select) = query.body.as_mut() {
                    for (selected, at) in select.projection.iter_mut().zip(columns) {
                        if let SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } = selected {
                            *expr = assigned(expr, &self.target.columns[*at]);
                        }
                    }
                }
                Ok(Some(syntax::statement_of(with, &query)))
            }
            Action::Update { assignments, selection } => {
                let mut items = keys();
                items.extend(assignments.iter().enumerate().map(|(place, assignment)| value(place, assignment)));
                items.extend(self.others_returned());
                Ok(Some(syntax::select(with, items, from(), selection.clone())?))
            }
            Action::Delete { selection } => {
                let mut items = keys();
                items.extend(self.others_returned());
                Ok(Some(syntax::select(with, items, from(), selection.clone())?))
            }
            Action::Merge { on, clauses } => {
                let mut items = keys();
                let (decision, values) = self.merge_decision(clauses);
                items.push(item(decision, "(clause)"));
                items.extend(values);
                let mut from = self.others.clone();
                let inserts = clauses.iter().any(|clause| !clause.matched);
                let constraint = ast::JoinConstraint::On(on.clone());
                if let Some(source) = from.first_mut() {
                    source.joins.push(ast::Join {
                        relation: own.relation.clone(),
                        global: false,
                        join_operator: match inserts {
                            true => ast::JoinOperator::LeftOuter(constraint),
                            false => ast::JoinOperator::Inner(constraint),
                        },
                    });
                }
                Ok(Some(syntax::select(with, items, from, None)?))
            }
        }
    }

    /// Columns of other relations that RETURNING names, behind the values.
    fn others_returned(&self) -> Vec<SelectItem> {
        let of_others = self.returned().into_iter().filter(|(alias, _)| *alias != self.alias);
        of_others.map(|(alias, name)| item(column(&alias, &name), &memory_name(&alias, &name))).collect()
    }

    /// Which clause applies to a row of a MERGE, and the values of every clause where it is the
    /// one.
    fn merge_decision(&self, clauses: &[Clause]) -> (Expr, Vec<SelectItem>) {
        let is_there = |matched: bool| {
            let key = Box::new(column(&self.alias, "PartitionKey"));
            if matched { Expr::IsNotNull(key) } else { Expr::IsNull(key) }
        };
        let branch = |(number, clause): (usize, &Clause)| {
            let condition = match &clause.condition {
                Some(condition) => and(is_there(clause.matched), condition.clone()),
                None => is_there(clause.matched),
            };
            (condition, syntax::number(number))
        };
        let decision = case(clauses.iter().enumerate().map(branch).collect());
        let mut values = Vec::new();
        for (number, clause) in clauses.iter().enumerate() {
            for (place, (at, expr)) in clause.action.assignments().iter().enumerate() {
                let chosen = Expr::BinaryOp {
                    left: Box::new(Expr::Nested(Box::new(decision.clone()))),
                    op: ast::BinaryOperator::Eq,
                    right: Box::new(syntax::number(number)),
                };
                let value = case(vec![(chosen, assigned(expr, &self.target.columns[*at]))]);
                values.push(item(value, &format!("(value {number} {place})")));
            }
        }
        (decision, values)
    }
}

/// The columns that get values; without a list, as many as there are values for.
fn insert_columns(target: &Target, listed: &[ObjectName], source: &Source) -> Result<Vec<usize>> {
    let columns = match listed {
        [] => target.implied(),
        listed => listed.iter().map(|name| target.place(&syntax::last_part(name)?)).collect::<Result<Vec<_>>>()?,
    };
    let widths: Vec<usize> = match source {
        Source::Values(rows) => rows.iter().map(Vec::len).collect(),
        // What a query gives is known when it is planned.
        Source::Query(_) => return Ok(columns),
    };
    let Some(width) = widths.first().copied() else { return Ok(columns) };
    if widths.iter().any(|other| *other != width) {
        return Err(Error::new(SqlState::SYNTAX_ERROR, "VALUES lists must all be the same length"));
    }
    match () {
        () if width > columns.len() => Err(too_many()),
        () if width < columns.len() && !listed.is_empty() && width > 0 => Err(too_few()),
        () => Ok(columns.into_iter().take(width).collect()),
    }
}

pub(crate) fn too_many() -> Error {
    Error::new(SqlState::SYNTAX_ERROR, "INSERT has more expressions than target columns")
}

pub(crate) fn too_few() -> Error {
    Error::new(SqlState::SYNTAX_ERROR, "INSERT has more target columns than expressions")
}

/// The columns that get those of a query without a list: where the query has a Timestamp in the
/// place of the table's, as `SELECT * FROM` another table has, that is among them.
fn with_timestamp(
    target: &Target,
    mut columns: Vec<usize>,
    query: &ast::Query,
    timestamp: Option<usize>,
) -> Vec<usize> {
    let SetExpr::Select(select) = query.body.as_ref() else { return columns };
    let name = match select.projection.get(KEY_COLUMNS) {
        Some(SelectItem::UnnamedExpr(Expr::CompoundIdentifier(parts))) => parts.last(),
        Some(SelectItem::ExprWithAlias { alias, .. }) => Some(alias),
        _ => None,
    };
    if let (Some(name), Some(place)) = (name, timestamp)
        && name.value == target.columns[place].name
        && columns.len() >= KEY_COLUMNS
    {
        columns.insert(KEY_COLUMNS, place);
    }
    columns
}

/// Columns that the server sets may be given as DEFAULT only.
fn refuse_generated(target: &Target, columns: &[usize], source: &Source) -> Result<()> {
    for (place, at) in columns.iter().enumerate() {
        let column = &target.columns[*at];
        if !matches!(column.takes, Takes::Timestamp | Takes::Other) {
            continue;
        }
        let all_default = match source {
            Source::Values(rows) => rows.iter().all(|row| row.get(place).is_none_or(is_default)),
            // That of another table is ignored, as the service ignores what it is given.
            Source::Query(_) => matches!(column.takes, Takes::Timestamp),
        };
        if !all_default {
            column.check_written(false)?;
        }
    }
    Ok(())
}

/// The assignments of SET with the places of their columns.
fn resolve_assignments(target: &Target, assignments: &[ast::Assignment], update: bool) -> Result<Vec<(usize, Expr)>> {
    let mut found = Vec::new();
    for (name, expr) in flattened(assignments)? {
        let at = target.place(&name)?;
        if is_default(&expr) && matches!(target.columns[at].takes, Takes::Timestamp) {
            continue;
        }
        target.columns[at].check_written(update)?;
        found.push((at, if is_default(&expr) { null() } else { expr }));
    }
    Ok(found)
}

fn read_conflict(target: &Target, conflict: ast::OnConflict) -> Result<Conflict> {
    match &conflict.conflict_target {
        Some(ConflictTarget::Columns(columns)) => {
            let mut names: Vec<&str> = columns.iter().map(|column| column.value.as_str()).collect();
            names.sort_unstable();
            names.dedup();
            if names != ["PartitionKey", "RowKey"] {
                let message = "there is no unique or exclusion constraint matching the ON CONFLICT specification";
                return Err(Error::new(SqlState::INVALID_COLUMN_REFERENCE, message)
                    .with_hint("the only unique constraint of a table is (\"PartitionKey\", \"RowKey\")"));
            }
        }
        Some(ConflictTarget::OnConstraint(name)) => {
            let wanted = constraint_name(target.name());
            let given = syntax::last_part(name)?;
            if given != wanted && !given.eq_ignore_ascii_case(&wanted) {
                let message = format!("constraint \"{given}\" for table \"{}\" does not exist", target.name());
                return Err(Error::new(SqlState::UNDEFINED_OBJECT, message));
            }
        }
        None if matches!(conflict.action, OnConflictAction::DoUpdate(_)) => {
            let message = "ON CONFLICT DO UPDATE requires inference specification or constraint name";
            return Err(Error::new(SqlState::SYNTAX_ERROR, message)
                .with_hint("For example, ON CONFLICT (\"PartitionKey\", \"RowKey\")."));
        }
        None => {}
    }
    Ok(match conflict.action {
        OnConflictAction::DoNothing => Conflict::Nothing,
        OnConflictAction::DoUpdate(update) => Conflict::Update {
            assignments: resolve_assignments(target, &update.assignments, true)?,
            selection: update.selection.map(Box::new),
        },
    })
}

/// The name of the constraint that keys are unique.
pub(crate) fn constraint_name(table: &str) -> String {
    format!("{table}_pkey")
}

fn read_clause(target: &Target, clause: ast::MergeClause) -> Result<Clause> {
    let matched = match clause.clause_kind {
        MergeClauseKind::Matched => true,
        MergeClauseKind::NotMatched => false,
        other => return Err(unsupported(&format!("WHEN {other}"))),
    };
    let action = match clause.action {
        action if is_nothing(&action) => ClauseAction::Nothing,
        MergeAction::Delete { .. } => ClauseAction::Delete,
        MergeAction::Update(update) => {
            if update.update_predicate.is_some() || update.delete_predicate.is_some() {
                return Err(Error::new(
                    SqlState::SYNTAX_ERROR,
                    "UPDATE of MERGE takes no WHERE: put it behind WHEN MATCHED AND",
                ));
            }
            ClauseAction::Update(resolve_assignments(target, &update.assignments, true)?)
        }
        MergeAction::Insert(insert) => {
            if insert.insert_predicate.is_some() {
                return Err(Error::new(
                    SqlState::SYNTAX_ERROR,
                    "INSERT of MERGE takes no WHERE: put it behind WHEN NOT MATCHED AND",
                ));
            }
            let MergeInsertKind::Values(values) = insert.kind else { return Err(unsupported("INSERT ROW")) };
            let [row] = values.rows.as_slice() else {
                return Err(Error::new(SqlState::SYNTAX_ERROR, "INSERT of MERGE takes one list of VALUES"));
            };
            let source = Source::Values(vec![row.content.clone()]);
            let columns = insert_columns(target, &insert.columns, &source)?;
            refuse_generated(target, &columns, &source)?;
            let given = columns.into_iter().zip(row.content.iter().cloned());
            ClauseAction::Insert(given.filter(|(_, expr)| !is_default(expr)).collect())
        }
    };
    Ok(Clause { matched, condition: clause.predicate, action })
}
