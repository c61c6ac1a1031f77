//! DataFusion's operators as nodes.

use std::collections::HashMap;
use std::sync::Arc;

use datafusion::common::{JoinSide, JoinType, NullEquality};
use datafusion::logical_expr::WindowFrameUnits;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::window::WindowExpr;
use datafusion::physical_expr::{PhysicalExpr, PhysicalSortExpr};
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode};
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::empty::EmptyExec;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::joins::utils::{ColumnIndex, JoinFilter};
use datafusion::physical_plan::joins::{CrossJoinExec, HashJoinExec, NestedLoopJoinExec, SortMergeJoinExec};
use datafusion::physical_plan::limit::{GlobalLimitExec, LocalLimitExec};
use datafusion::physical_plan::placeholder_row::PlaceholderRowExec;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::recursive_query::RecursiveQueryExec;
use datafusion::physical_plan::scalar_subquery::ScalarSubqueryExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::sorts::sort_preserving_merge::SortPreservingMergeExec;
use datafusion::physical_plan::union::{InterleaveExec, UnionExec};
use datafusion::physical_plan::unnest::UnnestExec;
use datafusion::physical_plan::windows::{BoundedWindowAggExec, WindowAggExec};
use datafusion::physical_plan::work_table::WorkTableExec;
use datafusion::physical_plan::{ExecutionPlan, InputOrderMode};

use super::analyze::{Started, actual};
use super::estimate::{Rows, of_read, over};
use super::node::{Actual, Node, Property};
use super::read::address;
use super::table_read::{TableRead, title};
use crate::export_files::ExportScanExec;
use crate::provider::EntityScanExec;
use rowkey_postgres::ctes::{CteScanExec, WithExec};
use rowkey_postgres::deparse::{deparse, deparse_list, quote_identifier};

type Plan = Arc<dyn ExecutionPlan>;
type Texts = Vec<Arc<str>>;

const NESTED_LOOP: &str = "Nested Loop";

/// The column of an aggregate over grouping sets that tells them apart.
const GROUPING: &str = "GROUPING";

/// Leaves out rows of each partition of a window before they are sorted.
const FIRST_ROWS: &str = "FirstRowsOfPartitions";

/// Reads one partition of its input.
const ONE_PARTITION: &str = "OnePartitionExec";

/// Operators that move rows between threads.
const MOVES: [(&str, &str); 3] = [
    ("RepartitionExec", "Repartition"),
    ("CoalescePartitionsExec", "Gather"),
    ("SortPreservingMergeExec", "Gather Merge"),
];

/// A plan as nodes. Without `verbose`, operators that only move rows or compute columns are left
/// out.
pub(super) fn tree(plan: &Plan, reads: &[(usize, TableRead)], started: Option<Started>, verbose: bool) -> Node {
    let mut builder = Builder { reads, started, verbose, seen: HashMap::new(), subplans: 0 };
    builder.build(plan).node
}

struct Builder<'a> {
    reads: &'a [(usize, TableRead)],
    started: Option<Started>,
    verbose: bool,
    /// How often each table has been met.
    seen: HashMap<String, usize>,
    subplans: usize,
}

/// A node, and the texts of the columns that come out of it.
struct Built {
    node: Node,
    columns: Texts,
    /// Of a partial aggregate, the columns that went into it.
    before: Option<Texts>,
}

