//! What each scan of a plan reads.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;
use std::sync::Arc;

use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::utils::collect_columns;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::metrics::MetricValue;
use datafusion::sql::unparser::Unparser;
use datafusion::sql::unparser::dialect::PostgreSqlDialect;

use crate::access::AccessPath;
use crate::provider::{ColumnSource, EntityScanExec, MASKED_ROWS, RECENT_ROWS, Scan, TableColumns};
use rowkey_base::Result;
use rowkey_model::EdmType;
use rowkey_model::columns::{TIMESTAMP, tick_name, typed_name};
use rowkey_postgres::error::from_datafusion;
use rowkey_storage::run::{OpenRun, RunFile};

/// A table scan whose hint is worth a line: one over at least this many entities.
const HINT_ROWS_MIN: u64 = 10_000;

/// How many of how many.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Share {
    pub part: u64,
    pub whole: u64,
}

/// One table read: the access path, why, and at most how much. Before the plan runs these are upper
/// bounds: filters on other properties, and filters that come from joins at run time, leave out
/// more.
#[derive(Debug, Clone, Default)]
pub(super) struct TableRead {
    pub table: String,
    pub path: AccessPath,
    pub point_keys: Option<usize>,
    pub keys: String,
    pub residual: Vec<String>,
    pub order: Option<String>,
    pub limit: Option<usize>,
    pub range_partitions: Share,
    pub files: Share,
    pub row_groups: Share,
    pub pages: Share,
    /// Of `rows_max`, those that were written recently and are not in files yet.
    pub recent_rows_max: u64,
    pub rows_max: u64,
    pub bytes_max: u64,
    pub hint: Option<String>,
    pub actual: Option<ActualRead>,
}

/// What a scan really read, from its counters.
#[derive(Debug, Clone, Default)]
pub(super) struct ActualRead {
    pub rows: u64,
    pub bytes: u64,
    pub row_groups: Option<Share>,
    pub pages: Option<Share>,
}

/// The reads of all scans of a plan, by the address of the node, in plan order.
pub(super) async fn reads(plan: &Arc<dyn ExecutionPlan>, analyzed: bool) -> Result<Vec<(usize, TableRead)>> {
    let mut scans: Vec<EntityScanExec> = Vec::new();
    let mut places = Vec::new();
    plan.apply(|node| {
        if let Some(scan) = node.downcast_ref::<EntityScanExec>() {
            places.push(address(scan));
            scans.push(scan.clone());
        }
        Ok(TreeNodeRecursion::Continue)
    })
    .map_err(from_datafusion)?;
    let mut described = Vec::with_capacity(scans.len());
    for scan in &scans {
        described.push(describe(scan, analyzed).await?);
    }
    Ok(places.into_iter().zip(described).collect())
}

/// Tells the scans of a plan apart.
pub(super) fn address(scan: &EntityScanExec) -> usize {
    std::ptr::from_ref(scan).addr()
}

async fn describe(exec: &EntityScanExec, analyzed: bool) -> Result<TableRead> {
    let scan = exec.scan();
    let manifest = &scan.table.manifest;
    let residual = scan.access.residual.iter().filter_map(|&at| scan.filters.get(at));
    let residual = residual.map(|filter| {
        let sql = Unparser::new(&PostgreSqlDialect {}).expr_to_sql(&unqualified(filter));
        sql.map_or_else(|_| filter.to_string(), |sql| sql.to_string())
    });
    let whole_files = manifest.files().count() as u64;
    let mut read = TableRead {
        table: scan.table.name.clone(),
        path: scan.access.path,
        point_keys: (scan.access.path == AccessPath::Point).then(|| scan.access.keys.ranges().len()),
        keys: scan.access.describe(),
        residual: residual.collect(),
        order: exec.order().map(|direction| direction.to_string()),
        limit: datafusion::physical_plan::ExecutionPlan::fetch(exec),
        range_partitions: Share {
            part: scan.selected.iter().map(|(range, _)| range).collect::<BTreeSet<_>>().len() as u64,
            whole: manifest.ranges().iter().filter(|range| !range.files.is_empty()).count() as u64,
        },
        files: Share { part: scan.selected.len() as u64, whole: whole_files },
        row_groups: Share { part: 0, whole: manifest.files().map(|file| u64::from(file.row_groups)).sum() },
        pages: Share { part: 0, whole: manifest.files().map(|file| u64::from(file.key_pages)).sum() },
        ..TableRead::default()
    };
    if scan.access.path == AccessPath::Table && manifest.live_rows() >= HINT_ROWS_MIN {
        read.hint = scan.access.hint();
    }
    let columns = TableColumns::of(&scan.table);
    let wanted = columns_read(exec);
    for (_, run) in &scan.selected {
        add_file(&mut read, scan, run, &columns, &wanted).await?;
    }
    read.recent_rows_max = exec.recent_rows().map_err(from_datafusion)?;
    read.rows_max += read.recent_rows_max;
    if analyzed {
        read.actual = Some(actual(exec));
    }
    Ok(read)
}

/// Filters come with the name of the table as the query calls it, which would only be noise.
fn unqualified(filter: &datafusion::logical_expr::Expr) -> datafusion::logical_expr::Expr {
    datafusion::logical_expr::expr_rewriter::unnormalize_col(filter.clone())
}

/// Names of the table's columns that a scan decodes.
fn columns_read(exec: &EntityScanExec) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let mut add = |expr: &Arc<dyn PhysicalExpr>| {
        names.extend(collect_columns(expr).into_iter().map(|column| column.name().to_owned()));
    };
    if let Ok(config) = exec.config() {
        if let Some(projection) = config.file_source().projection() {
            projection.iter().for_each(|out| add(&out.expr));
        }
        if let Some(filter) = config.file_source().filter() {
            add(&filter);
        }
    }
    names
}

