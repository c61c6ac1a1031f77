//! The properties without a column of their own: their names are in no manifest, so the `(other)`
//! columns are read.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::AsArray;
use datafusion::common::{DataFusionError, Result, exec_err};
use futures::StreamExt;

use super::properties::Statistics;
use rowkey_model::EdmType;
use rowkey_storage::Table;
use rowkey_storage::run::{Columns, RunFile, RunFiles, decode_other};

/// Rows decoded at a time.
const BATCH_ROWS: usize = 4096;
/// Most names, with their types, that are listed.
const NAMES_MAX: usize = 50_000;

pub(super) type OtherProperties = BTreeMap<(Arc<str>, EdmType), Statistics>;

/// Counts and bounds of all of them, over live rows. Files that have none are not opened.
pub(super) async fn other_properties(table: &Table, files: &RunFiles) -> Result<OtherProperties> {
    let mut found = OtherProperties::new();
    for file in table.manifest.files().filter(|file| file.other) {
        add_file(file, files, &mut found).await?;
        if found.len() > NAMES_MAX {
            return exec_err!(
                "table \"{}\" has more than {NAMES_MAX} properties without a column of their own, which are not listed",
                table.name
            );
        }
    }
    Ok(found)
}

async fn add_file(file: &Arc<RunFile>, files: &RunFiles, found: &mut OtherProperties) -> Result<()> {
    let external = |error: rowkey_storage::Error| DataFusionError::External(Box::new(error));
    let open = files.open(file).await.map_err(external)?;
    let mut batches = open.read(0..file.rows, Columns::Other, BATCH_ROWS).map_err(external)?;
    while let Some(batch) = batches.next().await {
        let batch = batch.map_err(external)?;
        let others = batch.columns().first().and_then(|column| column.as_binary_opt::<i32>());
        let Some(others) = others else { return exec_err!("{}: its (other) column cannot be read", file.path) };
        for other in others.iter().flatten() {
            let Some(properties) = decode_other(other) else {
                return exec_err!("{}: a value of (other) cannot be read", file.path);
            };
            for (name, value) in properties {
                let statistics = found.entry((name, value.edm_type())).or_default();
                statistics.entities += 1;
                statistics.bounds.add(value);
            }
        }
        if found.len() > NAMES_MAX {
            return Ok(());
        }
    }
    Ok(())
}
