//! Accumulators of moments: of one group, and of many at once.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, FixedSizeBinaryArray, FixedSizeBinaryBuilder};
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::logical_expr::{Accumulator, EmitTo, GroupsAccumulator};

use super::moments::{Moments, Results};

fn states_of<M: Moments>(moments: &[M]) -> Result<ArrayRef> {
    let mut states = FixedSizeBinaryBuilder::with_capacity(moments.len(), M::BYTES as i32);
    let mut state = vec![0; M::BYTES];
    for moments in moments {
        moments.write(&mut state);
        states.append_value(&state)?;
    }
    Ok(Arc::new(states.finish()))
}

fn read_states(states: &[ArrayRef]) -> Result<&FixedSizeBinaryArray> {
    match states.first().and_then(|states| states.as_fixed_size_binary_opt()) {
        Some(states) => Ok(states),
        None => internal_err!("states of another statistic"),
    }
}

#[derive(Debug)]
pub(super) struct Single<M> {
    moments: M,
    results: Results,
}

impl<M: Moments> Single<M> {
    pub(super) fn new(results: Results) -> Self {
        Self { moments: M::none(), results }
    }
}

impl<M: Moments> Accumulator for Single<M> {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        M::each_row(values, |_, row| self.moments.add(row))
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        M::each_row(values, |_, row| self.moments.retract(row))
    }

    fn supports_retract_batch(&self) -> bool {
        M::RETRACTS
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        read_states(states)?.iter().flatten().try_for_each(|state| self.moments.combine(&M::read(state)))
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let mut state = vec![0; M::BYTES];
        self.moments.write(&mut state);
        Ok(vec![ScalarValue::FixedSizeBinary(M::BYTES as i32, Some(state))])
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        self.results.scalar(self.moments.result(&self.results)?)
    }

    fn size(&self) -> usize {
        size_of::<Self>()
    }
}

pub(super) struct Grouped<M> {
    moments: Vec<M>,
    results: Results,
}

impl<M: Moments> Grouped<M> {
    pub(super) fn new(results: Results) -> Self {
        Self { moments: Vec::new(), results }
    }

    fn at_least(&mut self, groups: usize) {
        if self.moments.len() < groups {
            self.moments.resize(groups, M::none());
        }
    }
}

fn is_taken(filter: Option<&BooleanArray>, row: usize) -> bool {
    filter.is_none_or(|filter| filter.is_valid(row) && filter.value(row))
}

impl<M: Moments> GroupsAccumulator for Grouped<M> {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        filter: Option<&BooleanArray>,
        total_num_groups: usize,
    ) -> Result<()> {
        self.at_least(total_num_groups);
        M::each_row(values, |at, row| match group_indices.get(at).and_then(|group| self.moments.get_mut(*group)) {
            Some(moments) if is_taken(filter, at) => moments.add(row),
            _ => Ok(()),
        })
    }

    fn merge_batch(&mut self, states: &[ArrayRef], group_indices: &[usize], total_num_groups: usize) -> Result<()> {
        self.at_least(total_num_groups);
        for (state, group) in read_states(states)?.iter().zip(group_indices) {
            if let Some(state) = state
                && let Some(moments) = self.moments.get_mut(*group)
            {
                moments.combine(&M::read(state))?;
            }
        }
        Ok(())
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        let moments = emit_to.take_needed(&mut self.moments);
        self.results.array(moments.iter().map(|moments| moments.result(&self.results)))
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        let moments = emit_to.take_needed(&mut self.moments);
        Ok(vec![states_of(&moments)?])
    }

    fn convert_to_state(&self, values: &[ArrayRef], filter: Option<&BooleanArray>) -> Result<Vec<ArrayRef>> {
        let mut moments = vec![M::none(); values.first().map_or(0, |values| values.len())];
        M::each_row(values, |at, row| match moments.get_mut(at) {
            Some(moments) if is_taken(filter, at) => moments.add(row),
            _ => Ok(()),
        })?;
        Ok(vec![states_of(&moments)?])
    }

    fn size(&self) -> usize {
        size_of::<Self>() + self.moments.capacity() * size_of::<M>()
    }
}
