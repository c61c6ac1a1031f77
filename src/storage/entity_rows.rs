//! Entities in key order, shown where they are stored: who writes a page of them, or looks for
//! some, needs none of its own.

use std::cell::OnceCell;
use std::ops::{ControlFlow, Range};
use std::sync::Arc;

use arrow::record_batch::RecordBatch;
use futures::TryStreamExt;
use futures::stream::{self, BoxStream};

use super::delta::Layers;
use super::error::Result;
use super::read::{BATCH_ROWS, EntityFilter, Reading, run_batches};
use super::run::{EntityColumns, OpenRun, PARTITION_KEY, ROW_KEY, RunFiles, TIMESTAMP};
use super::snapshot::TableSnapshot;
use rowkey_model::columns::{EntityView, PropertyLookup};
use rowkey_model::rows::{PropertyId, RowRef};
use rowkey_model::{DateTime, Entity, KeyRange, KeyRef, ValueRef};

/// The names of a table with more properties are looked up one by one.
const NAMES_COPIED_MAX: usize = 1024;

/// Some entities, in key order.
#[derive(Debug)]
pub struct EntityRows(Rows);

#[derive(Debug)]
enum Rows {
    /// The rows of a run file whose keys lie in the range.
    Stored { open: Arc<OpenRun>, batch: RecordBatch, range: KeyRange },
    /// Versions of one layer, by their places.
    Recent { layers: Arc<Layers>, layer: usize, from: usize, to: usize },
    /// Merged from several files and layers.
    Merged(Vec<Entity>),
}

impl TableSnapshot {
    /// The first entities of a range, for keyset pagination over those that a filter holds for.
    /// Others may be left out, but not the last of a batch, which says how far the page got.
    pub fn first_in_range(
        &self,
        files: Arc<RunFiles>,
        range: KeyRange,
        filter: Option<EntityFilter>,
    ) -> BoxStream<'static, Result<EntityRows>> {
        let layers = self.layers();
        let recent: Vec<(usize, usize, usize)> =
            layers.iter().flat_map(|layers| layers.places_in(&range)).filter(|(_, from, to)| from < to).collect();
        let mut lanes = self.lanes(&range);
        match (lanes.len(), recent.as_slice(), layers) {
            (1, [], _) => {
                let batches = run_batches(files, range.clone(), lanes.remove(0), None, Reading::First);
                let stored = move |(open, batch)| EntityRows(Rows::Stored { open, batch, range: range.clone() });
                Box::pin(batches.map_ok(stored))
            }
            (0, &[(layer, from, to)], Some(layers)) => {
                let some = (from..to).step_by(BATCH_ROWS).map(move |from| {
                    let to = to.min(from + BATCH_ROWS);
                    Ok(EntityRows(Rows::Recent { layers: Arc::clone(&layers), layer, from, to }))
                });
                Box::pin(stream::iter(some))
            }
            _ => {
                let merged = self.entities(files, range, Reading::First, filter);
                Box::pin(merged.map_ok(|entities| EntityRows(Rows::Merged(entities))))
            }
        }
    }
}

impl EntityRows {
    /// Shows one entity after the other, until `visit` breaks off.
    ///
    /// # Errors
    /// [`Error::Corrupt`](crate::Error::Corrupt) for a row that is none.
    pub fn each<B>(&self, visit: &mut dyn FnMut(&dyn EntityView) -> ControlFlow<B>) -> Result<ControlFlow<B>> {
        match &self.0 {
            Rows::Stored { open, batch, range } => {
                let columns = EntityColumns::of(open, batch)?;
                let by_name = columns.by_name();
                for i in (0..columns.len()).filter(|&i| range.contains(columns.key(i))) {
                    if let broken @ ControlFlow::Break(_) = visit(&columns.view(i, &by_name)?) {
                        return Ok(broken);
                    }
                }
                Ok(ControlFlow::Continue(()))
            }
            Rows::Recent { layers, layer, from, to } => Ok(each_recent(layers, *layer, *from..*to, visit)),
            Rows::Merged(entities) => Ok(entities.iter().try_for_each(|entity| visit(entity))),
        }
    }
}