/// Places of the columns of a file that the table's columns `wanted` are made from.
fn file_columns(run: &RunFile, columns: &TableColumns, wanted: &BTreeSet<String>) -> Vec<usize> {
    let schema = run.layout().schema();
    let places: HashMap<&str, usize> =
        schema.fields().iter().enumerate().map(|(i, field)| (field.name().as_str(), i)).collect();
    let mut found = BTreeSet::new();
    for name in wanted {
        let mut add = |name: &str| found.extend(places.get(name));
        match columns.source(name) {
            Some(ColumnSource::Typed { property, edm }) => {
                add(&typed_name(property, *edm));
                if run
                    .columns
                    .iter()
                    .any(|c| c.column.property == *property && c.column.edm == *edm && !c.column.typed_name)
                {
                    add(property);
                }
            }
            Some(ColumnSource::Widened { property, types, .. }) => {
                add(property);
                types.iter().for_each(|edm| add(&typed_name(property, *edm)));
            }
            Some(ColumnSource::Ticks { property }) => {
                [property.to_string(), typed_name(property, EdmType::DateTime), tick_name(property)]
                    .iter()
                    .for_each(|name| add(name));
            }
            Some(ColumnSource::Etag) => [TIMESTAMP.to_owned(), tick_name(TIMESTAMP)].iter().for_each(|name| add(name)),
            Some(ColumnSource::Key | ColumnSource::Other) | None => add(name),
        }
    }
    found.into_iter().collect()
}

async fn add_file(
    read: &mut TableRead,
    scan: &Scan,
    run: &Arc<RunFile>,
    columns: &TableColumns,
    wanted: &BTreeSet<String>,
) -> Result<()> {
    let places = file_columns(run, columns, wanted);
    if scan.access.keys.covers(run.first.as_ref(), run.last.as_ref()) {
        read.row_groups.part += u64::from(run.row_groups);
        read.pages.part += u64::from(run.key_pages);
        read.rows_max += run.live_rows();
        read.bytes_max += places.iter().filter_map(|&place| run.column_bytes.get(place)).sum::<u64>();
        return Ok(());
    }
    let open = scan.files.open(run).await?;
    let mut groups = BTreeSet::new();
    let mut spans: Vec<Range<u64>> = Vec::new();
    for block in open.blocks() {
        if scan.access.keys.ranges().iter().any(|range| block.may_meet(range)) {
            groups.insert(block.row_group);
            spans.push(block.rows.clone());
            read.pages.part += 1;
        }
    }
    read.row_groups.part += groups.len() as u64;
    let masked = |span: &Range<u64>| {
        run.mask.as_ref().map_or(0, |mask| mask.range_cardinality(span.start as u32..span.end as u32))
    };
    read.rows_max += spans.iter().map(|span| span.end - span.start - masked(span)).sum::<u64>();
    read.bytes_max += page_bytes(&open, &places, &spans);
    Ok(())
}

/// Bytes of the pages of some columns that hold rows of `spans`, dictionaries included.
fn page_bytes(open: &OpenRun, places: &[usize], spans: &[Range<u64>]) -> u64 {
    let Some(offsets) = open.metadata().offset_index() else { return 0 };
    let mut bytes = 0;
    let mut start = 0;
    for (group, metadata) in open.metadata().row_groups().iter().enumerate() {
        let end = start + metadata.num_rows() as u64;
        let inside: Vec<Range<u64>> = spans
            .iter()
            .filter(|span| span.start < end && start < span.end)
            .map(|span| span.start.max(start) - start..span.end.min(end) - start)
            .collect();
        for &place in places.iter().filter(|_| !inside.is_empty()) {
            let column = metadata.column(place);
            if let Some(dictionary) = column.dictionary_page_offset() {
                bytes += (column.data_page_offset() - dictionary).max(0) as u64;
            }
            let Some(pages) = offsets.get(group).and_then(|columns| columns.get(place)) else { continue };
            let pages = pages.page_locations();
            for (i, page) in pages.iter().enumerate() {
                let from = page.first_row_index as u64;
                let to = pages.get(i + 1).map_or(end - start, |next| next.first_row_index as u64);
                if inside.iter().any(|span| span.start < to && from < span.end) {
                    bytes += page.compressed_page_size.max(0) as u64;
                }
            }
        }
        start = end;
    }
    bytes
}

fn actual(exec: &EntityScanExec) -> ActualRead {
    let mut read = ActualRead::default();
    let Some(metrics) = exec.metrics() else { return read };
    let mut masked = 0;
    for metric in metrics.iter() {
        match metric.value() {
            MetricValue::OutputRows(rows) => read.rows += rows.value() as u64,
            MetricValue::Count { name, count } if name == RECENT_ROWS => read.rows += count.value() as u64,
            MetricValue::Count { name, count } if name == MASKED_ROWS => masked += count.value() as u64,
            MetricValue::Count { name, count } if name == "bytes_scanned" => read.bytes += count.value() as u64,
            MetricValue::PruningMetrics { name, pruning_metrics } => {
                let slot = match name.as_ref() {
                    "row_groups_pruned_statistics" => &mut read.row_groups,
                    "page_index_pages_pruned" => &mut read.pages,
                    _ => continue,
                };
                let share = slot.get_or_insert_with(Share::default);
                share.part += pruning_metrics.matched() as u64;
                share.whole += (pruning_metrics.matched() + pruning_metrics.pruned()) as u64;
            }
            _ => {}
        }
    }
    read.rows = read.rows.saturating_sub(masked);
    read
}
