//! Entities and rows of run files in the columns of their table, without a scan: what reads of few
//! keys are answered from.

use std::borrow::Borrow;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use datafusion::common::Result;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr_adapter::PhysicalExprAdapterFactory;

use super::adapter::EntityColumnAdapterFactory;
use super::columns::{ColumnSource, TableColumns, WidenedType};
use super::exact_time::ExactTime;
use rowkey_model::columns::{BytesLayout, PARTITION_KEY, ROW_KEY, TIMESTAMP, property_array};
use rowkey_model::{EdmType, Entity, Value, ValueRef};

/// Some columns of a table, as a scan would give them.
#[derive(Debug, Clone)]
pub(crate) struct EntityRows {
    columns: TableColumns,
    wanted: Vec<(Column, Wanted)>,
}

/// What of an entity a column shows.
#[derive(Debug, Clone)]
enum Wanted {
    PartitionKey,
    RowKey,
    Timestamp,
    Typed(Arc<str>, EdmType),
    Widened(Arc<str>, WidenedType),
    Ticks(Arc<str>),
    OfTimestamp(ExactTime),
}

impl EntityRows {
    /// The columns at `places` among those of the table. `None` if there is one that entities alone
    /// do not tell.
    pub(crate) fn new(columns: &TableColumns, places: impl IntoIterator<Item = usize>) -> Option<Self> {
        let wanted = |place: usize| {
            let name = columns.schema().fields().get(place)?.name();
            let wanted = match (columns.source(name)?, name.as_str()) {
                (ColumnSource::Key, PARTITION_KEY) => Wanted::PartitionKey,
                (ColumnSource::Key, ROW_KEY) => Wanted::RowKey,
                (ColumnSource::Key, TIMESTAMP) => Wanted::Timestamp,
                (ColumnSource::Typed { property, edm }, _) => Wanted::Typed(Arc::clone(property), *edm),
                (ColumnSource::Widened { property, to, .. }, _) => Wanted::Widened(Arc::clone(property), *to),
                (ColumnSource::Ticks { property }, _) if **property == *TIMESTAMP => {
                    Wanted::OfTimestamp(ExactTime::Ticks)
                }
                (ColumnSource::Ticks { property }, _) => Wanted::Ticks(Arc::clone(property)),
                (ColumnSource::Etag, _) => Wanted::OfTimestamp(ExactTime::Etag),
                _ => return None,
            };
            Some((Column::new(name, place), wanted))
        };
        let wanted = places.into_iter().map(wanted).collect::<Option<Vec<_>>>()?;
        Some(Self { columns: columns.clone(), wanted })
    }

    /// The properties that the columns show.
    pub(crate) fn properties(&self) -> impl Iterator<Item = &str> {
        self.wanted.iter().filter_map(|(_, wanted)| match wanted {
            Wanted::Typed(property, _) | Wanted::Widened(property, _) | Wanted::Ticks(property) => Some(&**property),
            Wanted::PartitionKey | Wanted::RowKey | Wanted::Timestamp | Wanted::OfTimestamp(_) => None,
        })
    }

    /// The columns of entities, one row each.
    pub(crate) fn of_entities<E: Borrow<Entity>>(&self, entities: &[E]) -> Vec<ArrayRef> {
        self.wanted.iter().map(|(_, wanted)| wanted.column(entities)).collect()
    }

    /// The columns of rows that have all columns of a run file.
    pub(crate) fn of_rows(&self, rows: &RecordBatch) -> Result<Vec<ArrayRef>> {
        let factory = EntityColumnAdapterFactory { columns: self.columns.clone() };
        let adapter = factory.create(Arc::clone(self.columns.schema()), rows.schema())?;
        let column = |(column, _): &(Column, Wanted)| {
            let column: Arc<dyn PhysicalExpr> = Arc::new(column.clone());
            adapter.rewrite(column)?.evaluate(rows)?.into_array(rows.num_rows())
        };
        self.wanted.iter().map(column).collect()
    }
}

impl Wanted {
    /// The values of this column, one for each entity.
    fn column<E: Borrow<Entity>>(&self, entities: &[E]) -> ArrayRef {
        let entities = entities.iter().map(Borrow::<Entity>::borrow);
        match self {
            Wanted::PartitionKey => texts(entities.map(|entity| entity.key.partition.as_str())),
            Wanted::RowKey => texts(entities.map(|entity| entity.key.row.as_str())),
            Wanted::Timestamp => {
                let timestamps = entities.map(|entity| Some(ValueRef::DateTime(entity.timestamp)));
                property_array(EdmType::DateTime, BytesLayout::Views, timestamps)
            }
            Wanted::Typed(property, edm) => {
                let values = entities.map(|entity| entity.get(property).map(ValueRef::from));
                property_array(*edm, BytesLayout::Views, values)
            }
            Wanted::Ticks(property) => ExactTime::Ticks.array(entities.map(|entity| match entity.get(property) {
                Some(Value::DateTime(time)) => Some(*time),
                _ => None,
            })),
            Wanted::OfTimestamp(to) => to.array(entities.map(|entity| Some(entity.timestamp))),
            Wanted::Widened(property, to) => to.array(entities.map(|entity| entity.get(property).map(ValueRef::from))),
        }
    }
}

fn texts<'v>(texts: impl ExactSizeIterator<Item = &'v str>) -> ArrayRef {
    property_array(EdmType::String, BytesLayout::Views, texts.map(|text| Some(ValueRef::String(text))))
}
