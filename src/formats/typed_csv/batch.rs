//! Decoding a batch of records.

use std::sync::Arc;

use super::cell::{self, CellType};
use super::fields::Fields;
use super::header::{Defaults, Header, Property};
use crate::formats::decode::Chunk;
use crate::formats::error::Reject;
use crate::formats::place::Place;
use crate::model::EdmType;
use crate::rows::{PropertyNames, RowBuilder, Rows};

/// Whole records of an input, in a piece of its text.
#[derive(Debug)]
pub(super) struct Batch {
    pub(super) text: Vec<u8>,
    /// Where the text begins.
    pub(super) start: Place,
    /// Where the records end in the text; each begins where the one before ends.
    pub(super) ends: Vec<u32>,
    /// Types that stood before the text.
    pub(super) defaults: Arc<Defaults>,
    /// Records that were too long to be held.
    pub(super) oversized: Vec<Reject>,
}

/// Decodes batches, on one thread.
pub(super) struct BatchDecoder {
    input: Arc<str>,
    header: Arc<Header>,
    names: Arc<PropertyNames>,
    fields: Fields,
    defaults: Defaults,
    /// Rows and bytes of the last batch's rows, which the next one's will be like.
    expected: (usize, usize),
}

impl BatchDecoder {
    pub(super) fn new(input: Arc<str>, header: Arc<Header>, names: &Arc<PropertyNames>) -> Self {
        let fields = Fields::default();
        Self { input, header, names: Arc::clone(names), fields, defaults: Defaults::new(), expected: (0, 0) }
    }

    pub(super) fn decode(&mut self, batch: &Batch) -> Chunk {
        let (rows, bytes) = self.expected;
        let mut chunk = Chunk { rows: Rows::with_capacity(rows, bytes), ..Chunk::default() };
        batch.oversized.iter().for_each(|reject| chunk.reject(|| reject.clone()));
        self.defaults.clone_from(&batch.defaults);
        // Text is checked once for the whole batch; if that fails, record by record.
        let text = std::str::from_utf8(&batch.text).ok();
        let (mut place, mut counted) = (batch.start, 0);
        let mut from = 0;
        for &end in &batch.ends {
            let end = end as usize;
            let record = match text {
                Some(text) => Ok(&text[from..end]),
                None => std::str::from_utf8(&batch.text[from..end]).map_err(|error| {
                    format!("the text is not UTF-8 from byte {} of the record on", error.valid_up_to() + 1)
                }),
            };
            let result = record.and_then(|record| self.decode_record(record, &mut chunk.rows));
            if let Err(reason) = result {
                place = place.after(&batch.text[counted..from]);
                counted = from;
                chunk.reject(|| Reject { input: Arc::clone(&self.input), place, reason });
            }
            from = end;
        }
        self.expected = (chunk.rows.len(), chunk.rows.bytes());
        chunk.rows.sort();
        chunk
    }

    /// Appends the entity of a record to `rows`; on an error nothing is appended.
    fn decode_record(&mut self, record: &str, rows: &mut Rows) -> Result<(), String> {
        if matches!(record, "\n" | "\r\n" | "\r" | "") {
            return Ok(());
        }
        let header = &*self.header;
        self.fields.split(record.as_bytes(), header.delimiter)?;
        if self.fields.len() != header.columns {
            return Err(format!(
                "the record has {} values, the first line {} columns",
                self.fields.len(),
                header.columns
            ));
        }
        header.learn(&mut self.defaults, &self.fields, record);
        let mut builder = rows.builder(&self.names);
        builder.begin();
        for (property, default) in header.properties.iter().zip(&self.defaults) {
            set(&mut builder, property, default.as_ref(), &self.fields, record)?;
        }
        let timestamp = match header.timestamp {
            Some(column) if !self.fields.is_empty(column) => {
                let text = self.fields.value(record, column);
                Some(cell::date_time(&text).map_err(|rejected| rejected.named("Timestamp").to_string())?)
            }
            _ => None,
        };
        let partition = self.fields.value(record, header.partition);
        let row = self.fields.value(record, header.row);
        builder.finish(&partition, &row, timestamp).map_err(|rejected| rejected.to_string())
    }
}

/// Sets the property, if the record has it.
#[inline]
fn set(
    builder: &mut RowBuilder<'_>,
    property: &Property,
    default: Option<&CellType>,
    fields: &Fields,
    record: &str,
) -> Result<(), String> {
    let own = match property.types {
        Some(types) if !fields.is_empty(types) => Some(CellType::parse(&fields.value(record, types))),
        _ => None,
    };
    if fields.is_empty(property.value) && !matches!(own, Some(CellType::Type(EdmType::String | EdmType::Binary))) {
        return Ok(());
    }
    let edm_type = match own.as_ref().or(default) {
        None => EdmType::String,
        Some(CellType::Type(edm_type)) => *edm_type,
        Some(CellType::Unknown(name)) => {
            let shown: String = name.chars().take(40).collect();
            let reason = format!("property {} has the type \"{}\"", property.name, shown.escape_debug());
            return Err(format!("{reason}, which is none of the service's"));
        }
    };
    cell::set(builder, property.id, &property.name, edm_type, &fields.value(record, property.value))
}
