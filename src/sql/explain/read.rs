//! What each scan of a plan reads.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use datafusion::common::DFSchema;
use datafusion::common::tree_node::TreeNode;
use datafusion::datasource::physical_plan::FileGroup;
use datafusion::logical_expr::Expr;
use datafusion::logical_expr::execution_props::ExecutionProps;
use datafusion::logical_expr::expr_rewriter::unnormalize_col;
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::physical_expr::scalar_subquery::ScalarSubqueryExpr;
use datafusion::physical_expr::split_conjunction;
use datafusion::physical_expr::utils::collect_columns;
use datafusion::physical_expr::{PhysicalExpr, create_physical_expr};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::joins::HashJoinExec;
use datafusion::physical_plan::sorts::sort::SortExec;

use super::hint::hint;
use super::pages::{self, FilePages, PagesOfFiles};
use super::run_time_bounds::RunTimeBounds;
use super::service_cost::ServiceQuery;
use super::table_read::{ActualRead, Share, TableRead};
use crate::access::AccessPath;
use crate::provider::{ColumnSource, Direction, EntityScanExec, Scan, ScanCounts, TableColumns, file_of};
use rowkey_base::Result;
use rowkey_model::EdmType;
use rowkey_model::columns::{TIMESTAMP, tick_name, typed_name};
use rowkey_postgres::deparse::{deparse, quote_identifier};
use rowkey_postgres::error::from_datafusion;
use rowkey_storage::run::{OpenRun, PAGE_ROWS, RunFile};

/// The reads of all scans of a plan, by the address of the node, in plan order.
pub(super) async fn reads(plan: &Arc<dyn ExecutionPlan>, analyzed: bool) -> Result<Vec<(usize, TableRead)>> {
    let mut scans = Vec::new();
    scans_below(plan, None, &mut scans);
    let mut described = Vec::with_capacity(scans.len());
    for (place, scan, above) in &scans {
        described.push((*place, describe(scan, *above, analyzed).await?));
    }
    Ok(described)
}

