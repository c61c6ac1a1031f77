//! Entities on their way into the columns of a batch.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use arrow::datatypes::{Field, SchemaRef};
use arrow::error::ArrowError;

use crate::output::WriteError;
use crate::survey::{Survey, SurveyedProperty};
use rowkey_model::columns::{
    BytesLayout, Capacity, KeyBuilder, PropertyBuilder, field, key_fields, tick_field, tick_name, typed_name,
};
use rowkey_model::rows::{PropertyId, PropertyNames, RowRef};
use rowkey_model::{EdmType, ValueRef};

/// Builders of all columns.
pub(super) struct Columns {
    names: Arc<PropertyNames>,
    rows: usize,
    keys: KeyBuilder,
    properties: Vec<PropertyColumns>,
    /// By number of the property: its place in `properties`.
    places: Vec<Option<usize>>,
}

/// The columns of one property: one for each type, and the digits of its times.
struct PropertyColumns {
    name: Arc<str>,
    types: Vec<(EdmType, PropertyBuilder)>,
    ticks: bool,
}

impl Columns {
    pub(super) fn of(survey: &Survey) -> Self {
        let properties = survey.properties();
        let mut places = Vec::new();
        for (place, property) in properties.iter().enumerate() {
            if places.len() <= property.id.index() {
                places.resize(property.id.index() + 1, None);
            }
            places[property.id.index()] = Some(place);
        }
        Self {
            names: Arc::clone(survey.names()),
            rows: 0,
            keys: KeyBuilder::new([Capacity::default(); 2]),
            properties: properties.into_iter().map(PropertyColumns::of).collect(),
            places,
        }
    }

    pub(super) fn fields(&self) -> Vec<Field> {
        let mut fields = Vec::from(key_fields(true));
        for property in &self.properties {
            for (edm, _) in &property.types {
                let name = match property.types.len() {
                    1 => property.name.to_string(),
                    _ => typed_name(&property.name, *edm),
                };
                fields.push(field(name, *edm, BytesLayout::Offsets));
            }
            if property.ticks {
                fields.push(tick_field(tick_name(&property.name)));
            }
        }
        fields
    }

    /// Rows since the last batch.
    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    pub(super) fn push(&mut self, output: &Arc<str>, row: RowRef<'_>) -> Result<(), WriteError> {
        for (id, value) in row.properties() {
            if !self.set(id, value) {
                let property = self.names.name(id).to_string();
                return Err(WriteError::NoColumn { name: Arc::clone(output), property });
            }
        }
        self.keys.push(row.key(), row.timestamp());
        self.rows += 1;
        Ok(())
    }

    /// Whether there is a column that holds all of the value.
    fn set(&mut self, id: PropertyId, value: ValueRef<'_>) -> bool {
        let Some(place) = self.places.get(id.index()).copied().flatten() else { return false };
        let PropertyColumns { types, ticks, .. } = &mut self.properties[place];
        let is_cut = matches!(value, ValueRef::DateTime(at) if at.tick() != 0 && !*ticks);
        let typed = types.iter_mut().find(|(edm, _)| *edm == value.edm_type());
        !is_cut && typed.is_some_and(|(_, builder)| builder.set(self.rows, value))
    }

    pub(super) fn finish(&mut self, schema: &SchemaRef) -> Result<RecordBatch, ArrowError> {
        let mut arrays: Vec<ArrayRef> = Vec::from(self.keys.finish());
        for property in &mut self.properties {
            let mut ticks = None;
            for (_, builder) in &mut property.types {
                let (values, own_ticks) = builder.finish(self.rows);
                arrays.push(values);
                ticks = ticks.or(own_ticks);
            }
            arrays.extend(ticks);
        }
        self.rows = 0;
        RecordBatch::try_new(Arc::clone(schema), arrays)
    }
}

impl PropertyColumns {
    fn of(property: SurveyedProperty) -> Self {
        let ticks = property.ticks && property.types.contains(&EdmType::DateTime);
        let builder = |edm| {
            let builder = PropertyBuilder::new(edm, BytesLayout::Offsets, Capacity::default());
            let builder =
                if ticks && edm == EdmType::DateTime { builder.with_ticks(Capacity::default()) } else { builder };
            (edm, builder)
        };
        Self { name: property.name, types: property.types.into_iter().map(builder).collect(), ticks }
    }
}
