//! Entities as rows of a table with a column for each property.

use std::sync::Arc;

use super::{Survey, SurveyedProperty};
use crate::output::WriteError;
use rowkey_model::ValueRef;
use rowkey_model::rows::RowRef;

/// The properties of an entity in the order of columns.
#[derive(Debug)]
pub(crate) struct Cells {
    columns: usize,
    /// By number of the property.
    places: Vec<Option<usize>>,
    survey: Survey,
}

impl Cells {
    pub(crate) fn of(survey: &Survey, properties: &[SurveyedProperty]) -> Self {
        let mut places = Vec::new();
        for (place, property) in properties.iter().enumerate() {
            if places.len() <= property.id.index() {
                places.resize(property.id.index() + 1, None);
            }
            places[property.id.index()] = Some(place);
        }
        Self { columns: properties.len(), places, survey: survey.clone() }
    }

    /// Puts the values of `row` into their places.
    pub(crate) fn place<'r>(
        &self,
        output: &Arc<str>,
        row: RowRef<'r>,
        cells: &mut Vec<Option<ValueRef<'r>>>,
    ) -> Result<(), WriteError> {
        cells.clear();
        cells.resize(self.columns, None);
        for (id, value) in row.properties() {
            match self.places.get(id.index()).copied().flatten() {
                Some(place) => cells[place] = Some(value),
                None => {
                    let property = self.survey.names().name(id).to_string();
                    return Err(WriteError::NoColumn { name: Arc::clone(output), property });
                }
            }
        }
        Ok(())
    }
}
