use arrow::array::{
    BooleanArray, FixedSizeBinaryArray, Float64Array, Int32Array, Int64Array, StringViewArray, TimestampNanosecondArray,
};
use arrow::compute::filter;

use super::*;
use rowkey_base::testing::Dice;

fn columns(rows: usize, nulls: bool, dice: &mut Dice) -> Vec<ArrayRef> {
    let mut numbers =
        || (0..rows).map(|_| (!nulls || dice.below(3) > 0).then(|| dice.below(1000) as i64)).collect::<Vec<_>>();
    let (ints, longs, floats, times) = (numbers(), numbers(), numbers(), numbers());
    let (flags, texts, guids) = (numbers(), numbers(), numbers());
    let of_guid = |number: i64| (number as u128).to_le_bytes();
    let guids = guids.into_iter().map(|number| number.map(of_guid));
    vec![
        Arc::new(Int32Array::from_iter(ints.into_iter().map(|number| number.map(|number| number as i32)))),
        Arc::new(Int64Array::from_iter(longs)),
        Arc::new(Float64Array::from_iter(floats.into_iter().map(|number| number.map(|number| number as f64 / 7.0)))),
        Arc::new(TimestampNanosecondArray::from_iter(times).with_timezone("UTC")),
        Arc::new(BooleanArray::from_iter(flags.into_iter().map(|number| number.map(|number| number % 2 == 0)))),
        Arc::new(StringViewArray::from_iter(
            texts
                .into_iter()
                .map(|number| number.map(|number| format!("{number} is a text that is longer than twelve bytes"))),
        )),
        Arc::new(FixedSizeBinaryArray::try_from_sparse_iter_with_size(guids, 16).expect("guids")),
    ]
}

#[test]
fn what_is_kept_is_what_a_filter_leaves() {
    for seed in 1..=300 {
        let mut dice = Dice(seed);
        let rows = [0, 1, 63, 64, 65, 127, 128, 1000][dice.below(8)] + dice.below(3);
        let (from, nulls) = (dice.below(70), dice.below(2) == 0);
        // All, none, some, and those in stretches.
        let (least, stretch) = ([0, 1, 5, 10][dice.below(4)], 1 + dice.below(90));
        let kept: Vec<bool> =
            (0..(rows + from).div_ceil(stretch)).flat_map(|_| vec![dice.below(10) >= least; stretch]).collect();
        let kept = BooleanBuffer::from(kept).slice(from, rows);
        let wanted = BooleanArray::from(kept.clone());
        let kept = RowFilter::new(kept);
        assert_eq!(kept.count(), wanted.true_count());
        for column in columns(rows + from, nulls, &mut dice) {
            let column = column.slice(from, rows);
            let found = kept.of(&column).expect("kept rows");
            assert_eq!(&found, &filter(&column, &wanted).expect("filters"), "seed {seed}, {}", column.data_type());
            assert_eq!(found.data_type(), column.data_type());
        }
    }
}
