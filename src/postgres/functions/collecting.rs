//! Aggregates that collect texts. DataFusion's accumulators of `array_agg` count the views of
//! collected texts, and not what these show: the memory pool would let them grow without end. The
//! text of `string_agg` doubles its buffer, which the pool sees afterwards: it is no longer than
//! other values.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, OffsetSizeTrait};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::AggregateOrderSensitivity;
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, EmitTo, GroupsAccumulator, ReversedUDAF, Signature,
};
use datafusion::physical_expr::expressions::Literal;

use super::error::{SqlState, fail};
use super::groups::{Joined, LimitedGroups, OrderedGroups};
use super::of_inner::of_inner;
use super::value_budget::{ValueBudget, too_long};
use crate::types::{POSTGRES_TYPE, type_by_name};

/// How often what is collected is in memory where it is spilled: itself, a copy without what is not
/// shown, and the copy as it is written.
const COPIES: usize = 3;

/// DataFusion's, under accumulators that know their size.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Collecting {
    inner: Arc<AggregateUDF>,
    collected: Collected,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Collected {
    List,
    /// Less than so many bytes of it.
    Text {
        bytes_max: usize,
    },
}

impl Collecting {
    /// `array_agg`.
    pub(super) fn list(inner: Arc<AggregateUDF>) -> AggregateUDF {
        AggregateUDF::new_from_impl(Self { inner, collected: Collected::List })
    }

    /// `string_agg`.
    pub(super) fn text(inner: Arc<AggregateUDF>, budget: ValueBudget) -> AggregateUDF {
        AggregateUDF::new_from_impl(Self { inner, collected: Collected::Text { bytes_max: budget.value_bytes() } })
    }

    fn over(&self, inner: Arc<AggregateUDF>) -> Self {
        Self { inner, collected: self.collected }
    }

    fn orders_groups(&self, args: &AccumulatorArgs) -> bool {
        let has_delimiter = self.collected == Collected::List || self.joined(args).is_some();
        has_delimiter && OrderedGroups::supports(args)
    }

    /// How texts are joined, if what is between them is a constant.
    fn joined(&self, args: &AccumulatorArgs) -> Option<Joined> {
        let Collected::Text { bytes_max } = self.collected else { return None };
        let delimiter = args.exprs.get(1)?.downcast_ref::<Literal>()?.value();
        let delimiter = delimiter.try_as_str()?.unwrap_or_default().to_owned();
        Some(Joined { delimiter, bytes_max })
    }

    fn accumulator_of(&self, inner: Box<dyn Accumulator>, counts_views_only: bool) -> Box<dyn Accumulator> {
        match self.collected {
            Collected::List if counts_views_only => Box::new(Counted { inner, shown_bytes: 0 }),
            Collected::List => inner,
            Collected::Text { bytes_max } => Box::new(Limited { inner, bytes_max, shown_bytes: 0 }),
        }
    }
}

/// Of single values the accumulators know the size: those of ordered and of distinct ones.
fn counts_views_only(args: &AccumulatorArgs) -> bool {
    let of_views = args.expr_fields.first().is_some_and(|field| holds_views(field.data_type()));
    of_views && !args.is_distinct && args.order_bys.is_empty()
}

fn holds_views(data_type: &DataType) -> bool {
    match data_type {
        DataType::Utf8View | DataType::BinaryView => true,
        DataType::List(item) => holds_views(item.data_type()),
        DataType::Struct(fields) => fields.iter().any(|field| holds_views(field.data_type())),
        _ => false,
    }
}

/// What an array's texts show, in bytes, or those of its lists.
pub(crate) fn shown_bytes(array: &ArrayRef) -> usize {
    match array.data_type() {
        DataType::Utf8View => array.as_string_view().lengths().map(|length| length as usize).sum(),
        DataType::BinaryView => array.as_binary_view().lengths().map(|length| length as usize).sum(),
        DataType::Utf8 => length_of(array.as_string::<i32>().value_offsets()),
        DataType::LargeUtf8 => length_of(array.as_string::<i64>().value_offsets()),
        DataType::LargeBinary => length_of(array.as_binary::<i64>().value_offsets()),
        DataType::Struct(_) => array.as_struct().columns().iter().map(shown_bytes).sum(),
        DataType::List(_) => {
            let lists = array.as_list::<i32>();
            let (from, to) = (lists.value_offsets().first(), lists.value_offsets().last());
            match (from, to) {
                (Some(&from), Some(&to)) => shown_bytes(&lists.values().slice(from as usize, (to - from) as usize)),
                _ => 0,
            }
        }
        _ => 0,
    }
}

