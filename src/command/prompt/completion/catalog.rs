//! What the database has to offer, asked for with little patience.

use std::future::Future;
use std::time::Duration;

use arrow::array::{Array, AsArray};
use arrow::compute::cast;
use arrow::datatypes::DataType;
use futures::TryStreamExt;
use tokio::runtime::Handle;

use rowkey_model::{Interval, KeyCut, KeyRange};
use rowkey_sql::engine::Engine;
use std::sync::Arc;

/// Most key values that are offered.
const KEYS_MAX: usize = 50;

/// A relation, with its schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Relation {
    pub schema: String,
    pub name: String,
}

/// The database, asked on other threads: whatever takes too long is nothing.
pub(super) struct Catalog {
    database: Arc<Engine>,
    threads: Handle,
    patience: Duration,
}

impl Catalog {
    pub(super) fn new(database: Arc<Engine>, threads: Handle, patience: Duration) -> Self {
        Self { database, threads, patience }
    }

    pub(super) fn relations(&self) -> Vec<Relation> {
        let query = "SELECT n.nspname, c.relname FROM pg_catalog.pg_class c \
                     JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind IN ('r', 'v') ORDER BY 1, 2";
        let rows = self.rows(query.to_owned());
        rows.into_iter()
            .filter_map(|row| <[String; 2]>::try_from(row).ok())
            .map(|[schema, name]| Relation { schema, name })
            .collect()
    }

    /// Columns of a relation, in their order.
    pub(super) fn columns(&self, schema: Option<&str>, relation: &str) -> Vec<String> {
        let literal = |text: &str| format!("'{}'", text.to_lowercase().replace('\'', "''"));
        let schemas = schema.map_or("'public', 'pg_catalog'".to_owned(), literal);
        let query = format!(
            "SELECT a.attname FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_class c ON c.oid = a.attrelid \
             JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
             WHERE lower(c.relname) = {} AND lower(n.nspname) IN ({schemas}) AND a.attnum > 0 ORDER BY a.attnum",
            literal(relation)
        );
        self.rows(query).into_iter().flatten().collect()
    }

    /// PartitionKeys of a table that begin so, in their order. Each is found by its own look into
    /// the index.
    pub(super) fn partition_keys(&self, table: &str, prefix: &str) -> Vec<String> {
        let Ok(table) = self.database.entities().table_id(table) else { return Vec::new() };
        let database = Arc::clone(&self.database);
        let prefix = Interval::prefix(prefix);
        self.within_patience(async move {
            let (mut lower, upper) = (KeyCut::of_partitions(prefix.lower()), KeyCut::of_partitions(prefix.upper()));
            let mut keys = Vec::new();
            while keys.len() < KEYS_MAX
                && let Some(range) = KeyRange::new(lower.clone(), upper.clone())
                && let Some(entity) = database.entities().range(table, range).try_next().await.ok().flatten()
            {
                let key = entity.key.partition.clone();
                lower = KeyCut::AfterPartition(key.clone());
                keys.push(key);
            }
            keys
        })
    }

    /// RowKeys of a partition that begin so, in their order.
    pub(super) fn row_keys(&self, table: &str, partition: &str, prefix: &str) -> Vec<String> {
        let Ok(table) = self.database.entities().table_id(table) else { return Vec::new() };
        let database = Arc::clone(&self.database);
        let range = KeyRange::rows(partition, &Interval::prefix(prefix));
        self.within_patience(async move {
            let mut keys = Vec::new();
            let mut entities = database.entities().range(table, range);
            while keys.len() < KEYS_MAX
                && let Some(entity) = entities.try_next().await.ok().flatten()
            {
                keys.push(entity.key.row.clone());
            }
            keys
        })
    }

    /// Rows of texts; none where the question fails or takes too long.
    fn rows(&self, query: String) -> Vec<Vec<String>> {
        let database = self.database.clone();
        self.within_patience(async move {
            let answer = async { database.sql(&query, &[]).await?.collect().await };
            let Ok(batches) = answer.await else { return Vec::new() };
            let mut rows = Vec::new();
            for batch in batches {
                let columns: Vec<_> =
                    batch.columns().iter().filter_map(|array| cast(array, &DataType::Utf8).ok()).collect();
                for row in 0..batch.num_rows() {
                    let texts =
                        columns.iter().map(|array| array.as_string::<i32>()).filter(|texts| texts.is_valid(row));
                    rows.push(texts.map(|texts| texts.value(row).to_owned()).collect());
                }
            }
            rows
        })
    }

    fn within_patience<T: Default + Send + 'static>(&self, question: impl Future<Output = T> + Send + 'static) -> T {
        let mut task = self.threads.spawn(question);
        let answered = self.threads.block_on(async { tokio::time::timeout(self.patience, &mut task).await });
        match answered {
            Ok(answer) => answer.unwrap_or_default(),
            Err(_) => {
                task.abort();
                T::default()
            }
        }
    }
}