fn each_recent<B>(
    layers: &Layers,
    layer: usize,
    places: Range<usize>,
    visit: &mut dyn FnMut(&dyn EntityView) -> ControlFlow<B>,
) -> ControlFlow<B> {
    let Some((layer, hidden)) = layers.iter().nth(layer) else { return ControlFlow::Continue(()) };
    let names = (layers.names().len() <= NAMES_COPIED_MAX).then(|| Names::of(layers.names().all()));
    let versions = layer.versions().iter().enumerate().take(places.end).skip(places.start);
    for (place, version) in versions {
        let Some(row) = version.row().filter(|_| !hidden.contains(place as u32)) else { continue };
        match &names {
            Some(names) => visit(&RecentRow { row, names })?,
            None => visit(&row.to_entity(layers.names()))?,
        }
    }
    ControlFlow::Continue(())
}

/// The names of properties, by their numbers.
struct Names {
    names: Vec<Arc<str>>,
    /// The place of each in their order, once it is asked for.
    ranks: OnceCell<Vec<u32>>,
    are_in_order: OnceCell<bool>,
}

impl Names {
    fn of(names: Vec<Arc<str>>) -> Self {
        Self { names, ranks: OnceCell::new(), are_in_order: OnceCell::new() }
    }

    fn name(&self, id: PropertyId) -> &str {
        self.names.get(id.index()).map(|name| &**name).unwrap_or_default()
    }

    /// Whether all numbers are in the order of their names, as those of each row are.
    fn are_in_order(&self) -> bool {
        *self.are_in_order.get_or_init(|| self.names.is_sorted())
    }

    fn rank(&self, id: PropertyId) -> u32 {
        let ranks = self.ranks.get_or_init(|| {
            let mut order: Vec<usize> = (0..self.names.len()).collect();
            order.sort_unstable_by_key(|number| &self.names[*number]);
            let mut ranks = vec![0; order.len()];
            (0..).zip(order).for_each(|(rank, number)| ranks[number] = rank);
            ranks
        });
        ranks.get(id.index()).copied().unwrap_or_default()
    }
}

/// A version that is in no file yet.
struct RecentRow<'a> {
    row: RowRef<'a>,
    names: &'a Names,
}

impl PropertyLookup for RecentRow<'_> {
    fn property(&self, name: &str) -> Option<ValueRef<'_>> {
        match name {
            PARTITION_KEY => Some(ValueRef::String(self.row.key().partition)),
            ROW_KEY => Some(ValueRef::String(self.row.key().row)),
            TIMESTAMP => Some(ValueRef::DateTime(self.timestamp())),
            name => self.row.properties().find(|(id, _)| self.names.name(*id) == name).map(|(_, value)| value),
        }
    }
}

impl EntityView for RecentRow<'_> {
    fn key(&self) -> KeyRef<'_> {
        self.row.key()
    }

    fn timestamp(&self) -> DateTime {
        self.row.timestamp().unwrap_or(DateTime::MIN)
    }

    fn each_property(&self, take: &mut dyn FnMut(&str, ValueRef<'_>)) {
        // Numbers follow the names in most tables, whose clients write them in their order.
        if self.names.are_in_order() || self.row.properties().is_sorted_by_key(|(id, _)| self.names.rank(id)) {
            self.row.properties().for_each(|(id, value)| take(self.names.name(id), value));
            return;
        }
        let mut properties: Vec<_> = self.row.properties().collect();
        properties.sort_unstable_by_key(|(id, _)| self.names.rank(*id));
        properties.into_iter().for_each(|(id, value)| take(self.names.name(id), value));
    }

    fn to_entity(&self) -> Entity {
        let named =
            |(id, value): (PropertyId, ValueRef<'_>)| (self.names.names.get(id.index()).cloned(), value.to_value());
        let properties = self.row.properties().map(named).filter_map(|(name, value)| Some((name?, value)));
        Entity::from_parts(self.key().to_key(), self.timestamp(), properties.collect())
    }
}