/// What an array's slice takes by itself, in bytes, whatever buffers it shares.
pub(crate) fn slice_bytes(array: &ArrayRef) -> usize {
    let own = array.to_data().get_slice_memory_size().unwrap_or_else(|_| array.get_array_memory_size());
    match array.data_type() {
        // Texts with offsets are in the slice.
        DataType::Utf8 | DataType::LargeUtf8 | DataType::LargeBinary => own,
        _ => own.saturating_add(shown_bytes(array)),
    }
}

/// What an array's texts take: one that many rows show, as a constant is, counts once, and what
/// other rows of a larger batch show does not.
pub(crate) fn held_bytes(array: &ArrayRef) -> usize {
    let buffers = match array.data_type() {
        DataType::Utf8View => array.as_string_view().data_buffers(),
        DataType::BinaryView => array.as_binary_view().data_buffers(),
        _ => return shown_bytes(array),
    };
    shown_bytes(array).min(buffers.iter().map(|buffer| buffer.len()).sum())
}

fn length_of<O: OffsetSizeTrait>(offsets: &[O]) -> usize {
    match (offsets.first(), offsets.last()) {
        (Some(from), Some(to)) => to.as_usize() - from.as_usize(),
        _ => 0,
    }
}

impl AggregateUDFImpl for Collecting {
    of_inner! {
        name() -> &str,
        signature() -> &Signature,
        coerce_types(types: &[DataType]) -> Result<Vec<DataType>>,
        state_fields(args: StateFieldsArgs) -> Result<Vec<FieldRef>>,
        supports_null_handling_clause() -> bool,
    }

    /// DataFusion's `string_agg` gives what holds a `jsonb` here.
    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match self.collected {
            Collected::List => self.inner.return_type(types),
            Collected::Text { .. } => Ok(DataType::Utf8View),
        }
    }

    /// An array has the PostgreSQL type of its items: `varchar[]`.
    fn return_field(&self, arguments: &[FieldRef]) -> Result<FieldRef> {
        let types: Vec<_> = arguments.iter().map(|field| field.data_type().clone()).collect();
        let field = Field::new(self.name(), self.return_type(&types)?, self.is_nullable());
        let item = arguments.first().and_then(|field| field.metadata().get(POSTGRES_TYPE));
        let array = item.map(|item| format!("_{item}")).filter(|array| type_by_name(array).is_some());
        Ok(Arc::new(match array {
            Some(array) if self.collected == Collected::List => {
                field.with_metadata([(POSTGRES_TYPE.to_owned(), array)].into())
            }
            _ => field,
        }))
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        let counts = counts_views_only(&args);
        Ok(self.accumulator_of(self.inner.accumulator(args)?, counts))
    }

    fn create_sliding_accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        let counts = counts_views_only(&args);
        Ok(self.accumulator_of(self.inner.create_sliding_accumulator(args)?, counts))
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs) -> bool {
        self.orders_groups(&args) || self.inner.groups_accumulator_supported(args)
    }

    fn create_groups_accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn GroupsAccumulator>> {
        if self.orders_groups(&args) {
            let inner = Box::new(OrderedGroups::new(&args, self.joined(&args))?);
            return Ok(Box::new(CollectingGroups { inner, counts: true, as_text: false, shown_bytes: 0 }));
        }
        let joined = self.joined(&args);
        let counts = self.collected == Collected::List && counts_views_only(&args);
        let as_text = self.collected != Collected::List;
        let mut inner = self.inner.create_groups_accumulator(args)?;
        if let Some(Joined { delimiter, bytes_max }) = joined {
            inner = Box::new(LimitedGroups::new(inner, bytes_max, delimiter.len()));
        }
        Ok(Box::new(CollectingGroups { inner, counts, as_text, shown_bytes: 0 }))
    }

    /// The accumulators of both sort what comes in another order: several in a query may each have
    /// their own.
    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        AggregateOrderSensitivity::SoftRequirement
    }

    fn with_beneficial_ordering(
        self: Arc<Self>,
        beneficial_ordering: bool,
    ) -> Result<Option<Arc<dyn AggregateUDFImpl>>> {
        // `string_agg` sorts whether that is of use or not.
        let inner = self.inner.as_ref().clone().with_beneficial_ordering(beneficial_ordering)?;
        let function: Arc<dyn AggregateUDFImpl> = match inner {
            Some(inner) => Arc::new(self.over(Arc::new(inner))),
            None => self,
        };
        Ok(Some(function))
    }

    /// Those of distinct values would come in the order of the others: DataFusion's accumulator
    /// does not see that it was reversed.
    fn reverse_expr(&self) -> ReversedUDAF {
        ReversedUDAF::NotSupported
    }
}

