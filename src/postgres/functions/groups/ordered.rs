//! `array_agg` and `string_agg` of many groups, each in an order of its own.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, ListArray, StringViewBuilder, StructArray, UInt32Array};
use arrow::buffer::OffsetBuffer;
use arrow::compute::{cast, take};
use arrow::datatypes::{DataType, Field, Fields, Schema};
use arrow::row::{RowConverter, SortField};
use datafusion::common::{Result, internal_err};
use datafusion::functions_aggregate::array_agg::array_agg_udaf;
use datafusion::logical_expr::function::AccumulatorArgs;
use datafusion::logical_expr::{EmitTo, GroupsAccumulator};
use datafusion::physical_expr::PhysicalSortExpr;
use datafusion::physical_expr::aggregate::AggregateExprBuilder;
use datafusion::physical_expr::expressions::Column;

use super::super::error::{SqlState, fail};
use super::super::value_budget::too_long;
use super::{filtered, items_of, lengths, taken};

/// How `string_agg` makes one text of the values of a group.
#[derive(Debug, Clone)]
pub(in super::super) struct Joined {
    pub(in super::super) delimiter: String,
    /// Texts are shorter.
    pub(in super::super) bytes_max: usize,
}

/// Collects the rows of all groups side by side and orders those of each group when they are asked
/// for. Its states are those of DataFusion's accumulators: lists of values, and lists of what they
/// are ordered by.
pub(in super::super) struct OrderedGroups {
    /// Lists of structs: a value and its sort keys.
    collected: Box<dyn GroupsAccumulator>,
    fields: Fields,
    keys: Vec<SortField>,
    is_reversed: bool,
    skips_nulls: bool,
    joined: Option<Joined>,
}

impl OrderedGroups {
    /// Whether the groups of `args` are ordered, and by what they can be ordered here.
    pub(in super::super) fn supports(args: &AccumulatorArgs) -> bool {
        let can_be_keys = || keys_of(args).is_ok_and(|keys| RowConverter::supports_fields(&keys));
        !args.is_distinct && !args.order_bys.is_empty() && can_be_keys()
    }

    /// An accumulator of ordered lists, or of the texts that they are `joined` to.
    pub(in super::super) fn new(args: &AccumulatorArgs, joined: Option<Joined>) -> Result<Self> {
        let Some(value) = args.expr_fields.first() else { return internal_err!("{} of no value", args.name) };
        let value = Field::new_list_field(value.data_type().clone(), true);
        // Named as DataFusion names those of its states.
        let key = |key: &PhysicalSortExpr| Ok(Field::new(key.expr.to_string(), key.expr.data_type(args.schema)?, true));
        let fields = std::iter::once(Ok(value)).chain(args.order_bys.iter().map(key));
        let fields: Fields = fields.collect::<Result<Vec<_>>>()?.into();
        let schema = Schema::new(vec![Field::new("row", DataType::Struct(fields.clone()), false)]);
        let collected = AggregateExprBuilder::new(array_agg_udaf(), vec![Arc::new(Column::new("row", 0))])
            .schema(Arc::new(schema))
            .alias("rows")
            .build()?
            .create_groups_accumulator()?;
        let skips_nulls = args.ignore_nulls || joined.is_some();
        Ok(Self { collected, fields, keys: keys_of(args)?, is_reversed: args.is_reversed, skips_nulls, joined })
    }

    /// One struct of the value and the keys of each row.
    fn rows(&self, values: &[ArrayRef]) -> Result<ArrayRef> {
        let (Some(value), Some(first_key)) = (values.first(), values.len().checked_sub(self.keys.len())) else {
            return internal_err!("{} arguments and {} sort keys", values.len(), self.keys.len());
        };
        let columns = std::iter::once(value).chain(&values[first_key..]).cloned().collect();
        Ok(Arc::new(StructArray::try_new(self.fields.clone(), columns, None)?))
    }

    fn taken(&self, values: &[ArrayRef], filter: Option<&BooleanArray>) -> Option<BooleanArray> {
        taken(filter, values.first().filter(|_| self.skips_nulls))
    }

    /// Two lists of each group of `lists`: its values, and their keys.
    fn states(&self, lists: &ListArray) -> Result<Vec<ArrayRef>> {
        let (items, offsets) = items_of(lists);
        let rows = items.as_struct();
        let keys: Fields = self.fields.iter().skip(1).cloned().collect();
        let keys_of_rows = StructArray::try_new(keys.clone(), rows.columns()[1..].to_vec(), None)?;
        let keys = Arc::new(Field::new_list_field(DataType::Struct(keys), true));
        let nulls = lists.nulls().cloned();
        let values =
            ListArray::try_new(Arc::clone(&self.fields[0]), offsets.clone(), rows.columns()[0].clone(), nulls)?;
        Ok(vec![Arc::new(values), Arc::new(ListArray::try_new(keys, offsets, Arc::new(keys_of_rows), None)?)])
    }

