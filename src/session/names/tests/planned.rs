//! What the pass writes is what the planner takes.

use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::catalog::{MemTable, MemorySchemaProvider, SchemaProvider};
use datafusion::error::DataFusionError;
use datafusion::prelude::{SessionConfig, SessionContext};
use datafusion::sql::parser::Statement;

use super::{Fixture, TABLES, parse, resolve};

/// The relations of the fixture, without rows.
fn context() -> SessionContext {
    let config = SessionConfig::new().with_default_catalog_and_schema("rowkey", "public");
    let context = SessionContext::new_with_config(config);
    let catalog = context.catalog("rowkey").expect("the default catalog");
    for (schema, name, columns, _) in TABLES {
        let data_type =
            |name: &str| if ["Age", "Id", "oid"].contains(&name) { DataType::Int64 } else { DataType::Utf8 };
        let fields: Vec<Field> = columns.iter().map(|name| Field::new(*name, data_type(name), true)).collect();
        let fields = Arc::new(Schema::new(fields));
        let rows = RecordBatch::new_empty(Arc::clone(&fields));
        let table = MemTable::try_new(fields, vec![vec![rows]]).expect("a table");
        let provider = catalog.schema(schema).unwrap_or_else(|| {
            let provider = Arc::new(MemorySchemaProvider::new());
            catalog.register_schema(schema, Arc::clone(&provider) as Arc<dyn SchemaProvider>).expect("a schema");
            provider
        });
        provider.register_table(name.to_owned(), Arc::new(table)).expect("a table");
    }
    context
}

async fn run(context: &SessionContext, sql: &str) -> Result<(), DataFusionError> {
    let mut statement = parse(sql);
    let resolved = resolve(&mut statement, &Fixture).expect(sql);
    let plan = context.state().statement_to_plan(Statement::Statement(Box::new(statement))).await?;
    assert_eq!(plan.schema().fields().len(), resolved.output.len(), "{sql}");
    context.execute_logical_plan(plan).await?.collect().await?;
    Ok(())
}

/// Every SELECT of the tables in text.
fn selects() -> Vec<&'static str> {
    let tables =
        [include_str!("columns.txt"), include_str!("from.txt"), include_str!("with.txt"), include_str!("order.txt")];
    let paragraphs = tables.into_iter().flat_map(|table| table.split("\n\n"));
    paragraphs.filter_map(|paragraph| paragraph.split_once("\n  = ")).map(|(sql, _)| sql).collect()
}

/// What the planner cannot do under any names.
const BEYOND_THE_PLANNER: [&str; 1] = ["ordinality"];

#[tokio::test]
async fn the_planner_takes_what_is_written() {
    let context = context();
    let mut refused = Vec::new();
    let selects = selects();
    assert!(selects.len() > 80, "only {}", selects.len());
    for sql in selects {
        if BEYOND_THE_PLANNER.iter().any(|word| sql.contains(word)) {
            continue;
        }
        if let Err(error) = run(&context, sql).await {
            refused.push(format!("{sql}\n  {}", error.message()));
        }
    }
    assert!(refused.is_empty(), "{} refused:\n{}", refused.len(), refused.join("\n"));
}