impl Builder<'_> {
    fn build(&mut self, plan: &Plan) -> Built {
        if let Some(scan) = plan.downcast_ref::<EntityScanExec>()
            && let Some(built) = self.scan(plan, scan)
        {
            return built;
        }
        if let Some(with) = plan.downcast_ref::<WithExec>() {
            return self.with(with);
        }
        if let Some(subqueries) = plan.downcast_ref::<ScalarSubqueryExec>() {
            return self.init_plans(subqueries);
        }
        if let Some(projection) = plan.downcast_ref::<ProjectionExec>() {
            let input = self.build(projection.input());
            let columns: Texts =
                projection.expr().iter().map(|out| deparse(&out.expr, &input.columns).into()).collect();
            return self.passed(plan, "Projection", input, columns);
        }
        if let Some(filter) = plan.downcast_ref::<FilterExec>() {
            return self.filter(plan, filter);
        }
        if let Some(aggregate) = plan.downcast_ref::<AggregateExec>() {
            return self.aggregate(plan, aggregate);
        }
        if let Some(sort) = plan.downcast_ref::<SortExec>() {
            let input = self.build(sort.input());
            let node = Node::new("Sort").with("Sort Key", sort_keys(sort.expr(), &input.columns));
            let (node, rows) = limited(node, sort.fetch());
            return self.node(plan, node, vec![input.node], input.columns, (rows, true));
        }
        if let Some(join) = plan.downcast_ref::<HashJoinExec>() {
            return self.hash_join(plan, join);
        }
        if let Some(join) = plan.downcast_ref::<SortMergeJoinExec>() {
            let (left, right) = (self.build(join.left()), self.build(join.right()));
            let pairs = join.on().iter().map(|(l, r)| (deparse(l, &left.columns), deparse(r, &right.columns)));
            let mut node = joined("Merge", join.join_type()).with("Merge Cond", condition(pairs, join.null_equality()));
            if let Some(filter) = join.filter() {
                node = node.with("Join Filter", join_filter(filter, &left.columns, &right.columns));
            }
            let columns = join_columns(&join.join_type(), left.columns, right.columns);
            let rows = join_rows(&join.join_type(), &left.node, &right.node);
            return self.node(plan, node, vec![left.node, right.node], columns, (rows, false));
        }
        if let Some(join) = plan.downcast_ref::<NestedLoopJoinExec>() {
            let (left, right) = (self.build(join.left()), self.build(join.right()));
            let mut node = joined(NESTED_LOOP, join.join_type().swap());
            if let Some(filter) = join.filter() {
                node = node.with("Join Filter", join_filter(filter, &left.columns, &right.columns));
            }
            let columns = join_columns(join.join_type(), left.columns, right.columns);
            let columns = projected(columns, join.projection().as_deref());
            let rows = join_rows(join.join_type(), &left.node, &right.node);
            return self.node(plan, node, vec![right.node, left.node], columns, (rows, false));
        }
        if let Some(join) = plan.downcast_ref::<CrossJoinExec>() {
            let (left, right) = (self.build(join.left()), self.build(join.right()));
            let columns = left.columns.into_iter().chain(right.columns).collect();
            let children = vec![right.node, left.node];
            return self.node(plan, joined(NESTED_LOOP, JoinType::Inner), children, columns, (Rows::Estimated, false));
        }
        if let Some(limit) = plan.downcast_ref::<GlobalLimitExec>() {
            let input = self.build(limit.input());
            let (mut node, rows) = limited(Node::new("Limit"), limit.fetch());
            if limit.skip() > 0 {
                node = node.with("Offset", limit.skip() as u64);
            }
            return self.node(plan, node, vec![input.node], input.columns, (rows, false));
        }
        if let Some(limit) = plan.downcast_ref::<LocalLimitExec>() {
            let input = self.build(limit.input());
            let columns = input.columns.clone();
            return self.passed(plan, "Limit", input, columns);
        }
        if let Some(window) = plan.downcast_ref::<BoundedWindowAggExec>() {
            return self.window(plan, window.input(), window.window_expr());
        }
        if let Some(window) = plan.downcast_ref::<WindowAggExec>() {
            return self.window(plan, window.input(), window.window_expr());
        }
        if let Some(unnest) = plan.downcast_ref::<UnnestExec>() {
            return self.unnest(plan, unnest);
        }
        if plan.is::<UnionExec>() {
            let built: Vec<Built> = plan.children().into_iter().map(|input| self.build(input)).collect();
            let children = built.into_iter().map(|built| built.node).collect();
            return self.node(plan, Node::new("Append"), children, names(plan), (Rows::Sum, false));
        }
        if let Some(query) = plan.downcast_ref::<RecursiveQueryExec>() {
            let (first, next) = (self.build(query.static_term()), self.build(query.recursive_term()));
            let node = Node::new("Recursive Union").with("CTE Name", query.name().to_owned());
            return self.node(plan, node, vec![first.node, next.node], names(plan), (Rows::Sum, false));
        }
        self.other(plan)
    }

    /// Leaves, and what hands on the rows of one input.
    fn other(&mut self, plan: &Plan) -> Built {
        if let Some(scan) = plan.downcast_ref::<CteScanExec>() {
            let node = named_scan("CTE Scan", "CTE Name", scan.cte_name());
            return self.node(plan, node, Vec::new(), names(plan), (Rows::Estimated, false));
        }
        if let Some(scan) = plan.downcast_ref::<WorkTableExec>() {
            let node = named_scan("WorkTable Scan", "CTE Name", scan.name());
            return self.node(plan, node, Vec::new(), names(plan), (Rows::Estimated, false));
        }
        if let Some(scan) = plan.downcast_ref::<ExportScanExec>() {
            let (path, bytes) = scan.file();
            let node = named_scan("File Scan", "File", &path).with("File Bytes", bytes);
            return self.node(plan, node, Vec::new(), names(plan), (Rows::Estimated, false));
        }
        if plan.is::<EmptyExec>() {
            let node = Node::new("Result").with("One-Time Filter", "false".to_owned());
            return self.node(plan, node, Vec::new(), names(plan), (Rows::AtMost(0), false));
        }
        if plan.is::<PlaceholderRowExec>() {
            return self.node(plan, Node::new("Result"), Vec::new(), names(plan), (Rows::AtMost(1), false));
        }
        match plan.children().as_slice() {
            [] => {
                let title = match plan.name() {
                    "StreamingTableExec" | "LazyMemoryExec" => "Function Scan",
                    _ if plan.schema().fields().first().is_some_and(|field| field.name() == "column1") => "Values Scan",
                    _ => "Memory Scan",
                };
                self.node(plan, Node::new(title), Vec::new(), names(plan), (Rows::Estimated, false))
            }
            [input] => {
                let same_columns = input.schema().fields().len() == plan.schema().fields().len();
                let built = self.build(input);
                let columns = if same_columns { built.columns.clone() } else { names(plan) };
                if plan.name() == FIRST_ROWS {
                    let node = Node::new("First Rows of Partitions");
                    return self.node(plan, node, vec![built.node], columns, (Rows::Input, false));
                }
                // The sort below shows the limit of a merge of its partitions, of each of which it
                // returns so many rows.
                if let (true, Some(fetch)) = (plan.is::<SortPreservingMergeExec>() && !self.verbose, plan.fetch()) {
                    let mut node = built.node;
                    node.actual = node.actual.map(|actual| Actual { rows: actual.rows.min(fetch as u64), ..actual });
                    return Built { node, columns, before: built.before };
                }
                if let (true, Some(fetch)) = (plan.is::<CoalescePartitionsExec>(), plan.fetch()) {
                    let (node, rows) = limited(Node::new("Limit"), Some(fetch));
                    return self.node(plan, node, vec![built.node], columns, (rows, false));
                }
                match MOVES.iter().find(|(name, _)| *name == plan.name()) {
                    Some((_, title)) => self.passed(plan, title, built, columns),
                    None => Built { node: built.node, columns, before: built.before },
                }
            }
            [first, ..] if is_one_repartitioning(plan) => self.build(first),
            inputs => {
                let built: Vec<Built> = inputs.iter().map(|input| self.build(input)).collect();
                let children = built.into_iter().map(|built| built.node).collect();
                let title = plan.name().trim_end_matches("Exec").to_owned();
                self.node(plan, Node::new(title), children, names(plan), (Rows::Estimated, false))
            }
        }
    }

    /// An operator that is shown by its input alone, but for `verbose`.
    fn passed(&self, plan: &Plan, title: &str, input: Built, columns: Texts) -> Built {
        if !self.verbose {
            return Built { node: input.node, columns, before: input.before };
        }
        let mut built = self.node(plan, Node::new(title), vec![input.node], columns, (Rows::Input, false));
        built.before = input.before;
        built
    }

    fn actual(&self, plan: &Plan) -> Option<Actual> {
        self.started.and_then(|started| actual(plan, started))
    }

    fn node(
        &self,
        plan: &Plan,
        mut node: Node,
        children: Vec<Node>,
        columns: Texts,
        (rows, blocking): (Rows, bool),
    ) -> Built {
        node.estimate = over(plan, &children, rows, blocking);
        node.actual = self.actual(plan);
        node.children = children;
        if self.verbose {
            node.properties.insert(0, ("Output", Property::of_list(columns.iter().map(Arc::as_ref))));
        }
        Built { node, columns, before: None }
    }

    fn scan(&mut self, plan: &Plan, scan: &EntityScanExec) -> Option<Built> {
        let place = address(scan);
        let (_, read) = self.reads.iter().find(|(read, _)| *read == place)?;
        let times = self.seen.entry(read.table.clone()).or_default();
        *times += 1;
        let alias = if *times > 1 { format!("{}_{}", read.table, *times - 1) } else { read.table.clone() };
        let mut node = Node::new(title(read));
        if alias != read.table {
            node.title.push_str(&format!(" {alias}"));
            node.properties.push(("Alias", Property::Text(alias.clone())));
        }
        node.kind = "Entity Scan".to_owned();
        node.estimate = of_read(read, &plan.schema());
        node.actual = self.actual(plan);
        if let (Some(actual), Some(counted)) = (&mut node.actual, &read.actual) {
            actual.rows = read.limit.map_or(counted.rows, |limit| counted.rows.min(limit as u64));
        }
        node.read = Some(read.clone());
        let is_alone = self.reads.len() == 1;
        let columns = scan_columns(plan, scan, (!is_alone).then_some(&alias));
        if self.verbose {
            node.properties.push(("Output", Property::of_list(columns.iter().map(Arc::as_ref))));
        }
        Some(Built { node, columns, before: None })
    }

    fn with(&mut self, with: &WithExec) -> Built {
        let mut queries = Vec::new();
        for (name, query) in with.queries() {
            let mut query = self.build(query).node;
            query.subplan = Some(format!("CTE {name}"));
            queries.push(query);
        }
        let mut main = self.build(with.main());
        main.node.children.splice(0..0, queries);
        main
    }

    fn init_plans(&mut self, subqueries: &ScalarSubqueryExec) -> Built {
        let mut plans = Vec::new();
        for link in subqueries.subqueries() {
            let mut plan = self.build(&link.plan).node;
            plan.subplan = Some(format!("InitPlan {} (returns ${})", self.subplans + 1, self.subplans));
            self.subplans += 1;
            plans.push(plan);
        }
        let mut main = self.build(subqueries.input());
        main.node.children.splice(0..0, plans);
        main
    }

    /// A condition stands with the node whose rows it tries.
    fn filter(&mut self, plan: &Plan, filter: &FilterExec) -> Built {
        let mut input = self.build(filter.input());
        input.node = input.node.with("Filter", deparse(filter.predicate(), &input.columns));
        if let Some(passed) = self.actual(plan) {
            if let Some(before) = input.node.actual {
                let removed = before.rows.saturating_sub(passed.rows);
                input.node.properties.push(("Rows Removed by Filter", Property::Number(removed)));
            }
            input.node.actual = Some(passed);
        }
        input.columns = projected(input.columns, filter.projection().as_deref());
        input
    }

    fn aggregate(&mut self, plan: &Plan, aggregate: &AggregateExec) -> Built {
        let Built { node: input, columns: below, before } = self.build(aggregate.input());
        let partial = matches!(aggregate.mode(), AggregateMode::Partial | AggregateMode::PartialReduce);
        let before = before.unwrap_or_else(|| below.clone());
        let groups = aggregate.group_expr();
        let keys: Vec<String> = groups.expr().iter().map(|(expr, _)| deparse(expr, &below)).collect();
        let calls = aggregate.aggr_expr().iter().zip(aggregate.filter_expr());
        let calls = calls.map(|(call, filter)| {
            let mut text = String::from(call.fun().name());
            text.push('(');
            if call.is_distinct() {
                text.push_str("DISTINCT ");
            }
            let arguments = call.expressions();
            let is_constant = arguments.iter().all(|argument| argument.children().is_empty() && !is_column(argument));
            match call.fun().name() == "count" && is_constant && !call.is_distinct() {
                true => text.push('*'),
                false => text.push_str(&deparse_list(&arguments, &before)),
            }
            if !call.order_bys().is_empty() {
                text.push_str(&format!(" ORDER BY {}", sort_keys(call.order_bys(), &before).join(", ")));
            }
            text.push(')');
            if let Some(filter) = filter {
                text.push_str(&format!(" FILTER (WHERE {})", deparse(filter, &before)));
            }
            text
        });
        let mut columns: Texts = keys.iter().cloned().map(Arc::from).collect();
        // Which of the keys a row is grouped by is a key of the states.
        let has_sets = !groups.is_single();
        if has_sets {
            columns.push(Arc::from(GROUPING));
        }
        if partial {
            columns.extend(calls.map(|call| format!("PARTIAL {call}").into()));
            let mut built =
                self.passed(plan, "Partial Aggregate", Built { node: input, columns: below, before: None }, columns);
            built.before = Some(before);
            return built;
        }
        columns.extend(calls.map(Arc::from));
        let has_sets = has_sets || keys.iter().any(|key| key == GROUPING);
        let keys: Vec<String> = keys.into_iter().filter(|key| key != GROUPING).collect();
        let ordered = *aggregate.input_order_mode() != InputOrderMode::Linear;
        let (title, strategy) = match (keys.is_empty(), has_sets, ordered) {
            (true, ..) => ("Aggregate", "Plain"),
            (_, true, _) => ("MixedAggregate", "Mixed"),
            (_, _, true) => ("GroupAggregate", "Sorted"),
            (_, _, false) => ("HashAggregate", "Hashed"),
        };
        let mut node = Node::new(title).with("Strategy", strategy.to_owned());
        node.kind = "Aggregate".to_owned();
        if !keys.is_empty() {
            node = node.with("Group Key", keys.clone());
        }
        let rows = match (keys.is_empty(), has_sets) {
            (true, _) => Rows::AtMost(1),
            (false, true) => Rows::Sum,
            (false, false) => Rows::Input,
        };
        self.node(plan, node, vec![input], columns, (rows, !ordered || keys.is_empty()))
    }

    /// The side that is hashed is the left one to DataFusion, and the second one here.
    fn hash_join(&mut self, plan: &Plan, join: &HashJoinExec) -> Built {
        let (left, right) = (self.build(join.left()), self.build(join.right()));
        let pairs = join.on().iter().map(|(l, r)| (deparse(r, &right.columns), deparse(l, &left.columns)));
        let mut node =
            joined("Hash", join.join_type().swap()).with("Hash Cond", condition(pairs, join.null_equality()));
        if let Some(filter) = join.filter() {
            node = node.with("Join Filter", join_filter(filter, &left.columns, &right.columns));
        }
        let mut hash = Node::new("Hash");
        hash.estimate = left.node.estimate;
        hash.estimate.startup = hash.estimate.total;
        hash.actual = left.node.actual;
        hash.children = vec![left.node];
        let columns = join_columns(join.join_type(), left.columns, right.columns);
        let columns = projected(columns, join.projection.as_deref());
        let rows = join_rows(join.join_type(), &hash, &right.node);
        self.node(plan, node, vec![right.node, hash], columns, (rows, false))
    }

    fn window(&mut self, plan: &Plan, input: &Plan, windows: &[Arc<dyn WindowExpr>]) -> Built {
        let input = self.build(input);
        let mut columns = input.columns.clone();
        for window in windows {
            columns.push(window_call(window, &input.columns).into());
        }
        let mut node = Node::new("WindowAgg");
        if let Some(window) = windows.first() {
            if !window.partition_by().is_empty() {
                let keys = window.partition_by().iter().map(|key| deparse(key, &input.columns)).collect::<Vec<_>>();
                node = node.with("Partition Key", keys);
            }
            if !window.order_by().is_empty() {
                node = node.with("Order Key", sort_keys(window.order_by(), &input.columns));
            }
        }
        self.node(plan, node, vec![input.node], columns, (Rows::Input, false))
    }

    fn unnest(&mut self, plan: &Plan, unnest: &UnnestExec) -> Built {
        let input = self.build(unnest.input());
        let mut columns = names(plan);
        if columns.len() == input.columns.len() {
            columns = input.columns.clone();
            for list in unnest.list_column_indices() {
                if let Some(column) = columns.get_mut(list.index_in_input_schema) {
                    *column = format!("unnest({column})").into();
                }
            }
        }
        self.node(plan, Node::new("ProjectSet"), vec![input.node], columns, (Rows::Input, false))
    }
}

