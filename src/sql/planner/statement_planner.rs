//! A statement being planned: its names resolved, its constructs rewritten, its columns typed.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::RecordBatch;
use datafusion::catalog::{TableFunctionImpl, TableProvider};
use datafusion::execution::TaskContext;
use datafusion::execution::context::SessionState;
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::{ExecutionPlan, execute_stream};
use datafusion::sql::sqlparser::ast;
use datafusion::sql::sqlparser::tokenizer::Location;
use rowkey_model::{AccountName, TableName};
use rowkey_postgres::functions;
use rowkey_postgres::functions::LiteralStyle;
use rowkey_postgres::types::{PostgresType, TextStyle};
use rowkey_storage::{Catalog, Snapshot, Table};

use super::column::Column;
use super::own_functions;
use super::physical::{cancellable_rows, physical_plan};
use super::plan_size::refuse_large;
use super::relation_functions;
use super::relations::SnapshotRelations;
use super::snapshot_catalog::{PUBLIC, SnapshotCatalog};
use super::statement_state::{LentState, StatementSettings};
use crate::answer::Answer;
use crate::provider::TableColumns;
use crate::system_catalog::SystemCatalog;
use rowkey_base::{Error, Result, SqlState};
use rowkey_postgres::cancellation::{CancellableRows, PlanningSignals, Signals};
use rowkey_postgres::ctes;
use rowkey_postgres::desugar;
use rowkey_postgres::error::at_function;
use rowkey_postgres::error::from_datafusion;
use rowkey_postgres::names;
use rowkey_postgres::parameters;
use rowkey_postgres::plan_size::refuse_many_expressions;
use rowkey_postgres::syntax::{Request, Statement, parse};
use rowkey_postgres::type_modifiers::type_modifiers;

/// The table functions of schema `rowkey`, by name. They plan statements, so what they are made of
/// is above this module.
pub(crate) type MakeFunctions = &'static [(&'static str, fn(PlanningContext) -> Arc<dyn TableFunctionImpl>)];

/// A statement being planned: the functions and rules of all statements, with the tables of one
/// snapshot.
#[derive(Debug, Clone)]
pub(crate) struct StatementPlanner {
    pub state: Arc<LentState>,
    context: PlanningContext,
}

/// What a statement is planned with. It costs little to keep, for functions that plan statements
/// and are seldom called.
#[derive(Debug, Clone)]
pub(crate) struct PlanningContext {
    settings: StatementSettings,
    tables: SnapshotCatalog,
    relations: SnapshotRelations,
    functions: MakeFunctions,
}

impl PlanningContext {
    /// `settings` has the functions, rules and settings of the session.
    pub(crate) fn new(
        settings: StatementSettings,
        tables: SnapshotCatalog,
        system: SystemCatalog,
        search_path: Vec<String>,
        functions: MakeFunctions,
    ) -> Self {
        let relations =
            SnapshotRelations::new(&tables.snapshot, &tables.account, system, search_path, Arc::clone(&tables.columns))
                .with_exports(tables.exports.clone());
        Self { settings, tables, relations, functions }
    }

    pub(crate) fn planner(&self) -> StatementPlanner {
        let state = self.settings.lend(|state| {
            state.register_catalog_list(Arc::new(self.tables.clone()));
            for (name, make) in self.functions {
                state.register_udtf(name, make(self.clone()));
            }
        });
        StatementPlanner { state: Arc::new(state), context: self.clone() }
    }

    /// The query of a view, planned as where the view will be read.
    pub(crate) async fn view_query(&self, statement: &Statement, query: &ast::Statement) -> Result<PlannedQuery> {
        let nested = Self {
            // Others who read the view may read no files.
            tables: SnapshotCatalog { exports: None, ..self.tables.views.nested(&self.tables) },
            relations: self.relations.along(vec![PUBLIC.to_owned()]),
            ..self.clone()
        };
        let planned = nested.planner().query(statement, query.clone(), &[]).await?;
        refuse_large(&planned.plan)?;
        Ok(planned)
    }

