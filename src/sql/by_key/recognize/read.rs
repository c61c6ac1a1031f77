//! Which queries are reads by key, by their plans.

use datafusion::common::{Column, DFSchema, ScalarValue};
use datafusion::datasource::source_as_provider;
use datafusion::logical_expr::expr::InList;
use datafusion::logical_expr::utils::split_conjunction;
use datafusion::logical_expr::{Between, BinaryExpr, Expr, FetchType, LogicalPlan, Operator, SkipType, SortExpr};

use crate::by_key::key_read::{Bound, KeyRead, Operand, Rows};
use crate::provider::{EntityRows, EntityTable};
use rowkey_postgres::parameters::place_of;
use rowkey_postgres::types::PostgresType;

/// Places of the key columns in every table.
const PARTITION: usize = 0;
const ROW: usize = 1;

/// Tables may have this many columns, or this many for each that is read: pages are decoded whole.
const COLUMNS_MAX: usize = 32;
const COLUMNS_EACH_MAX: usize = 4;
/// Longer lists of keys, and more entities, are planned, and read from several pages at once.
const KEYS_MAX: usize = 16;
const POINTS_MAX: usize = 32;

/// Recognises `SELECT columns FROM table WHERE "PartitionKey" = .. [AND "RowKey" ..]`: plain
/// columns of one table, one PartitionKey or a few, and one RowKey, a few, a range of them or all.
pub(super) fn recognize(plan: &LogicalPlan, parameters: &[&'static PostgresType]) -> Option<KeyRead> {
    let (mut plan, mut fetch, mut order) = (plan, None, None);
    if let LogicalPlan::Limit(limit) = plan {
        let (Ok(SkipType::Literal(0)), Ok(FetchType::Literal(rows))) = (limit.get_skip_type(), limit.get_fetch_type())
        else {
            return None;
        };
        fetch = rows;
        plan = &limit.input;
    }
    // A column of ORDER BY that is not selected is projected away above the sort.
    let mut outer = None;
    if let LogicalPlan::Projection(projection) = plan
        && matches!(*projection.input, LogicalPlan::Sort(_))
    {
        outer = Some(projection);
        plan = &projection.input;
    }
    if let LogicalPlan::Sort(sort) = plan {
        if sort.fetch.is_some() {
            return None;
        }
        order = Some(sort);
        plan = &sort.input;
    }
    let LogicalPlan::Projection(projection) = plan else { return None };
    let LogicalPlan::Filter(filter) = projection.input.as_ref() else { return None };
    let mut source = filter.input.as_ref();
    while let LogicalPlan::SubqueryAlias(alias) = source {
        source = &alias.input;
    }
    let LogicalPlan::TableScan(scan) = source else { return None };
    if scan.projection.is_some() || !scan.filters.is_empty() || scan.fetch.is_some() {
        return None;
    }
    let provider = source_as_provider(&scan.source).ok()?;
    let table = provider.downcast_ref::<EntityTable>()?;
    // Aliases rename columns and keep their places.
    let schema = filter.input.schema();
    let places: Vec<usize> = projection.expr.iter().map(|expr| place(expr, schema)).collect::<Option<_>>()?;
    let mut condition = Condition::default();
    for part in split_conjunction(&filter.predicate) {
        condition.add(part, schema, parameters)?;
    }
    let (rows, partitions) = (condition.rows()?, condition.partitions?);
    let is_one = partitions.len() == 1 && matches!(&rows, Rows::Points(rows) if rows.len() == 1);
    if let Some(sort) = order
        && !is_one
        && !keeps_key_order(&sort.expr, plan.schema(), &places, partitions.len() == 1)?
    {
        return None;
    }
    let places = match outer {
        None => places,
        Some(outer) => {
            let inner = |expr| place(expr, plan.schema()).and_then(|at| places.get(at).copied());
            outer.expr.iter().map(inner).collect::<Option<_>>()?
        }
    };
    if !may_be_read(table, partitions.len(), &rows, places.len()) {
        return None;
    }
    let columns = EntityRows::new(table.columns(), places)?;
    Some(KeyRead::new(table, partitions, rows, columns, fetch))
}

/// Whether so many columns of a table can be read by key, and are worth it.
pub(super) fn may_be_read(table: &EntityTable, partitions: usize, rows: &Rows, columns: usize) -> bool {
    let is_points = match rows {
        Rows::Points(rows) if partitions * rows.len() > POINTS_MAX => return false,
        rows => matches!(rows, Rows::Points(_)),
    };
    let columns_max = COLUMNS_MAX.max(columns * COLUMNS_EACH_MAX);
    table.reads_cleverly()
        && !table.table().has_other()
        && (is_points || table.columns().visible().len() <= columns_max)
}

/// The place in the table of the column that an output is; `None` if it is computed.
fn place(expr: &Expr, schema: &DFSchema) -> Option<usize> {
    match expr {
        Expr::Column(column) => schema.index_of_column(column).ok(),
        Expr::Alias(alias) => place(&alias.expr, schema),
        _ => None,
    }
}

/// Whether rows in key order, of one partition or of several, are sorted. `None` where the sort is
/// by other expressions than columns.
fn keeps_key_order(sort: &[SortExpr], schema: &DFSchema, places: &[usize], mut one_partition: bool) -> Option<bool> {
    for key in sort {
        let Expr::Column(column) = &key.expr else { return None };
        match *places.get(schema.index_of_column(column).ok()?)? {
            PARTITION if one_partition => {}
            PARTITION if key.asc => one_partition = true,
            // It is unique within a partition: keys after it decide nothing.
            ROW if one_partition => return Some(key.asc),
            _ => return Some(false),
        }
    }
    Some(true)
}

/// The conditions of WHERE on the key columns.
#[derive(Default)]
pub(super) struct Condition {
    pub partitions: Option<Vec<Operand>>,
    rows: Option<Vec<Operand>>,
    lower: Option<Bound>,
    upper: Option<Bound>,
}

impl Condition {
    /// Adds a conjunct; `None` if it is no comparison of a key column, or a second one for the same
    /// bound.
    pub(super) fn add(&mut self, part: &Expr, schema: &DFSchema, parameters: &[&'static PostgresType]) -> Option<()> {
        let key = |expr: &Expr| match expr {
            Expr::Column(column) => key_column(column, schema),
            _ => None,
        };
        let set = |slot: &mut Option<Bound>, bound: Bound| slot.is_none().then(|| *slot = Some(bound));
        match part {
            Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
                let (place, op, other) = match key(left) {
                    Some(place) => (place, *op, right),
                    None => (key(right)?, op.swap()?, left),
                };
                let operand = operand(other, parameters)?;
                match (place, op) {
                    (PARTITION, Operator::Eq) if self.partitions.is_none() => self.partitions = Some(vec![operand]),
                    (ROW, Operator::Eq) if self.rows.is_none() => self.rows = Some(vec![operand]),
                    (ROW, Operator::Gt) => set(&mut self.lower, Bound { operand, inclusive: false })?,
                    (ROW, Operator::GtEq) => set(&mut self.lower, Bound { operand, inclusive: true })?,
                    (ROW, Operator::Lt) => set(&mut self.upper, Bound { operand, inclusive: false })?,
                    (ROW, Operator::LtEq) => set(&mut self.upper, Bound { operand, inclusive: true })?,
                    _ => return None,
                }
            }
            Expr::InList(InList { expr, list, negated: false }) if list.len() <= KEYS_MAX => {
                let operands = || list.iter().map(|item| operand(item, parameters)).collect::<Option<Vec<_>>>();
                match key(expr)? {
                    PARTITION if self.partitions.is_none() => self.partitions = Some(operands()?),
                    ROW if self.rows.is_none() => self.rows = Some(operands()?),
                    _ => return None,
                }
            }
            Expr::Between(Between { expr, negated: false, low, high }) if key(expr) == Some(ROW) => {
                set(&mut self.lower, Bound { operand: operand(low, parameters)?, inclusive: true })?;
                set(&mut self.upper, Bound { operand: operand(high, parameters)?, inclusive: true })?;
            }
            _ => return None,
        }
        Some(())
    }

    /// The rows for which the conditions may hold.
    pub(super) fn rows_at_least(&mut self) -> Rows {
        match self.rows.take() {
            Some(rows) => Rows::Points(rows),
            None => Rows::Between { lower: self.lower.take(), upper: self.upper.take() },
        }
    }

    fn rows(&mut self) -> Option<Rows> {
        match (self.rows.take(), self.lower.take(), self.upper.take()) {
            (Some(rows), None, None) => Some(Rows::Points(rows)),
            (None, lower, upper) => Some(Rows::Between { lower, upper }),
            _ => None,
        }
    }
}

fn key_column(column: &Column, schema: &DFSchema) -> Option<usize> {
    schema.index_of_column(column).ok().filter(|place| [PARTITION, ROW].contains(place))
}

/// A text that is known before the table is read: a literal or a parameter.
fn operand(expr: &Expr, parameters: &[&'static PostgresType]) -> Option<Operand> {
    match expr {
        Expr::Literal(ScalarValue::Utf8(text) | ScalarValue::Utf8View(text), metadata) if metadata.is_none() => {
            Some(Operand::Text(text.clone()))
        }
        Expr::Placeholder(placeholder) => {
            let place = place_of(&placeholder.id)?;
            ["text", "varchar"].contains(&parameters.get(place)?.name).then_some(Operand::Parameter(place))
        }
        // Between types of text, a cast changes nothing.
        Expr::Cast(cast) if cast.field.data_type().is_string() && cast.field.metadata().is_empty() => {
            operand(&cast.expr, parameters)
        }
        _ => None,
    }
}