    /// The values of each list, in order.
    fn ordered(&self, lists: &ListArray) -> Result<ListArray> {
        let (items, offsets) = items_of(lists);
        let rows = items.as_struct();
        let keys = RowConverter::new(self.keys.clone())?.convert_columns(&rows.columns()[1..])?;
        let mut order: Vec<u32> = (0..rows.len() as u32).collect();
        for group in offsets.windows(2) {
            let order = &mut order[group[0] as usize..group[1] as usize];
            order.sort_by(|left, right| keys.row(*left as usize).cmp(&keys.row(*right as usize)));
            if self.is_reversed {
                order.reverse();
            }
        }
        let values = take(rows.column(0), &UInt32Array::from(order), None)?;
        Ok(ListArray::try_new(Arc::clone(&self.fields[0]), offsets, values, lists.nulls().cloned())?)
    }
}

fn keys_of(args: &AccumulatorArgs) -> Result<Vec<SortField>> {
    let key = args.order_bys.iter();
    key.map(|key| Ok(SortField::new_with_options(key.expr.data_type(args.schema)?, key.options))).collect()
}

impl Joined {
    fn texts(&self, lists: &ListArray) -> Result<ArrayRef> {
        let values = cast(lists.values(), &DataType::Utf8View)?;
        let values = values.as_string_view();
        let mut texts = StringViewBuilder::with_capacity(lists.len());
        let mut text = String::new();
        for (group, places) in lists.value_offsets().windows(2).enumerate() {
            if lists.is_null(group) {
                texts.append_null();
                continue;
            }
            text.clear();
            for place in places[0]..places[1] {
                if place > places[0] {
                    text.push_str(&self.delimiter);
                }
                text.push_str(values.value(place as usize));
                if text.len() >= self.bytes_max {
                    return fail(SqlState::PROGRAM_LIMIT_EXCEEDED, too_long(text.len(), self.bytes_max));
                }
            }
            texts.append_value(&text);
        }
        Ok(Arc::new(texts.finish()))
    }
}

impl GroupsAccumulator for OrderedGroups {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        filter: Option<&BooleanArray>,
        total_num_groups: usize,
    ) -> Result<()> {
        let taken = self.taken(values, filter);
        let rows = self.rows(values)?;
        self.collected.update_batch(&[rows], group_indices, taken.as_ref(), total_num_groups)
    }

    fn merge_batch(&mut self, states: &[ArrayRef], group_indices: &[usize], total_num_groups: usize) -> Result<()> {
        let [values, keys] = states else { return internal_err!("{} states of ordered groups", states.len()) };
        let (values, keys) = (values.as_list::<i32>(), keys.as_list::<i32>());
        let ((items, offsets), (keys, _)) = (items_of(values), items_of(keys));
        let columns = std::iter::once(items).chain(keys.as_struct().columns().iter().cloned()).collect();
        let rows = StructArray::try_new(self.fields.clone(), columns, None)?;
        let field = Arc::new(Field::new_list_field(DataType::Struct(self.fields.clone()), true));
        let lists = ListArray::try_new(field, offsets, Arc::new(rows), values.nulls().cloned())?;
        self.collected.merge_batch(&[Arc::new(lists)], group_indices, total_num_groups)
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        let lists = self.collected.evaluate(emit_to)?;
        let lists = self.ordered(lists.as_list::<i32>())?;
        match &self.joined {
            Some(joined) => joined.texts(&lists),
            None => Ok(Arc::new(lists)),
        }
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        let lists = self.collected.evaluate(emit_to)?;
        self.states(lists.as_list::<i32>())
    }

    fn convert_to_state(&self, values: &[ArrayRef], filter: Option<&BooleanArray>) -> Result<Vec<ArrayRef>> {
        let rows = self.rows(values)?;
        let taken = self.taken(values, filter);
        let lengths = lengths(rows.len(), taken.as_ref());
        let field = Arc::new(Field::new_list_field(DataType::Struct(self.fields.clone()), true));
        let rows = filtered(&rows, taken.as_ref())?;
        self.states(&ListArray::try_new(field, OffsetBuffer::from_lengths(lengths), rows, None)?)
    }

    fn size(&self) -> usize {
        self.collected.size()
    }
}