/// What comes out of a scan: columns of its table, or what it computes of them.
fn scan_columns(plan: &Plan, scan: &EntityScanExec, alias: Option<&String>) -> Texts {
    let Some(projection) = scan.config().ok().and_then(|config| config.file_source().projection().cloned()) else {
        return names(plan);
    };
    let of_table = |name: &String| match alias {
        Some(alias) => Arc::from(format!("{}.{}", quote_identifier(alias), quote_identifier(name))),
        None => Arc::from(quote_identifier(name).as_ref()),
    };
    let columns: Texts = scan.scan().columns.schema().fields().iter().map(|field| of_table(field.name())).collect();
    projection.iter().map(|out| deparse(&out.expr, &columns).into()).collect()
}

/// `sum(age) OVER (PARTITION BY team ORDER BY "RowKey")`.
fn window_call(window: &Arc<dyn WindowExpr>, columns: &[Arc<str>]) -> String {
    let name = match window.name().split('(').next().unwrap_or_default() {
        // LIMIT in a LATERAL query counts its rows.
        own if own.starts_with("__") => "row_number",
        name => name,
    };
    let arguments = deparse_list(&window.expressions(), columns);
    let mut clauses = Vec::new();
    if !window.partition_by().is_empty() {
        clauses.push(format!("PARTITION BY {}", deparse_list(window.partition_by(), columns)));
    }
    if !window.order_by().is_empty() {
        clauses.push(format!("ORDER BY {}", sort_keys(window.order_by(), columns).join(", ")));
    }
    let frame = window.get_window_frame();
    if frame.units != WindowFrameUnits::Range && !window.order_by().is_empty() {
        clauses.push(frame.to_string());
    }
    format!("{name}({arguments}) OVER ({})", clauses.join(" "))
}