    /// The plan of such a query with its literals read: what is planned around it does not read
    /// them anew.
    pub(crate) fn with_literals_read(&self, planned: &PlannedQuery) -> Result<LogicalPlan> {
        match &planned.analyzed {
            Some(analyzed) => Ok(analyzed.clone()),
            None => ctes::analyzed(&self.planner().state, &planned.plan).map_err(from_datafusion),
        }
    }

    /// The same with literals read in a style of their own, those of views within it too.
    pub(crate) fn with_literal_style(&self, style: TextStyle) -> Self {
        let tables = self.tables.views.with_literal_style(&style, &self.tables);
        Self { settings: self.settings.with_literal_style(style), tables, ..self.clone() }
    }

    /// The same a year later.
    fn a_year_later(&self) -> Self {
        Self { settings: self.settings.a_year_later(), ..self.clone() }
    }

    /// Whether the literals of a query are read otherwise at another moment: `'today'`, `'now'`.
    pub(crate) async fn reads_the_clock(
        &self,
        statement: &Statement,
        query: &ast::Statement,
        planned: &PlannedQuery,
    ) -> Result<bool> {
        let later = self.a_year_later();
        let other = later.view_query(statement, query).await?;
        Ok(later.with_literals_read(&other)? != self.with_literals_read(planned)?)
    }

    /// The style in which literals are read.
    pub(crate) fn literal_style(&self) -> TextStyle {
        let style = LiteralStyle::in_force(self.settings.config().options());
        style.map_or_else(TextStyle::default, |style| style.as_ref().clone())
    }
}

/// A query whose names are resolved and whose types are known.
#[derive(Debug)]
pub(crate) struct PlannedQuery {
    pub plan: LogicalPlan,
    pub parameters: Vec<&'static PostgresType>,
    pub columns: Vec<Column>,
    /// What the analyzer makes of the plan, where it was asked for the types of the columns.
    pub analyzed: Option<LogicalPlan>,
    /// Schemas and names of the relations that it reads.
    pub relations: Vec<(String, String)>,
}

/// An error once the statement that is planned is to stop.
fn refuse_if_stopped(state: &SessionState) -> Result<()> {
    match state.config_options().extensions.get::<PlanningSignals>() {
        Some(signals) => signals.0.check(),
        None => Ok(()),
    }
}

impl StatementPlanner {
    /// What plans are executed with.
    pub(crate) fn task(&self) -> Arc<TaskContext> {
        self.context.settings.task_context()
    }

    /// The same for the text of a view, whose names do not depend on who reads it.
    pub(crate) fn for_views(&self) -> Self {
        let relations = self.context.relations.along(vec![PUBLIC.to_owned()]);
        Self { state: Arc::clone(&self.state), context: PlanningContext { relations, ..self.context.clone() } }
    }

    pub(crate) fn catalog(&self) -> &Catalog {
        &self.context.tables.snapshot.catalog
    }

    pub(crate) fn account(&self) -> &AccountName {
        &self.context.tables.account
    }

    pub(crate) fn snapshot(&self) -> &Snapshot {
        &self.context.tables.snapshot
    }

    /// The columns of a table of the snapshot.
    pub(crate) fn columns_of(&self, table: &Arc<Table>) -> TableColumns {
        self.context.tables.columns.of(table)
    }

    /// The same with rows in memory beside the tables, as relation [`MEMORY_ROWS`].
    pub(crate) fn with_rows(&self, rows: Arc<dyn TableProvider>) -> Self {
        let tables = SnapshotCatalog { rows: Some(rows), ..self.context.tables.clone() };
        PlanningContext { tables, ..self.context.clone() }.planner()
    }

    /// The same for another snapshot.
    pub(crate) fn seeing(&self, snapshot: &Snapshot) -> Self {
        let tables = SnapshotCatalog { snapshot: snapshot.clone(), ..self.context.tables.clone() };
        let relations = self.context.relations.of(snapshot);
        PlanningContext { tables, relations, ..self.context.clone() }.planner()
    }

