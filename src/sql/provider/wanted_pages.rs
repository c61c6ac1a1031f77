//! A Parquet scan of the pages that may hold wanted keys, and of no others.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::parquet::ParquetRowSelection;
use datafusion::datasource::physical_plan::{
    FileGroup, FileScanConfig, FileScanConfigBuilder, FileSource, ParquetSource,
};
use parquet::arrow::arrow_reader::{RowSelection, RowSelector};

use super::reader::file_of;
use rowkey_model::KeySet;
use rowkey_postgres::error::external;
use rowkey_storage::run::{OpenRun, RunFiles};

/// Rows by which the reader rounds a selection, where it keeps columns that a filter has decoded
/// for their output: the rows of a batch.
const ROUNDED_ROWS: u64 = 8192;

/// The scan without files and pages that hold none of the keys.
pub(super) async fn with_wanted_pages(
    config: &FileScanConfig,
    files: &RunFiles,
    keys: &KeySet,
) -> Result<FileScanConfig> {
    let mut wanted = Wanted::default();
    let mut groups = Vec::with_capacity(config.file_groups.len());
    for group in &config.file_groups {
        let mut narrowed = Vec::with_capacity(group.len());
        for file in group.files() {
            narrowed.extend(wanted.of_file(files, file, keys).await?);
        }
        groups.push(FileGroup::new(narrowed));
    }
    let builder = FileScanConfigBuilder::from(config.clone()).with_file_groups(groups);
    let source = if wanted.are_scattered() { without_cache(config) } else { None };
    Ok(source.into_iter().fold(builder, FileScanConfigBuilder::with_source).build())
}

/// What is wanted of all files.
#[derive(Debug, Default)]
struct Wanted {
    rows: u64,
    /// Stretches of rows.
    stretches: u64,
}

impl Wanted {
    /// Whether rounded stretches would be mostly of rows that are not wanted: to decode keys twice,
    /// for the filter and for the output, costs less.
    fn are_scattered(&self) -> bool {
        self.stretches * ROUNDED_ROWS > self.rows
    }

    async fn of_file(
        &mut self,
        files: &RunFiles,
        file: &PartitionedFile,
        keys: &KeySet,
    ) -> Result<Option<PartitionedFile>> {
        let Some(run) = file_of(file) else { return Ok(None) };
        if keys.covers(run.first.as_ref(), run.last.as_ref()) {
            self.rows += run.rows;
            self.stretches += 1;
            return Ok(Some(file.clone()));
        }
        if !keys.overlaps(run.first.as_ref(), run.last.as_ref()) {
            return Ok(None);
        }
        let open = files.open(run).await.map_err(external)?;
        let selection = self.of_run(&open, keys);
        Ok(selection.selects_any().then(|| file.clone().with_extension(ParquetRowSelection::from(selection))))
    }

    /// The rows of the pages that may hold some of the keys.
    fn of_run(&mut self, open: &OpenRun, keys: &KeySet) -> RowSelection {
        let mut selectors: Vec<RowSelector> = Vec::new();
        let mut at = 0;
        for (_, block) in open.blocks_with(keys) {
            if at < block.rows.start {
                selectors.push(RowSelector::skip((block.rows.start - at) as usize));
            }
            if at < block.rows.start || at == 0 {
                self.stretches += 1;
            }
            let rows = block.rows.end - block.rows.start;
            selectors.push(RowSelector::select(rows as usize));
            self.rows += rows;
            at = block.rows.end;
        }
        if at < open.run.rows {
            selectors.push(RowSelector::skip((open.run.rows - at) as usize));
        }
        RowSelection::from(selectors)
    }
}

/// The Parquet source without a cache of columns between its filter and its output.
fn without_cache(config: &FileScanConfig) -> Option<Arc<dyn FileSource>> {
    let source = config.file_source().downcast_ref::<ParquetSource>()?;
    let mut options = source.table_parquet_options().clone();
    options.global.max_predicate_cache_size = Some(0);
    Some(Arc::new(source.clone().with_table_parquet_options(options)))
}