/// A plan that runs has a repartitioning for each partition of its input, side by side.
fn is_one_repartitioning(plan: &Plan) -> bool {
    plan.is::<InterleaveExec>()
        && plan.children().into_iter().all(|input| {
            let mut nodes = vec![input];
            while let Some(node) = nodes.pop() {
                if node.name() == ONE_PARTITION {
                    return true;
                }
                nodes.extend(node.children().into_iter().take(1));
            }
            false
        })
}

fn named_scan(title: &str, label: &'static str, name: &str) -> Node {
    let mut node = Node::new(title).with(label, name.to_owned());
    node.title.push_str(&format!(" on {name}"));
    node
}

/// The names of a plan's columns, where nothing more is known of them.
fn names(plan: &Plan) -> Texts {
    plan.schema().fields().iter().map(|field| quote_identifier(field.name()).into()).collect()
}

fn is_column(expr: &Arc<dyn PhysicalExpr>) -> bool {
    expr.is::<Column>()
}

fn projected(columns: Texts, projection: Option<&[usize]>) -> Texts {
    match projection {
        Some(projection) => projection.iter().filter_map(|place| columns.get(*place).cloned()).collect(),
        None => columns,
    }
}

fn sort_keys<'a>(order: impl IntoIterator<Item = &'a PhysicalSortExpr>, columns: &[Arc<str>]) -> Vec<String> {
    let key = |by: &PhysicalSortExpr| {
        let text = deparse(&by.expr, columns);
        match (by.options.descending, by.options.nulls_first) {
            (false, false) => text,
            (false, true) => format!("{text} NULLS FIRST"),
            (true, true) => format!("{text} DESC"),
            (true, false) => format!("{text} DESC NULLS LAST"),
        }
    };
    order.into_iter().map(key).collect()
}