    /// Schema and name of the relation that a name means.
    pub(crate) fn relation_named(&self, name: &ast::ObjectName) -> Option<(String, String)> {
        let parts: Vec<_> = name.0.iter().map(|part| part.as_ident()).collect::<Option<_>>()?;
        fn as_name(ident: &ast::Ident) -> names::Name<'_> {
            (&ident.value, ident.quote_style.is_some())
        }
        let (schema, name) = match parts.as_slice() {
            [name] => (None, name),
            [.., schema, name] => (Some(as_name(schema)), name),
            [] => return None,
        };
        match names::Relations::relation(&self.context.relations, schema, as_name(name)) {
            names::Lookup::Found(relation) => Some((relation.schema, relation.name)),
            names::Lookup::NoSuchSchema | names::Lookup::NoSuchRelation { .. } => None,
        }
    }

    /// Whether a view can be read.
    pub(crate) async fn has_view(&self, view: &Arc<rowkey_storage::View>) -> bool {
        self.context.tables.views.expand(view, &self.context.tables).await.is_ok()
    }

    /// The zone of times without one.
    pub(crate) fn zone(&self) -> Result<functions::Zone> {
        functions::Zone::of(self.state.config_options()).map_err(from_datafusion)
    }

    /// A plan to look at.
    pub(crate) async fn physical(&self, plan: &LogicalPlan) -> Result<(Arc<dyn ExecutionPlan>, Arc<TaskContext>)> {
        Ok((physical_plan(&self.state, plan.clone()).await.map_err(from_datafusion)?, self.task()))
    }

    /// Runs a plan.
    pub(crate) async fn execute(&self, plan: &LogicalPlan, signals: &Arc<Signals>) -> Result<CancellableRows> {
        let plan = physical_plan(&self.state, plan.clone()).await.map_err(from_datafusion)?;
        cancellable_rows(plan, self.task(), signals).map_err(from_datafusion)
    }

    /// What a view is to be made of, planned as where it will be read.
    pub(crate) async fn view_query(&self, statement: &Statement, query: &ast::Statement) -> Result<PlannedQuery> {
        self.context.view_query(statement, query).await
    }

    /// What the statement is planned with.
    pub(crate) fn context(&self) -> &PlanningContext {
        &self.context
    }

    /// All rows of a query of our own, whose answer is small.
    pub(crate) async fn rows(&self, sql: &str) -> Result<Vec<RecordBatch>> {
        let statement = parse(sql)?;
        let Request::Query(query) = &statement.request else {
            return Err(Error::new(SqlState::INTERNAL_ERROR, format!("not a query: {sql}")));
        };
        let plan = self.for_views().physical_plan(&statement, query).await?;
        Answer::new(execute_stream(plan, self.task()).map_err(from_datafusion)?).collect().await
    }

    /// Plans a query of which nothing is known but its text.
    pub(crate) async fn physical_plan(
        &self,
        statement: &Statement,
        query: &ast::Statement,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let planned = self.query(statement, query.clone(), &[]).await?;
        if !planned.parameters.is_empty() {
            return Err(Error::new(
                SqlState::INVALID_STATEMENT,
                "the statement has parameters, for which there are no values",
            ));
        }
        physical_plan(&self.state, planned.plan).await.map_err(from_datafusion)
    }

    /// The plan of a query before its values are known, with the types of its parameters and its
    /// columns.
    pub(crate) async fn query(
        &self,
        statement: &Statement,
        mut query: ast::Statement,
        declared: &[Option<&'static PostgresType>],
    ) -> Result<PlannedQuery> {
        refuse_many_expressions(&query)?;
        let resolved = self.resolve(statement, &mut query)?;
        let planned = self.resolved_query(statement, query, &resolved.functions, resolved.output, declared).await?;
        Ok(PlannedQuery { relations: resolved.relations, ..planned })
    }

    /// Puts queries in the place of functions in FROM that stand for one.
    pub(crate) fn expand(&self, statement: &Statement, expanded: &mut ast::Statement) -> Result<()> {
        relation_functions::expand(expanded, &self.context.tables, &statement.source)
    }

    /// Writes into a statement what its names mean.
    pub(crate) fn resolve(&self, statement: &Statement, resolved: &mut ast::Statement) -> Result<names::Resolved> {
        self.expand(statement, resolved)?;
        own_functions::unqualify(resolved);
        names::resolve(resolved, &self.context.relations).map_err(|error| error.located(&statement.source))
    }

    /// [`Self::query`] for a query whose names are resolved. Without labels for its columns they
    /// have the planner's names.
    pub(crate) async fn resolved_query(
        &self,
        statement: &Statement,
        mut query: ast::Statement,
        called: &[(String, Location)],
        output: Vec<names::OutputColumn>,
        declared: &[Option<&'static PostgresType>],
    ) -> Result<PlannedQuery> {
        desugar::rewrite_syntax(&mut query).map_err(from_datafusion)?;
        functions::rewrite_syntax(&mut query)?;
        let state = functions::with_undefined(&self.state, called.iter().map(|(name, _)| name.as_str()))
            .map_err(from_datafusion)?;
        let planned = parameters::plan(&state, query, declared).await;
        let (plan, parameters) = planned.map_err(|error| at_function(error, called, &statement.source))?;
        // Literals and what is computed from them get their types from the analyzer.
        let analyzed = match self.are_columns_of_tables(&output) {
            true => None,
            // What is wrong beside the types of the columns is told when the statement runs.
            false => match ctes::analyzed(&state, &plan) {
                Ok(analyzed) => Some(analyzed),
                // But not that the statement is to stop: its columns would have other types then.
                Err(error) => {
                    refuse_if_stopped(&state)?;
                    if !output.is_empty() && plan.schema().fields().len() != output.len() {
                        return Err(from_datafusion(error));
                    }
                    None
                }
            },
        };
        let mut columns = self.columns(analyzed.as_ref().unwrap_or(&plan), output)?;
        if analyzed.is_some() {
            for (column, modifier) in columns.iter_mut().zip(type_modifiers(&plan)) {
                column.modifier = modifier;
            }
        }
        Ok(PlannedQuery { plan, parameters, columns, analyzed, relations: Vec::new() })
    }

    /// Whether the output is nothing but columns of entity tables, whose types are stored. Those of
    /// views are what the analyzer makes of their queries.
    fn are_columns_of_tables(&self, output: &[names::OutputColumn]) -> bool {
        // Neighbours are mostly of one relation, which is looked up once.
        let mut before: Option<(&str, &str)> = None;
        !output.is_empty()
            && output.iter().all(|output| {
                let Some(names::Origin { schema, relation, .. }) = &output.origin else { return false };
                if before == Some((schema, relation)) {
                    return true;
                }
                before = Some((schema, relation));
                let name = TableName::parse(relation).ok().filter(|_| *schema == PUBLIC);
                name.is_some_and(|name| self.catalog().table(self.account(), &name).is_some())
            })
    }

    fn columns(&self, plan: &LogicalPlan, output: Vec<names::OutputColumn>) -> Result<Vec<Column>> {
        let fields = plan.schema().fields();
        if output.is_empty() {
            // SHOW TABLES and DESCRIBE have no labels of their own.
            return Ok(fields
                .iter()
                .map(|field| Column { field: Arc::clone(field), origin: None, modifier: -1 })
                .collect());
        }
        if fields.len() != output.len() {
            let message = format!("{} columns were planned, {} named", fields.len(), output.len());
            return Err(Error::new(SqlState::INTERNAL_ERROR, message));
        }
        // Each relation is looked up once, however many of its columns there are.
        let mut numbers = HashMap::new();
        let columns = fields.iter().zip(output).map(|(field, output)| {
            let origin = output.origin.and_then(|names::Origin { schema, relation, column }| {
                let found = numbers
                    .entry((schema, relation))
                    .or_insert_with_key(|(schema, relation)| self.context.relations.column_numbers(schema, relation));
                let (oid, numbers) = found.as_ref()?;
                Some((*oid, *numbers.get(&column)?))
            });
            Column { field: Arc::new(field.as_ref().clone().with_name(output.label)), origin, modifier: -1 }
        });
        Ok(columns.collect())
    }
}
