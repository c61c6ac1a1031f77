//! Decoding a batch of records.

use std::sync::Arc;

use super::cell::{self, CellType};
use super::fields::Fields;
use super::header::{Defaults, Header, Property};
use crate::assumed::{TypeSamples, Typing};
use crate::chunk::Chunk;
use crate::convert;
use crate::error::Reject;
use crate::place::Place;
use crate::reading::Reading;
use crate::reject_line::{self, LineBuilder};
use rowkey_model::rows::{RowBuilder, Rows};
use rowkey_model::{EdmType, ValueRef};

/// Whole records of an input, in a piece of its text.
#[derive(Debug)]
pub(super) struct Batch {
    pub(super) text: Vec<u8>,
    /// Where the text begins.
    pub(super) start: Place,
    pub(super) line_end: u8,
    /// Where the records end in the text; each begins where the one before ends.
    pub(super) ends: Vec<u32>,
    /// Types that stood before the text.
    pub(super) defaults: Arc<Defaults>,
    /// Records that were too long to be held.
    pub(super) oversized: Vec<Reject>,
}

/// Decodes batches, on one thread.
pub(super) struct BatchDecoder<'a> {
    input: Arc<str>,
    header: Arc<Header>,
    reading: &'a Reading<'a>,
    samples: TypeSamples,
    /// By property: true if a value of this batch has no type.
    untyped: Vec<bool>,
    fields: Fields,
    defaults: Defaults,
    /// Rows and bytes of the last batch's rows, which the next one's will be like.
    expected: (usize, usize),
}

impl<'a> BatchDecoder<'a> {
    pub(super) fn new(input: Arc<str>, header: Arc<Header>, reading: &'a Reading<'a>) -> Self {
        let (fields, samples) = (Fields::default(), TypeSamples::default());
        let untyped = vec![false; header.properties.len()];
        Self { input, header, reading, samples, untyped, fields, defaults: Defaults::new(), expected: (0, 0) }
    }