/// A text that grows as long as it is shorter than a value may be.
#[derive(Debug)]
struct Limited {
    inner: Box<dyn Accumulator>,
    bytes_max: usize,
    shown_bytes: usize,
}

impl Limited {
    fn reserve(&mut self, texts: &[ArrayRef]) -> Result<()> {
        let texts_bytes = texts.first().map_or(0, shown_bytes);
        self.shown_bytes = self.shown_bytes.saturating_add(texts_bytes);
        match self.shown_bytes < self.bytes_max {
            true => Ok(()),
            false => fail(SqlState::PROGRAM_LIMIT_EXCEEDED, too_long(self.shown_bytes, self.bytes_max)),
        }
    }
}

impl Accumulator for Limited {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.reserve(values)?;
        self.inner.update_batch(values)
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.reserve(states)?;
        self.inner.merge_batch(states)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        self.inner.state()
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        self.inner.evaluate()?.cast_to(&DataType::Utf8View)
    }

    fn size(&self) -> usize {
        self.inner.size()
    }
}

#[derive(Debug)]
struct Counted {
    inner: Box<dyn Accumulator>,
    shown_bytes: usize,
}

impl Accumulator for Counted {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.shown_bytes = self.shown_bytes.saturating_add(values.iter().map(shown_bytes).sum());
        self.inner.update_batch(values)
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.shown_bytes = self.shown_bytes.saturating_add(states.iter().map(shown_bytes).sum());
        self.inner.merge_batch(states)
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.shown_bytes = self.shown_bytes.saturating_sub(values.iter().map(shown_bytes).sum());
        self.inner.retract_batch(values)
    }

    fn supports_retract_batch(&self) -> bool {
        self.inner.supports_retract_batch()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        self.inner.state()
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        self.inner.evaluate()
    }

    fn size(&self) -> usize {
        self.inner.size().saturating_add(self.shown_bytes.saturating_mul(COPIES))
    }
}

struct CollectingGroups {
    inner: Box<dyn GroupsAccumulator>,
    /// Whether the inner one does not know the size of what it collects.
    counts: bool,
    /// Whether the result is a text, in the type of texts.
    as_text: bool,
    shown_bytes: usize,
}

impl CollectingGroups {
    fn count(&mut self, values: &[ArrayRef]) {
        if self.counts {
            self.shown_bytes = self.shown_bytes.saturating_add(values.iter().map(shown_bytes).sum());
        }
    }

    /// What is emitted is released: of some groups their share.
    fn release<T>(&mut self, emit: impl FnOnce(&mut dyn GroupsAccumulator) -> Result<T>) -> Result<T> {
        let before = self.inner.size();
        let emitted = emit(self.inner.as_mut())?;
        let left = self.inner.size().min(before) as f64 / before.max(1) as f64;
        self.shown_bytes = (self.shown_bytes as f64 * left) as usize;
        Ok(emitted)
    }
}

