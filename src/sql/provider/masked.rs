//! Stored rows without those that recent writes take the place of.
//!
//! A mask of many single rows is slow as a row selection: it goes through several lists of
//! stretches on its way to the decoder. So rows are read with their numbers, and masked ones are
//! taken out of every batch. Where a limit counts rows, or something evaluated inside the reader
//! may fail, masked rows must not get so far: there it is a selection.

use std::sync::Arc;

use arrow::array::{AsArray, RecordBatch, RecordBatchOptions};
use arrow::buffer::BooleanBuffer;
use arrow::datatypes::{DataType, Field, Int64Type, SchemaRef};
use datafusion::common::config::ConfigOptions;
use datafusion::common::{DataFusionError, Result, internal_err};
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::parquet::ParquetRowSelection;
use datafusion::datasource::physical_plan::{FileGroup, FileScanConfig, FileScanConfigBuilder, FileSource};
use datafusion::datasource::source::DataSourceExec;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::functions::core::file_row_index;
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::expressions::{
    BinaryExpr, Column, DynamicFilterPhysicalExpr, InListExpr, IsNotNullExpr, IsNullExpr, LikeExpr, Literal, NotExpr,
};
use datafusion::physical_expr::projection::{ProjectionExpr, ProjectionExprs};
use datafusion::physical_expr::{PhysicalExpr, ScalarFunctionExpr};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::metrics::Count;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use futures::{StreamExt, TryStreamExt, stream};
use parquet::arrow::arrow_reader::{RowSelection, RowSelector};

use super::filter::RowFilter;
use super::optional_filter::OptionalFilter;
use super::reader::RunHandle;
use rowkey_storage::run::RunFile;

/// Streams the live rows of the files of one group; `masked` counts those that were read and are
/// not among them.
pub(super) fn live_rows(
    config: &FileScanConfig,
    group: usize,
    schema: &SchemaRef,
    masked: Count,
    context: &Arc<TaskContext>,
) -> Result<SendableRecordBatchStream> {
    let files = config.file_groups.get(group).map(|group| group.files().to_vec()).unwrap_or_default();
    let source = config.file_source();
    let evaluates_all = source.filter().is_none_or(|filter| cannot_fail(&filter))
        && source.projection().is_none_or(|projection| projection.iter().all(|out| cannot_fail(&out.expr)));
    if config.limit.is_some() || !evaluates_all {
        return scan(config, files.into_iter().map(selected).collect(), context);
    }
    let numbered = FileScanConfigBuilder::from(config.clone()).with_source(with_row_numbers(config)?).build();
    let mut parts: Vec<(Vec<PartitionedFile>, Option<BooleanBuffer>)> = Vec::new();
    for file in files {
        let live = file.extension::<RunHandle>().and_then(|RunHandle(run)| run.live_bits());
        match (parts.last_mut(), live) {
            (Some((unmasked, None)), None) => unmasked.push(file),
            (_, live) => parts.push((vec![file], live)),
        }
    }
    let (config, context) = (config.clone(), Arc::clone(context));
    let of = Arc::clone(schema);
    let streams = stream::iter(parts).map(move |(files, live)| match live {
        None => scan(&config, files, &context),
        Some(live) => {
            let (schema, masked) = (Arc::clone(&of), masked.clone());
            let taken = move |batch| without_masked(&schema, batch, &live, &masked);
            let rows = scan(&numbered, files, &context)?.map(move |batch| taken(batch?));
            Ok(Box::pin(RecordBatchStreamAdapter::new(Arc::clone(&of), rows)) as SendableRecordBatchStream)
        }
    });
    Ok(Box::pin(RecordBatchStreamAdapter::new(Arc::clone(schema), streams.try_flatten())))
}

/// Whether a mask has to be kept to in a group of files.
pub(super) fn has_masks(group: &FileGroup) -> bool {
    group.files().iter().any(|file| file.extension::<RunHandle>().is_some_and(|RunHandle(run)| run.mask.is_some()))
}

/// A file with its mask as a selection.
fn selected(file: PartitionedFile) -> PartitionedFile {
    let live = file.extension::<RunHandle>().and_then(|RunHandle(run)| live_selection(run));
    let Some(live) = live else { return file };
    let selection = match file.extension::<ParquetRowSelection>() {
        Some(pages) => pages.selection().intersection(&live),
        None => live,
    };
    file.with_extension(ParquetRowSelection::from(selection))
}