/// The scans of a plan, each with the operator that may bound it while it runs.
fn scans_below(
    plan: &Arc<dyn ExecutionPlan>,
    above: Option<&'static str>,
    scans: &mut Vec<(usize, EntityScanExec, Option<&'static str>)>,
) {
    if let Some(scan) = plan.downcast_ref::<EntityScanExec>() {
        // A plan that runs may have one for each of its partitions.
        if scans.iter().all(|(known, ..)| *known != address(scan)) {
            scans.push((address(scan), scan.clone(), above));
        }
        return;
    }
    for (at, input) in plan.children().into_iter().enumerate() {
        let above = if plan.is::<HashJoinExec>() && at > 0 {
            Some("the join above")
        } else if plan.is::<SortExec>() && plan.fetch().is_some() {
            Some("the first rows of the sort above")
        } else if plan.is::<AggregateExec>() {
            Some("the aggregate above")
        } else {
            above
        };
        scans_below(input, above, scans);
    }
}

/// Tells the scans of a plan apart.
pub(super) fn address(scan: &EntityScanExec) -> usize {
    std::ptr::from_ref(scan).addr()
}

async fn describe(exec: &EntityScanExec, above: Option<&'static str>, analyzed: bool) -> Result<TableRead> {
    let scan = exec.scan();
    let manifest = &scan.table.manifest;
    let columns = TableColumns::of(&scan.table);
    let beside_subqueries = beside_subqueries(exec);
    let residual: Vec<&Expr> = scan.access.residual.iter().filter_map(|&at| scan.filters.get(at)).collect();
    let whole_files = manifest.files().count() as u64;
    let mut read = TableRead {
        table: scan.table.name.clone(),
        path: scan.access.path,
        point_keys: (scan.access.path == AccessPath::Point).then(|| scan.access.keys.ranges().len()),
        keys: scan.access.describe(),
        residual: residual
            .iter()
            .map(|filter| shown(filter, columns.schema()))
            .chain(beside_subqueries.iter().map(|filter| deparse(filter, &[])))
            .collect(),
        is_partition_range: scan.access.is_partition_range(),
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
    let wanted = columns_read(exec);
    for (_, run) in &scan.selected {
        add_file(&mut read, scan, run, &columns, &wanted).await?;
    }
    read.row_groups.part = read.pages_of_files.row_groups;
    read.pages.part = read.pages_of_files.pages;
    read.recent_rows_max = exec.recent_rows().map_err(from_datafusion)?;
    read.rows_max += read.recent_rows_max;
    let query = ServiceQuery {
        point_keys: read.point_keys.map(|keys| keys as u64),
        ranges: scan.access.keys.ranges().len() as u64,
        range_partitions: read.range_partitions.part,
        rows_max: read.rows_max,
        has_residual: !read.residual.is_empty(),
        order: exec.order(),
        limit: read.limit.map(|limit| limit as u64),
    };
    read.service_cost = query.cost();
    if let (Some(limit), true) = (read.limit, read.residual.is_empty()) {
        stop_at(&mut read, exec, limit as u64)?;
    }
    let bounds = RunTimeBounds::of(exec, above);
    read.run_time_bounds = bounds.as_ref().map(|bounds| bounds.shown(exec, analyzed)).transpose()?;
    let is_bound = bounds.as_ref().is_some_and(RunTimeBounds::are_of_keys);
    read.hint = if is_bound { None } else { hint(&read, &scan.access, manifest.live_rows(), &residual) };
    if analyzed {
        read.actual = Some(actual(exec, &read).await?);
    }
    Ok(read)
}

/// A filter as SQL, without the name by which the query calls the table.
fn shown(filter: &Expr, schema: &SchemaRef) -> String {
    let filter = unnormalize_col(filter.clone());
    let physical = DFSchema::try_from(Arc::clone(schema)).and_then(|schema| {
        create_physical_expr(&filter, &schema, &ExecutionProps::new(), &PhysicalPlanningContext::default())
    });
    let names: Vec<Arc<str>> = schema.fields().iter().map(|field| quote_identifier(field.name()).into()).collect();
    physical.map_or_else(|_| filter.to_string(), |physical| deparse(&physical, &names))
}

/// The conditions with a subquery in them: the physical plan alone has them with the scan.
fn beside_subqueries(exec: &EntityScanExec) -> Vec<Arc<dyn PhysicalExpr>> {
    let Some(filter) = exec.config().ok().and_then(|config| config.file_source().filter()) else { return Vec::new() };
    let has_subquery = |part: &Arc<dyn PhysicalExpr>| part.exists(|expr| Ok(expr.is::<ScalarSubqueryExpr>()));
    let parts = split_conjunction(&filter).into_iter().filter(|part| has_subquery(part).unwrap_or(false));
    parts.map(Arc::clone).collect()
}

/// A scan without a filter stops at its limit. In key order it reads, in each file, the page that
/// it begins in, and those of so many rows; else, in each group of files, those of so many rows.
fn stop_at(read: &mut TableRead, exec: &EntityScanExec, limit: u64) -> Result<()> {
    let page_rows = PAGE_ROWS as u64;
    let pages_of = |limit: u64| limit.div_ceil(page_rows);
    let of_file = pages_of(limit) + 1;
    let pages = match read.order {
        Some(_) => of_file.saturating_mul(read.files.part),
        None => {
            let groups = &exec.config().map_err(from_datafusion)?.file_groups;
            groups.iter().map(|group| pages_of_group(group, limit)).sum()
        }
    };
    if pages >= read.pages.part {
        return Ok(());
    }
    read.pages_of_files.keep(of_file, exec.order() == Some(Direction::Backward));
    read.bytes_max = read.bytes_max * pages / read.pages.part.max(1);
    read.pages.part = pages;
    read.row_groups.part = read.row_groups.part.min(pages);
    read.rows_max = read.rows_max.min(pages * page_rows + read.recent_rows_max);
    Ok(())
}

/// Pages of a group of files that hold so many live rows, at most.
fn pages_of_group(group: &FileGroup, limit: u64) -> u64 {
    let (mut pages, mut rows) = (0, 0);
    for run in group.files().iter().filter_map(file_of) {
        // Which rows are masked is anybody's guess.
        let masked = run.rows - run.live_rows();
        let wanted = limit - rows + masked;
        pages += (wanted.div_ceil(PAGE_ROWS as u64) + u64::from(run.row_groups)).min(u64::from(run.key_pages));
        rows += run.live_rows();
        if rows >= limit {
            break;
        }
    }
    pages
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
        let stretch = |places: u32| std::iter::once(0..u64::from(places)).collect();
        let (path, row_groups, pages) = (run.path.clone(), stretch(run.row_groups), stretch(run.key_pages));
        read.pages_of_files.add(FilePages { path, row_groups, pages });
        read.rows_max += run.live_rows();
        read.bytes_max += places.iter().filter_map(|&place| run.column_bytes.get(place)).sum::<u64>();
        return Ok(());
    }
    let open = scan.files.open(run).await?;
    let (mut spans, mut pages): (Vec<Range<u64>>, Vec<Range<u64>>) = Default::default();
    for (at, block) in open.blocks_with(&scan.access.keys) {
        spans.push(block.rows.clone());
        pages::add(&mut pages, at as u64);
    }
    FilePages::of(&open, pages).into_iter().for_each(|file| read.pages_of_files.add(file));
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

async fn actual(exec: &EntityScanExec, planned: &TableRead) -> Result<ActualRead> {
    let counts = ScanCounts::of(exec);
    let scan = exec.scan();
    let mut pages_of_files = PagesOfFiles::default();
    for (_, run) in &scan.selected {
        let pages: Vec<Range<u64>> =
            scan.pages_read.of(run).into_iter().map(|pages| pages.start as u64..pages.end as u64).collect();
        if !pages.is_empty() {
            let open = scan.files.open(run).await?;
            FilePages::of(&open, pages).into_iter().for_each(|file| pages_of_files.add(file));
        }
    }
    Ok(ActualRead {
        rows: counts.rows,
        bytes: counts.bytes,
        row_groups: Share { part: pages_of_files.row_groups, whole: planned.row_groups.whole },
        pages: Share { part: pages_of_files.pages, whole: planned.pages.whole },
        pages_of_files,
    })
}