/// A join whose type is that of its inputs in the order in which they are shown.
fn joined(method: &str, join_type: JoinType) -> Node {
    let (words, kind) = match join_type {
        JoinType::Inner => ("", "Inner"),
        JoinType::Left => ("Left ", "Left"),
        JoinType::Right => ("Right ", "Right"),
        JoinType::Full => ("Full ", "Full"),
        JoinType::LeftSemi => ("Semi ", "Semi"),
        JoinType::RightSemi => ("Right Semi ", "Right Semi"),
        JoinType::LeftAnti => ("Anti ", "Anti"),
        JoinType::RightAnti => ("Right Anti ", "Right Anti"),
        JoinType::LeftMark => ("Mark ", "Mark"),
        JoinType::RightMark => ("Right Mark ", "Right Mark"),
    };
    let mut node = Node::new(match (method, words) {
        (NESTED_LOOP, "") => method.to_owned(),
        (method, words) => format!("{method} {words}Join"),
    });
    node.kind = if method == NESTED_LOOP { method.to_owned() } else { format!("{method} Join") };
    node.with("Join Type", kind.to_owned())
}

fn condition(pairs: impl Iterator<Item = (String, String)>, nulls: NullEquality) -> String {
    let op = match nulls {
        NullEquality::NullEqualsNothing => "=",
        NullEquality::NullEqualsNull => "IS NOT DISTINCT FROM",
    };
    let pairs: Vec<String> = pairs.map(|(outer, inner)| format!("({outer} {op} {inner})")).collect();
    if pairs.len() == 1 { pairs.concat() } else { format!("({})", pairs.join(" AND ")) }
}