impl GroupsAccumulator for CollectingGroups {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        filter: Option<&BooleanArray>,
        total_num_groups: usize,
    ) -> Result<()> {
        self.count(values);
        self.inner.update_batch(values, group_indices, filter, total_num_groups)
    }

    fn merge_batch(&mut self, values: &[ArrayRef], group_indices: &[usize], total_num_groups: usize) -> Result<()> {
        self.count(values);
        self.inner.merge_batch(values, group_indices, total_num_groups)
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        let evaluated = self.release(|inner| inner.evaluate(emit_to))?;
        if self.as_text { Ok(cast(&evaluated, &DataType::Utf8View)?) } else { Ok(evaluated) }
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        self.release(|inner| inner.state(emit_to))
    }

    fn convert_to_state(&self, values: &[ArrayRef], filter: Option<&BooleanArray>) -> Result<Vec<ArrayRef>> {
        self.inner.convert_to_state(values, filter)
    }

    fn size(&self) -> usize {
        self.inner.size().saturating_add(self.shown_bytes.saturating_mul(COPIES))
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::StringViewArray;
    use arrow::datatypes::Schema;
    use datafusion::functions_aggregate::array_agg::array_agg_udaf;
    use datafusion::functions_aggregate::string_agg::string_agg_udaf;
    use datafusion::physical_expr::aggregate::AggregateExprBuilder;
    use datafusion::physical_expr::expressions::{col, lit};

    use super::*;

    #[test]
    fn a_constant_counts_once() {
        let one = StringViewArray::from_iter_values(["x".repeat(1000)]);
        let rows = vec![one.views()[0]; 10];
        let repeated = StringViewArray::try_new(rows.into(), one.data_buffers().to_vec(), None).expect("valid");
        let repeated: ArrayRef = Arc::new(repeated);
        assert_eq!((shown_bytes(&repeated), held_bytes(&repeated)), (10_000, 1000));
        let several: ArrayRef = Arc::new(StringViewArray::from_iter_values(vec!["x".repeat(1000); 10]));
        assert_eq!(held_bytes(&several), 10_000);
        assert_eq!(held_bytes(&several.slice(3, 2)), 2000);
    }

    #[test]
    fn texts_are_counted() {
        let schema = Schema::new(vec![Field::new("t", DataType::Utf8View, true)]);
        let column = col("t", &schema).expect("a column");
        let function = Arc::new(Collecting::list(array_agg_udaf()));
        let aggregate = AggregateExprBuilder::new(function, vec![column])
            .schema(Arc::new(schema))
            .alias("a")
            .build()
            .expect("made");
        let text = "x".repeat(100_000);
        let texts: ArrayRef = Arc::new(StringViewArray::from_iter_values(vec![text.as_str(); 10]));
        let mut accumulator = aggregate.create_accumulator().expect("an accumulator");
        accumulator.update_batch(&[Arc::clone(&texts)]).expect("collects");
        assert!(accumulator.size() >= 1_000_000, "{}", accumulator.size());
        let mut groups = aggregate.create_groups_accumulator().expect("groups");
        groups.update_batch(&[texts], &[0; 10], None, 1).expect("collects");
        assert!(groups.size() >= 1_000_000, "{}", groups.size());
        groups.evaluate(EmitTo::All).expect("a list");
        assert!(groups.size() < 1_000_000, "{}", groups.size());
    }

    #[test]
    fn collected_texts_are_no_longer_than_values() {
        let schema = Schema::new(vec![Field::new("t", DataType::Utf8View, true)]);
        let arguments = vec![col("t", &schema).expect("a column"), lit(",")];
        let budget = ValueBudget::of_memory(1);
        let function = Arc::new(Collecting::text(string_agg_udaf(), budget));
        let aggregate =
            AggregateExprBuilder::new(function, arguments).schema(Arc::new(schema)).alias("a").build().expect("made");
        let text = "x".repeat(budget.value_bytes() / 4);
        let texts = |rows| -> ArrayRef { Arc::new(StringViewArray::from_iter_values(vec![text.as_str(); rows])) };
        let mut accumulator = aggregate.create_accumulator().expect("an accumulator");
        accumulator.update_batch(&[texts(3)]).expect("short enough");
        let error = accumulator.update_batch(&[texts(1)]).expect_err("too long");
        assert!(error.to_string().contains("requested length too large"), "{error}");
        let mut groups = aggregate.create_groups_accumulator().expect("groups");
        groups.update_batch(&[texts(6)], &[0, 1, 0, 1, 0, 1], None, 2).expect("short enough");
        groups.evaluate(EmitTo::First(1)).expect("a text");
        groups.update_batch(&[texts(1)], &[1], None, 2).expect("another group");
        let none: ArrayRef = Arc::new(StringViewArray::new_null(1));
        groups.update_batch(&[none], &[0], None, 2).expect("nothing");
        let error = groups.update_batch(&[texts(1)], &[0], None, 2).expect_err("too long");
        assert!(error.to_string().contains("requested length too large"), "{error}");
    }
}
