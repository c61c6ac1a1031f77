//! Functions that are tables: `pg_get_keywords()`, `pg_show_all_settings()`.

use std::sync::Arc;

use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::datatypes::{Field, Schema, SchemaRef};
use async_trait::async_trait;
use datafusion::catalog::{Session, TableFunctionArgs, TableFunctionImpl, TableProvider};
use datafusion::common::{Result, plan_err};
use datafusion::datasource::memory::MemorySourceConfig;
use datafusion::logical_expr::{Expr, TableType};
use datafusion::physical_plan::ExecutionPlan;

use super::context::{FunctionContext, FunctionContextExtension};
use super::datum::{Datum, Returns};
use super::keywords::{KEYWORDS, requires_as};

type Columns = &'static [(&'static str, Returns)];

/// A function without arguments: its name, its columns, its rows.
#[derive(Debug, Clone, Copy)]
struct Definition {
    name: &'static str,
    columns: Columns,
    rows: fn(Option<&dyn FunctionContext>) -> Vec<Vec<Datum>>,
}

const DEFINITIONS: &[Definition] = &[
    Definition {
        name: "pg_get_keywords",
        columns: &[
            ("word", Returns::Text),
            ("catcode", Returns::Named("char")),
            ("barelabel", Returns::Bool),
            ("catdesc", Returns::Text),
            ("baredesc", Returns::Text),
        ],
        rows: |_| keywords(),
    },
    Definition {
        name: "pg_show_all_settings",
        columns: &[
            ("name", Returns::Text),
            ("setting", Returns::Text),
            ("unit", Returns::Text),
            ("category", Returns::Text),
            ("short_desc", Returns::Text),
            ("extra_desc", Returns::Text),
            ("context", Returns::Text),
            ("vartype", Returns::Text),
            ("source", Returns::Text),
            ("min_val", Returns::Text),
            ("max_val", Returns::Text),
            ("enumvals", Returns::Texts("text")),
            ("boot_val", Returns::Text),
            ("reset_val", Returns::Text),
            ("sourcefile", Returns::Text),
            ("sourceline", Returns::Int4),
            ("pending_restart", Returns::Bool),
        ],
        rows: |context| context.map(settings).unwrap_or_default(),
    },
];

fn keywords() -> Vec<Vec<Datum>> {
    let rows = KEYWORDS.iter().map(|(word, category)| {
        let (code, description) = category.described();
        let bare = !requires_as(word);
        let bare_description = if bare { "can be bare label" } else { "requires AS" };
        vec![(*word).into(), code.into(), bare.into(), description.into(), bare_description.into()]
    });
    rows.collect()
}

fn settings(context: &dyn FunctionContext) -> Vec<Vec<Datum>> {
    let row = |facts: super::context::SettingFacts| {
        vec![
            facts.name.into(),
            facts.setting.into(),
            facts.unit.into(),
            facts.category.into(),
            facts.description.into(),
            facts.more.into(),
            facts.context.into(),
            facts.value_type.into(),
            facts.source.into(),
            facts.min.into(),
            facts.max.into(),
            facts.allowed.map_or(Datum::Null, |allowed| Datum::List(allowed.into_iter().map(Datum::from).collect())),
            facts.boot.into(),
            facts.reset.into(),
            Datum::Null,
            Datum::Null,
            false.into(),
        ]
    };
    context.settings().into_iter().map(row).collect()
}

/// The names of these functions, each with what DataFusion asks for its table.
pub(super) fn table_functions() -> Vec<(&'static str, Arc<dyn TableFunctionImpl>)> {
    DEFINITIONS
        .iter()
        .map(|definition| (definition.name, Arc::new(SystemTable(*definition)) as Arc<dyn TableFunctionImpl>))
        .collect()
}

#[derive(Debug)]
struct SystemTable(Definition);

impl TableFunctionImpl for SystemTable {
    fn call_with_args(&self, args: TableFunctionArgs) -> Result<Arc<dyn TableProvider>> {
        let given: &[Expr] = args.exprs();
        if !given.is_empty() {
            return plan_err!("{}() takes no arguments", self.0.name);
        }
        let fields: Vec<Field> = self.0.columns.iter().map(|(name, returns)| returns.field(name)).collect();
        Ok(Arc::new(Rows { definition: self.0, schema: Arc::new(Schema::new(fields)) }))
    }
}

#[derive(Debug)]
struct Rows {
    definition: Definition,
    schema: SchemaRef,
}

#[async_trait]
impl TableProvider for Rows {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Temporary
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        _filters: &[Expr],
        _limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let rows = (self.definition.rows)(FunctionContextExtension::of(state.config_options()).ok());
        let mut columns = Vec::with_capacity(self.definition.columns.len());
        for (at, (_, returns)) in self.definition.columns.iter().enumerate() {
            let values: Vec<Datum> = rows.iter().map(|row| row.get(at).cloned().unwrap_or(Datum::Null)).collect();
            columns.push(returns.array(&values)?);
        }
        let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
        let batch = RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)?;
        let source = MemorySourceConfig::try_new_exec(&[vec![batch]], Arc::clone(&self.schema), projection.cloned())?;
        Ok(source)
    }
}

/// The columns of one of these functions.
pub fn table_function_columns(name: &str) -> Option<Vec<String>> {
    let definition = DEFINITIONS.iter().find(|definition| definition.name == name)?;
    Some(definition.columns.iter().map(|(column, _)| (*column).to_owned()).collect())
}