fn join_filter(filter: &JoinFilter, left: &[Arc<str>], right: &[Arc<str>]) -> String {
    let column = |index: &ColumnIndex| {
        let side = match index.side {
            JoinSide::Left => left,
            JoinSide::Right => right,
            JoinSide::None => return Arc::from("mark"),
        };
        side.get(index.index).cloned().unwrap_or_else(|| Arc::from("?"))
    };
    let columns: Texts = filter.column_indices().iter().map(column).collect();
    deparse(filter.expression(), &columns)
}

/// A node that returns so many rows at most.
fn limited(node: Node, fetch: Option<usize>) -> (Node, Rows) {
    match fetch {
        Some(fetch) => (node.with("Limit", fetch as u64), Rows::AtMost(fetch as u64)),
        None => (node, Rows::Input),
    }
}

/// Of a semi-join no more than of the side that it keeps.
fn join_rows(join_type: &JoinType, left: &Node, right: &Node) -> Rows {
    match join_type {
        JoinType::LeftSemi | JoinType::LeftAnti | JoinType::LeftMark => Rows::AtMost(left.estimate.rows),
        JoinType::RightSemi | JoinType::RightAnti | JoinType::RightMark => Rows::AtMost(right.estimate.rows),
        _ => Rows::Estimated,
    }
}

fn join_columns(join_type: &JoinType, left: Texts, right: Texts) -> Texts {
    let mark = std::iter::once(Arc::from("mark"));
    match join_type {
        JoinType::LeftSemi | JoinType::LeftAnti => left,
        JoinType::RightSemi | JoinType::RightAnti => right,
        JoinType::LeftMark => left.into_iter().chain(mark).collect(),
        JoinType::RightMark => right.into_iter().chain(mark).collect(),
        _ => left.into_iter().chain(right).collect(),
    }
}
