use datafusion::arrow::array::{ArrayRef, AsArray, StringViewArray, StructArray};
use datafusion::arrow::datatypes::{DataType, Field};
use datafusion::common::config::ConfigOptions;
use datafusion::functions::core::r#struct;
use datafusion::physical_expr::expressions::{DynamicFilterPhysicalExpr, lit};

use super::*;
use crate::access::dice::{TEXTS, all_keys};
use rowkey_base::testing::Dice;

fn schema() -> Schema {
    Schema::new(vec![
        Field::new(PARTITION_KEY, DataType::Utf8View, false),
        Field::new(ROW_KEY, DataType::Utf8View, false),
    ])
}

fn column(at: usize) -> Arc<dyn PhysicalExpr> {
    Arc::new(Column::new([PARTITION_KEY, ROW_KEY][at], at))
}

fn text(dice: &mut Dice) -> ScalarValue {
    match dice.chance(12) {
        true => ScalarValue::Utf8View(None),
        false => ScalarValue::Utf8View(Some((dice.pick(&TEXTS)).to_owned())),
    }
}

fn texts(dice: &mut Dice, count: usize) -> StringViewArray {
    (0..count).map(|_| (!dice.chance(12)).then(|| dice.pick(&TEXTS))).collect()
}

/// A filter as joins and subqueries make them.
fn filter(dice: &mut Dice, depth: usize) -> Arc<dyn PhysicalExpr> {
    let binary = |left, op, right| Arc::new(BinaryExpr::new(left, op, right)) as Arc<dyn PhysicalExpr>;
    match dice.below(if depth == 0 { 4 } else { 6 }) {
        0 | 1 => {
            let ops = [
                Operator::Eq,
                Operator::NotEq,
                Operator::Lt,
                Operator::LtEq,
                Operator::Gt,
                Operator::GtEq,
                Operator::IsDistinctFrom,
                Operator::IsNotDistinctFrom,
            ];
            let (column, value, op) = (column(dice.below(2)), lit(text(dice)), dice.pick(&ops));
            if dice.chance(2) { binary(column, op, value) } else { binary(value, op, column) }
        }
        2 => {
            let count = 1 + dice.below(4);
            let (column, list) = (column(dice.below(2)), texts(dice, count));
            let in_list = InListExpr::try_new_from_array(column, Arc::new(list), dice.chance(4), &schema());
            Arc::new(in_list.expect("a list"))
        }
        3 => {
            let count = 1 + dice.below(4);
            let fields = ["c0", "c1"].map(|name| Field::new(name, DataType::Utf8View, true));
            let columns: Vec<ArrayRef> = vec![Arc::new(texts(dice, count)), Arc::new(texts(dice, count))];
            let list = StructArray::new(fields.to_vec().into(), columns, None);
            let order = if dice.chance(2) { [0, 1] } else { [1, 0] };
            let row = ScalarFunctionExpr::new(
                "struct",
                r#struct(),
                order.map(column).to_vec(),
                Arc::new(Field::new("struct", DataType::Struct(fields.to_vec().into()), true)),
                Arc::new(ConfigOptions::default()),
            );
            let in_list = InListExpr::try_new_from_array(Arc::new(row), Arc::new(list), false, &schema());
            Arc::new(in_list.expect("a list of rows"))
        }
        branch => {
            let op = if branch == 4 { Operator::And } else { Operator::Or };
            binary(filter(dice, depth - 1), op, filter(dice, depth - 1))
        }
    }
}

/// Wherever a filter is TRUE, the key is among those that are read.
#[test]
fn no_key_is_missed() {
    let keys: Vec<_> = all_keys().collect();
    let columns: Vec<ArrayRef> = vec![
        Arc::new(keys.iter().map(|key| Some(key.partition)).collect::<StringViewArray>()),
        Arc::new(keys.iter().map(|key| Some(key.row)).collect::<StringViewArray>()),
    ];
    let batch = RecordBatch::try_new(Arc::new(schema()), columns).expect("keys");
    let (mut bounded, mut passed) = (0, 0);
    for seed in 0..4000 {
        let mut dice = Dice(seed);
        let found = filter(&mut dice, 3);
        let dynamic = DynamicFilterPhysicalExpr::new(vec![column(0), column(1)], lit(true));
        dynamic.update(Arc::clone(&found)).expect("a filter");
        let dynamic = Arc::new(dynamic);
        let asked: Arc<dyn PhysicalExpr> = Arc::clone(&dynamic) as _;
        assert_eq!(run_time_keys(&asked).expect("keys"), None, "seed {seed}: it may still change");
        dynamic.mark_complete();
        assert!(has_run_time_parts(&asked));
        let Some(within) = run_time_keys(&asked).expect("keys") else { continue };
        bounded += 1;
        let truth = found.evaluate(&batch).and_then(|truth| truth.into_array(keys.len())).expect("truth");
        for (key, holds) in keys.iter().zip(truth.as_boolean()) {
            passed += usize::from(holds == Some(true));
            assert!(holds != Some(true) || within.contains(*key), "seed {seed}: {found} misses {key:?}");
        }
    }
    assert!(bounded > 1000 && passed > 1000, "{bounded} {passed}");
}

#[test]
fn pairs_are_points() {
    let list = StructArray::from(vec![
        (
            Arc::new(Field::new("c0", DataType::Utf8View, true)),
            Arc::new(StringViewArray::from(vec!["p", "q"])) as ArrayRef,
        ),
        (
            Arc::new(Field::new("c1", DataType::Utf8View, true)),
            Arc::new(StringViewArray::from(vec!["1", "2"])) as ArrayRef,
        ),
    ]);
    let fields = list.fields().clone();
    let row = ScalarFunctionExpr::new(
        "struct",
        r#struct(),
        vec![column(0), column(1)],
        Arc::new(Field::new("struct", DataType::Struct(fields), true)),
        Arc::new(ConfigOptions::default()),
    );
    let in_list = InListExpr::try_new_from_array(Arc::new(row), Arc::new(list), false, &schema()).expect("a list");
    let dynamic = DynamicFilterPhysicalExpr::new(vec![column(0), column(1)], Arc::new(in_list));
    dynamic.mark_complete();
    let keys = run_time_keys(&(Arc::new(dynamic) as _)).expect("keys").expect("bounds");
    let points: Vec<_> = keys.ranges().iter().filter_map(|range| range.as_point()).collect();
    assert_eq!(points.iter().map(|key| (key.partition, key.row)).collect::<Vec<_>>(), [("p", "1"), ("q", "2")]);
}
