//! Queries of few rows: a read by key, or one row without a table, and what is computed from it.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow::datatypes::{DataType, FieldRef, Schema, SchemaRef};
use datafusion::common::{DataFusionError, ScalarValue};

use super::key_read::{KeyRead, KeyRows};
use super::pipeline::Pipeline;
use rowkey_base::Result;
use rowkey_postgres::error::from_datafusion;
use rowkey_postgres::types::{PostgresType, SqlValue};
use rowkey_storage::Snapshot;
use rowkey_storage::run::RunFiles;

/// A query of one table whose condition bounds the rows by their keys, or of none.
#[derive(Debug)]
pub(crate) struct KeyQuery {
    /// Reads the columns that are computed with; without it there is one row.
    pub(super) read: Option<KeyRead>,
    /// Those columns.
    pub(super) schema: SchemaRef,
    pub(super) pipeline: Pipeline,
    /// Types of parameters as the expressions were planned with them.
    pub(super) parameters: Vec<(&'static PostgresType, Option<DataType>)>,
    /// How many expressions are computed of each row.
    pub(super) expressions: usize,
}

/// More values than these are computed apart from sockets: they take a millisecond or two.
const VALUES_MAX: usize = 40_000;

impl KeyQuery {
    /// Whether it takes some microseconds.
    pub(crate) fn is_small(&self, snapshot: &Snapshot, values: &[SqlValue]) -> bool {
        self.read.as_ref().is_none_or(|read| read.is_small(snapshot, values))
    }

    /// The rows, under the names and with the types of `fields`. `None` if the statement has to be
    /// run as a query.
    pub(crate) async fn rows(
        &self,
        files: &RunFiles,
        snapshot: &Snapshot,
        values: &[SqlValue],
        fields: Vec<FieldRef>,
    ) -> Result<Option<KeyRows>> {
        let Some(scalars) = self.scalars(values)?.filter(|scalars| self.pipeline.has_row_counts(scalars)) else {
            return Ok(None);
        };
        let rows = match &self.read {
            Some(read) => match read.rows(files, snapshot, values, &self.schema).await? {
                Some(rows) => rows,
                None => return Ok(None),
            },
            None => {
                let one = RecordBatchOptions::new().with_row_count(Some(1));
                let row = RecordBatch::try_new_with_options(Arc::clone(&self.schema), Vec::new(), &one);
                row.map_err(|error| from_datafusion(DataFusionError::from(error)))?
            }
        };
        if rows.num_rows().saturating_mul(self.expressions) > VALUES_MAX {
            return Ok(None);
        }
        let read = self.read.as_ref().map(|read| (read.path(), rows.num_rows() as u64));
        let computed = self.pipeline.run(rows, &scalars).map_err(from_datafusion)?;
        let are_alike = |(field, values): (&FieldRef, &ArrayRef)| field.data_type() == values.data_type();
        if !fields.iter().zip(computed.columns()).all(are_alike) {
            return Ok(None);
        }
        let options = RecordBatchOptions::new().with_row_count(Some(computed.num_rows()));
        let labelled =
            RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), computed.columns().to_vec(), &options);
        let rows = labelled.map_err(|error| from_datafusion(DataFusionError::from(error)))?;
        Ok(Some(KeyRows { rows, read }))
    }

    /// The values as expressions take them; `None` where one is of another type, as numerics are
    /// that have more digits than others.
    fn scalars(&self, values: &[SqlValue]) -> Result<Option<Vec<ScalarValue>>> {
        let mut scalars = Vec::with_capacity(values.len());
        for (value, (ty, data_type)) in values.iter().zip(&self.parameters) {
            let scalar = ScalarValue::try_from_array(&value.to_array(ty)?, 0).map_err(from_datafusion)?;
            if data_type.as_ref().is_some_and(|planned| scalar.data_type() != *planned) {
                return Ok(None);
            }
            scalars.push(scalar);
        }
        Ok(Some(scalars))
    }
}
