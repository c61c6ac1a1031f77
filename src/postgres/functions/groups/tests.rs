use std::collections::BTreeSet;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, Int64Array, StringViewArray};
use arrow::compute::SortOptions;
use arrow::datatypes::{DataType, Field, Int64Type, Schema};
use datafusion::functions_aggregate::array_agg::array_agg_udaf;
use datafusion::functions_aggregate::count::count_udaf;
use datafusion::functions_aggregate::string_agg::string_agg_udaf;
use datafusion::logical_expr::EmitTo;
use datafusion::physical_expr::PhysicalSortExpr;
use datafusion::physical_expr::aggregate::{AggregateExprBuilder, AggregateFunctionExpr};
use datafusion::physical_expr::expressions::{col, lit};
use rowkey_base::testing::Dice;

use super::super::collecting::Collecting;
use super::super::value_budget::ValueBudget;
use super::DistinctCount;

/// A row: its group, whether FILTER takes it, its value, and what it is ordered by.
#[derive(Clone)]
struct Row {
    group: usize,
    taken: bool,
    value: Option<String>,
    key: i64,
}

const GROUPS: usize = 7;

fn rows(dice: &mut Dice) -> Vec<Row> {
    let count = dice.below(200) as i64;
    let row = |key| Row {
        group: dice.below(GROUPS),
        taken: dice.below(5) > 0,
        value: (dice.below(6) > 0).then(|| "value ".repeat(1 + dice.below(4))),
        // No two are equal, in no order.
        key: (key * 7919) % 10_007,
    };
    (0..count).map(row).collect()
}

fn schema() -> Arc<Schema> {
    let fields = vec![Field::new("t", DataType::Utf8View, true), Field::new("k", DataType::Int64, true)];
    Arc::new(Schema::new(fields))
}

/// The value, if there are more the delimiter, and then the sort key.
fn arguments_of(rows: &[Row], count: usize) -> Vec<ArrayRef> {
    let values: ArrayRef = Arc::new(rows.iter().map(|row| row.value.as_deref()).collect::<StringViewArray>());
    let keys: ArrayRef = Arc::new(rows.iter().map(|row| row.key).collect::<Int64Array>());
    let delimiters: ArrayRef = Arc::new(StringViewArray::from(vec![","; rows.len()]));
    match count {
        1 => vec![values],
        2 => vec![values, keys],
        _ => vec![values, delimiters, keys],
    }
}

/// Puts rows through accumulators as plans do: some are updated, some merged from states, which are
/// made in parts or of single rows, and what comes out does so in two parts.
fn aggregated(aggregate: &AggregateFunctionExpr, rows: &[Row], arguments: usize, dice: &mut Dice) -> Vec<ArrayRef> {
    let made = || aggregate.create_groups_accumulator().expect("an accumulator");
    let mut last = made();
    for part in rows.chunks(1 + dice.below(60)) {
        let arguments = arguments_of(part, arguments);
        let groups: Vec<usize> = part.iter().map(|row| row.group).collect();
        let filter: BooleanArray = part.iter().map(|row| Some(row.taken)).collect();
        match dice.below(3) {
            0 => last.update_batch(&arguments, &groups, Some(&filter), GROUPS).expect("updated"),
            1 => {
                let states = last.convert_to_state(&arguments, Some(&filter)).expect("states of rows");
                last.merge_batch(&states, &groups, GROUPS).expect("merged");
            }
            _ => {
                let mut first = made();
                first.update_batch(&arguments, &groups, Some(&filter), GROUPS).expect("updated");
                let emitted = dice.below(GROUPS + 1);
                let groups: Vec<usize> = (0..GROUPS).collect();
                if emitted > 0 {
                    let states = first.state(EmitTo::First(emitted)).expect("states of the first groups");
                    last.merge_batch(&states, &groups[..emitted], GROUPS).expect("merged");
                }
                if emitted < GROUPS {
                    let states = first.state(EmitTo::All).expect("states of the others");
                    last.merge_batch(&states, &groups[emitted..], GROUPS).expect("merged");
                }
            }
        }
    }
    // All groups are known, if no row is of some.
    last.update_batch(&arguments_of(&[], arguments), &[], None, GROUPS).expect("nothing more");
    let first = last.evaluate(EmitTo::First(GROUPS / 2)).expect("the first groups");
    vec![first, last.evaluate(EmitTo::All).expect("the others")]
}

fn of_group(rows: &[Row], group: usize) -> impl Iterator<Item = &Row> {
    rows.iter().filter(move |row| row.group == group && row.taken)
}

#[test]
fn groups_are_collected_in_order_as_one_by_one() {
    let schema = schema();
    let order = PhysicalSortExpr::new(col("k", &schema).expect("a column"), SortOptions::new(true, true));
    let value = col("t", &schema).expect("a column");
    let budget = ValueBudget::of_memory(1 << 30);
    let functions = [
        (Collecting::list(array_agg_udaf()), vec![Arc::clone(&value)]),
        (Collecting::text(string_agg_udaf(), budget), vec![value, lit(",")]),
    ];
    for seed in 0..200 {
        let mut dice = Dice(seed);
        let rows = rows(&mut dice);
        for (function, arguments) in functions.clone() {
            let arguments_count = arguments.len() + 1;
            let aggregate = AggregateExprBuilder::new(Arc::new(function), arguments)
                .schema(Arc::clone(&schema))
                .order_by(vec![order.clone()])
                .alias("a")
                .build()
                .expect("built");
            let found = aggregated(&aggregate, &rows, arguments_count, &mut dice);
            let found = found.iter().flat_map(|found| (0..found.len()).map(move |group| (found, group)));
            for (group, (found, place)) in found.enumerate() {
                let mut wanted: Vec<&Row> = of_group(&rows, group).collect();
                wanted.sort_by_key(|row| -row.key);
                let (found, wanted) = match found.as_list_opt::<i32>() {
                    Some(lists) => {
                        let list = lists.is_valid(place).then(|| lists.value(place));
                        let texts = |list: ArrayRef| format!("{:?}", list.as_string_view().iter().collect::<Vec<_>>());
                        let wanted: Vec<_> = wanted.iter().map(|row| row.value.as_deref()).collect();
                        (list.map(texts), (!wanted.is_empty()).then(|| format!("{wanted:?}")))
                    }
                    None => {
                        let texts = found.as_string_view();
                        let wanted: Vec<_> = wanted.iter().filter_map(|row| row.value.as_deref()).collect();
                        let found = texts.is_valid(place).then(|| texts.value(place).to_owned());
                        (found, (!wanted.is_empty()).then(|| wanted.join(",")))
                    }
                };
                assert_eq!(found, wanted, "seed {seed}, group {group}");
            }
        }
    }
}

#[test]
fn distinct_values_of_groups_are_counted_as_one_by_one() {
    let schema = schema();
    let aggregate = AggregateExprBuilder::new(
        Arc::new(DistinctCount::over(count_udaf())),
        vec![col("t", &schema).expect("a column")],
    )
    .schema(schema)
    .alias("a")
    .distinct()
    .build()
    .expect("built");
    for seed in 0..200 {
        let mut dice = Dice(seed);
        let rows = rows(&mut dice);
        let found = aggregated(&aggregate, &rows, 1, &mut dice);
        let found = found.iter().flat_map(|found| found.as_primitive::<Int64Type>().values().to_vec());
        for (group, found) in found.enumerate() {
            let wanted: BTreeSet<_> = of_group(&rows, group).filter_map(|row| row.value.as_deref()).collect();
            assert_eq!(found, wanted.len() as i64, "seed {seed}, group {group}");
        }
    }
}