    pub(super) fn decode(&mut self, batch: &Batch) -> Chunk {
        let (rows, bytes) = self.expected;
        let mut chunk = Chunk { rows: Rows::with_capacity(rows, bytes), ..Chunk::default() };
        let keep = self.reading.options.keep_rejects;
        batch.oversized.iter().for_each(|reject| chunk.reject(keep, || reject.clone(), reject_line::without_text));
        self.untyped.fill(false);
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
            place = place.after_lines(&batch.text[counted..from], batch.line_end);
            counted = from;
            let before = chunk.rows.len();
            let result = record.and_then(|record| self.decode_record(record, &mut chunk.rows));
            if chunk.rows.len() > before {
                self.reading.set_origin(&mut chunk.rows, place);
            }
            if let Err(reason) = result {
                let reject = || Reject { input: Arc::clone(&self.input), place, reason };
                chunk.reject(keep, reject, |reject, lines| self.write_reject(reject, &batch.text[from..end], lines));
            }
            from = end;
        }
        self.expected = (chunk.rows.len(), chunk.rows.bytes());
        self.note_types(&chunk.rows);
        chunk.rows.sort();
        chunk
    }

    /// Looks at what values without a type look like.
    fn note_types(&mut self, rows: &Rows) {
        if !self.untyped.contains(&true) {
            return;
        }
        let places = self.header.properties.iter().map(|property| property.id.index() + 1).max().unwrap_or_default();
        let mut is_untyped = vec![false; places];
        for (property, untyped) in self.header.properties.iter().zip(&self.untyped) {
            is_untyped[property.id.index()] = *untyped;
        }
        self.samples.look_at(rows, Typing::TextOnly, |id| !is_untyped.get(id.index()).copied().unwrap_or_default());
        self.reading.notes.add_samples(&self.samples);
    }

    /// Writes the members of a record that was not taken, or the record as it is if it has not as
    /// many values as there are columns.
    fn write_reject(&self, reject: &Reject, record: &[u8], lines: &mut Vec<u8>) {
        let mut line = LineBuilder::begin(reject, lines);
        let text = String::from_utf8_lossy(record);
        let mut fields = Fields::default();
        let header = &*self.header;
        if fields.split(text.as_bytes(), header.delimiter).is_err() || fields.len() != header.columns {
            line.record(text.trim_end_matches(['\r', '\n']));
            line.end();
            return;
        }
        for (column, name) in header.names.iter().enumerate() {
            let at = header.properties.iter().position(|property| property.value == column);
            let own = at.and_then(|at| header.properties[at].types).map(|types| fields.value(&text, types));
            let default = at.and_then(|at| self.defaults.get(at)).and_then(Option::as_ref);
            let edm_type = match (own.filter(|own| !own.is_empty()), default) {
                (Some(own), _) => Some(CellType::parse(&own)),
                (None, default) => default.cloned(),
            };
            let is_text = matches!(edm_type, Some(CellType::Type(EdmType::String | EdmType::Binary)));
            let is_types = header.typed_by[column].is_some();
            if name.is_empty() || is_types || fields.is_empty(column) && at.is_some() && !is_text {
                continue;
            }
            let edm_type = edm_type.map(|edm_type| match edm_type {
                CellType::Type(edm_type) => format!("Edm.{edm_type}"),
                CellType::Unknown(name) => name.into(),
            });
            line.member(name, edm_type.as_deref(), &fields.value(&text, column));
        }
        line.end();
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
        let mut builder = rows.builder(self.reading.names);
        builder.begin();
        let properties = header.properties.iter().zip(&self.defaults).zip(&mut self.untyped);
        for ((property, default), untyped) in properties {
            set(&mut builder, property, default.as_ref(), &self.fields, record, untyped)?;
        }
        let timestamp = match header.timestamp {
            Some(column) if !self.fields.is_empty(column) => {
                let text = self.fields.value(record, column);
                Some(cell::date_time(&text).map_err(|rejected| rejected.named("Timestamp").to_string())?)
            }
            _ => None,
        };
        let partition = header.partition.key("PartitionKey", &self.fields, record)?;
        let row = header.row.key("RowKey", &self.fields, record)?;
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
    untyped: &mut bool,
) -> Result<(), String> {
    let own = match property.types {
        Some(types) if !fields.is_empty(types) => Some(CellType::parse(&fields.value(record, types))),
        _ => None,
    };
    if fields.is_empty(property.value) && !matches!(own, Some(CellType::Type(EdmType::String | EdmType::Binary))) {
        return Ok(());
    }
    if let Some(wanted) = property.wanted {
        let text = fields.value(record, property.value);
        let text = convert::entity_property(&text).map_or(&*text, |(_, text)| text);
        let value = convert::wanted(wanted, text).and_then(|value| value.validate(&property.name).map(|()| value));
        let value = value.map_err(|rejected| rejected.named(format!("property {}", property.name)).to_string())?;
        builder.set(property.id, ValueRef::from(&value));
        return Ok(());
    }
    let edm_type = match own.as_ref().or(default) {
        None => {
            let text = fields.value(record, property.value);
            if let Some((edm_type, text)) = convert::entity_property(&text) {
                return cell::set(builder, property.id, &property.name, edm_type, text);
            }
            convert::validate_untyped_text(&property.name, &text).map_err(|rejected| rejected.to_string())?;
            *untyped = true;
            EdmType::String
        }
        Some(CellType::Type(edm_type)) => *edm_type,
        Some(CellType::Unknown(name)) => {
            let shown: String = name.chars().take(40).collect();
            let reason = format!("property {} has the type \"{}\"", property.name, shown.escape_debug());
            return Err(format!("{reason}, which is none of the service's"));
        }
    };
    cell::set(builder, property.id, &property.name, edm_type, &fields.value(record, property.value))
}