/// The rows of a file that its mask leaves; `None` if it has no mask.
pub(super) fn live_selection(run: &RunFile) -> Option<RowSelection> {
    let mut selectors = Vec::new();
    let mut at = 0;
    for masked in run.mask.as_ref()?.iter().map(u64::from) {
        selectors.push(RowSelector::select((masked - at) as usize));
        selectors.push(RowSelector::skip(1));
        at = masked + 1;
    }
    selectors.push(RowSelector::select((run.rows - at) as usize));
    selectors.retain(|selector| selector.row_count > 0);
    Some(RowSelection::from(selectors))
}

fn scan(
    config: &FileScanConfig,
    files: Vec<PartitionedFile>,
    context: &Arc<TaskContext>,
) -> Result<SendableRecordBatchStream> {
    let config = FileScanConfigBuilder::from(config.clone()).with_file_groups(vec![FileGroup::new(files)]).build();
    DataSourceExec::from_data_source(config).execute(0, Arc::clone(context))
}

/// What the scan puts out, and behind it the number of the row in its file.
fn with_row_numbers(config: &FileScanConfig) -> Result<Arc<dyn FileSource>> {
    let schema = config.projected_schema()?;
    let mut columns: Vec<ProjectionExpr> = Vec::with_capacity(schema.fields().len() + 1);
    for (place, field) in schema.fields().iter().enumerate() {
        columns.push(ProjectionExpr::new(Arc::new(Column::new(field.name(), place)), field.name().clone()));
    }
    let number = ScalarFunctionExpr::new(
        "file_row_index",
        file_row_index(),
        Vec::new(),
        Arc::new(Field::new("file_row_index", DataType::Int64, true)),
        Arc::new(ConfigOptions::default()),
    );
    columns.push(ProjectionExpr::new(Arc::new(number), "file_row_index".to_owned()));
    match config.file_source().try_pushdown_projection(&ProjectionExprs::new(columns))? {
        Some(source) => Ok(source),
        None => internal_err!("a scan of Parquet files tells the numbers of rows"),
    }
}

/// Takes out masked rows, and the numbers, which are the last column.
fn without_masked(schema: &SchemaRef, batch: RecordBatch, live: &BooleanBuffer, masked: &Count) -> Result<RecordBatch> {
    let Some((numbers, columns)) = batch.columns().split_last() else {
        return internal_err!("rows were read without their numbers");
    };
    let numbers = numbers.as_primitive::<Int64Type>().values();
    let (Some(&first), Some(&last)) = (numbers.first(), numbers.last()) else {
        return Ok(RecordBatch::new_empty(Arc::clone(schema)));
    };
    // They ascend.
    if first < 0 || last >= live.len() as i64 {
        return internal_err!("row {last} was read of a file of {} rows", live.len());
    }
    // Without a filter, rows follow one another.
    let kept = match last - first + 1 == numbers.len() as i64 {
        true => live.slice(first as usize, numbers.len()),
        false => numbers.iter().map(|number| live.value(*number as usize)).collect(),
    };
    let kept = RowFilter::new(kept);
    masked.add(numbers.len() - kept.count());
    let columns = columns.iter().map(|column| kept.of(column)).collect::<std::result::Result<Vec<_>, _>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(kept.count()));
    RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options).map_err(DataFusionError::from)
}

/// Whether an expression has a value for every row, be it one that is not there any more.
fn cannot_fail(expr: &Arc<dyn PhysicalExpr>) -> bool {
    let is_known = expr.is::<Column>()
        || expr.is::<Literal>()
        || expr.is::<NotExpr>()
        || expr.is::<IsNullExpr>()
        || expr.is::<IsNotNullExpr>()
        || expr.is::<InListExpr>()
        || expr.is::<DynamicFilterPhysicalExpr>()
        || expr.is::<OptionalFilter>()
        || expr.downcast_ref::<LikeExpr>().is_some_and(|like| like.pattern().is::<Literal>())
        || expr.downcast_ref::<BinaryExpr>().is_some_and(|binary| {
            matches!(
                binary.op(),
                Operator::Eq
                    | Operator::NotEq
                    | Operator::Lt
                    | Operator::LtEq
                    | Operator::Gt
                    | Operator::GtEq
                    | Operator::And
                    | Operator::Or
                    | Operator::IsDistinctFrom
                    | Operator::IsNotDistinctFrom
            )
        });
    is_known && expr.children().into_iter().all(cannot_fail)
}
