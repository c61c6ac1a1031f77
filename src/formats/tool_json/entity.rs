//! Decoding the text of one entity as a tool writes it.

use std::borrow::Cow;
use std::sync::Arc;

use super::JsonTool;
use super::tree::{Json, Members, read_object};
use super::value::{self, numbered_type, take};
use crate::assumed::Typing;
use crate::convert;
use crate::entity_json::{EntityJsonError, NO_ENTITY, SERVICE_ERROR, no_key_text, twice};
use crate::json_objects::ObjectDecoder;
use crate::key_columns::{KeyColumns, KeyTemplate};
use crate::notes::{Notes, WarningKind};
use crate::property_types::NumberedTypes;
use crate::reading::Reading;
use crate::reject_line::{REASON, RECORD, refused_record};
use rowkey_model::rows::{NameCache, RowBuilder, Rows};
use rowkey_model::{DateTime, EdmType, Value, ValueRef};

/// What is known of an input before it is read.
#[derive(Debug)]
pub(crate) struct ToolOptions {
    pub(crate) tool: JsonTool,
    /// Which types it names.
    pub(crate) typing: Typing,
    /// The keys, where they are not in the text.
    pub(crate) outside: Option<(String, String)>,
    /// Types of properties beside which none stands.
    pub(crate) defaults: NumberedTypes,
    /// Types that overrule all others.
    pub(crate) types: NumberedTypes,
    pub(crate) keys: Option<Arc<KeyColumns>>,
}

/// Decodes entities, on one thread.
pub(crate) struct ToolDecoder<'a> {
    options: Arc<ToolOptions>,
    names: NameCache,
    notes: &'a Notes,
    /// True once it was noted that a last line has to follow.
    awaits_end: bool,
}

/// What stands beside the properties.
#[derive(Default)]
struct System {
    partition: Option<String>,
    row: Option<String>,
    timestamp: Option<DateTime>,
    etag: Option<DateTime>,
}

enum Kind {
    Partition,
    Row,
    Timestamp,
    Etag,
    Skipped,
    /// The type of a property.
    TypeOf,
    Property,
}

impl<'a> ToolDecoder<'a> {
    pub(crate) fn new(options: Arc<ToolOptions>, reading: &Reading<'a>) -> Self {
        Self { options, names: NameCache::new(reading.names), notes: reading.notes, awaits_end: false }
    }

    /// Appends the entity of `text` to `rows`, if it is one and not the first or last line of a
    /// backup; on an error nothing is appended.
    pub(crate) fn decode(&mut self, text: &str, rows: &mut Rows) -> Result<(), EntityJsonError> {
        let mut members = read_object(text)?;
        let tool = self.options.tool;
        if let Some((_, Json::Text(record))) = members.iter().find(|(key, _)| key == RECORD)
            && members.iter().all(|(key, _)| key.starts_with("odata."))
        {
            return Err(EntityJsonError::Refused(refused_record(record)));
        }
        if members.iter().any(|(key, _)| key == SERVICE_ERROR) {
            return Err(EntityJsonError::Refused(NO_ENTITY.to_owned()));
        }
        if tool == JsonTool::TableUtilities && members.iter().any(|(key, _)| key == "ProcessingMetaData") {
            return self.note_record(members);
        }
        // Rejects of a backup are no backup any more.
        if tool == JsonTool::TableUtilities && !self.awaits_end && !members.iter().any(|(key, _)| key == REASON) {
            self.awaits_end = true;
            self.notes.await_end();
        }
        let listed = |(name, json): &(_, Json<'_>)| name == "Properties" && matches!(json, Json::Array(_));
        // A property of that name is no list.
        let properties = match tool {
            JsonTool::CoreHelpers if members.iter().any(listed) => take(&mut members, "Properties"),
            _ => None,
        };
        let mut system = System::default();
        let declared = declared_types(&members)?;
        let names = Arc::clone(self.names.shared());
        let mut builder = rows.builder(&names);
        builder.begin();
        let keys = self.keys(&members)?;
        let mut only_metadata = true;
        for (key, json) in members {
            let kind = self.kind(&key);
            only_metadata &= matches!(kind, Kind::Skipped);
            match kind {
                Kind::Partition => set_key(&mut system.partition, &key, json)?,
                Kind::Row => set_key(&mut system.row, &key, json)?,
                Kind::Timestamp => system.timestamp = time(&key, json)?,
                Kind::Etag => system.etag = time_of_etag(json),
                Kind::Skipped | Kind::TypeOf => {}
                Kind::Property => {
                    let own = declared.iter().find(|(name, _)| *name == *key).map(|(_, edm_type)| *edm_type);
                    self.set(&mut builder, &key, json, own)?;
                }
            }
        }
        match properties {
            Some(Json::Array(list)) => {
                for item in list {
                    self.set_listed(&mut builder, item)?;
                }
                only_metadata = false;
            }
            Some(_) => return Err(EntityJsonError::Refused("Properties is not an array".to_owned())),
            None => {}
        }
        let (partition, row) = keys;
        let mut partition = partition.or(system.partition);
        let mut row = row.or(system.row);
        if let Some((outer_partition, outer_row)) = &self.options.outside {
            partition = Some(outer_partition.clone());
            row = Some(outer_row.clone());
        } else if only_metadata && partition.is_none() && row.is_none() {
            return Ok(());
        }
        if tool == JsonTool::AzureCli && (partition.is_none() || row.is_none()) {
            let reason = "there are entities without PartitionKey or RowKey; the Azure CLI leaves out empty ones, so they were taken as empty";
            self.notes.warn(WarningKind::Lenient, reason);
            partition = Some(partition.unwrap_or_default());
            row = Some(row.unwrap_or_default());
        }
        let partition = partition.ok_or(EntityJsonError::KeyMissing("PartitionKey"))?;
        let row = row.ok_or(EntityJsonError::KeyMissing("RowKey"))?;
        builder.finish(&partition, &row, precise(system.timestamp, system.etag))?;
        Ok(())
    }

    fn kind(&self, key: &str) -> Kind {
        let tool = self.options.tool;
        let mapped = |at: fn(&KeyColumns) -> &Option<KeyTemplate>| {
            self.options.keys.as_ref().is_some_and(|keys| at(keys).is_some())
        };
        match key {
            "odata.etag" => Kind::Etag,
            "PartitionKey" if !mapped(|keys| &keys.partition) => Kind::Partition,
            "RowKey" if !mapped(|keys| &keys.row) => Kind::Row,
            "Timestamp" => Kind::Timestamp,
            // Keys made of other columns take the place of these.
            "PartitionKey" | "RowKey" => Kind::Skipped,
            "partitionKey" if tool == JsonTool::JavaScript => Kind::Partition,
            "rowKey" if tool == JsonTool::JavaScript => Kind::Row,
            "timestamp" if tool == JsonTool::JavaScript => Kind::Timestamp,
            "etag" if matches!(tool, JsonTool::JavaScript | JsonTool::AzureCli) => Kind::Etag,
            "ETag" if tool == JsonTool::TableUtilities => Kind::Etag,
            ".metadata" if tool == JsonTool::LegacyJavaScript => Kind::Etag,
            _ if key.starts_with("odata.") || key.contains("@odata.") && !key.ends_with("@odata.type") => Kind::Skipped,
            _ if self.options.keys.as_ref().is_some_and(|keys| keys.is_key(key)) => Kind::Skipped,
            _ if key.ends_with("@odata.type") || key.ends_with("@type") => Kind::TypeOf,
            _ => Kind::Property,
        }
    }

    /// The keys that are made of other members.
    fn keys(&self, members: &Members<'_>) -> Result<(Option<String>, Option<String>), EntityJsonError> {
        let Some(keys) = &self.options.keys else { return Ok((None, None)) };
        let made = |template: &Option<KeyTemplate>, key: &str| -> Result<Option<String>, EntityJsonError> {
            let Some(template) = template else { return Ok(None) };
            let made =
                template.key(|column| match members.iter().find(|(name, _)| name == column).map(|found| &found.1) {
                    Some(Json::Text(text)) => Ok(Cow::Borrowed(&**text)),
                    Some(Json::Number(text)) => Ok(Cow::Borrowed(*text)),
                    Some(Json::Bool(value)) => Ok(Cow::Borrowed(if *value { "true" } else { "false" })),
                    Some(Json::Null) | None => Err(EntityJsonError::Refused(format!(
                        "{key} is made of \"{}\", which the entity does not have",
                        column.escape_debug()
                    ))),
                    Some(Json::NotFinite(_) | Json::Array(_) | Json::Object(_)) => {
                        Err(EntityJsonError::Refused(format!(
                            "{key} is made of \"{}\", which is neither a text nor a number here",
                            column.escape_debug()
                        )))
                    }
                })?;
            Ok(Some(made))
        };
        Ok((made(&keys.partition, "PartitionKey")?, made(&keys.row, "RowKey")?))
    }

    fn set(
        &mut self,
        builder: &mut RowBuilder<'_>,
        property: &str,
        json: Json<'_>,
        own: Option<EdmType>,
    ) -> Result<(), EntityJsonError> {
        if json == Json::Null {
            if !self.options.types.is_empty()
                && let Some(id) = self.names.shared().find(property)
            {
                // It occurs, if only as null.
                self.options.types.get(id);
            }
            return Ok(());
        }
        let id = self.names.intern(property)?;
        let wanted = self.options.types.get(id);
        let declared = own.or(self.options.defaults.get(id));
        let written = match (&json, wanted) {
            // The digits as they are written.
            (Json::Number(text), Some(EdmType::String)) => Some(Value::String((*text).to_owned())),
            (Json::Text(text), Some(wanted)) => {
                let read = convert::wanted(wanted, text);
                Some(read.map_err(|rejected| rejected.named(format!("property {property}")))?)
            }
            (Json::Number(text), Some(EdmType::Double)) if declared.is_none() => {
                let read = convert::wanted(EdmType::Double, text);
                Some(read.map_err(|rejected| rejected.named(format!("property {property}")))?)
            }
            _ => None,
        };
        if let (Json::Text(text), None, None) = (&json, wanted, declared)
            && self.options.tool != JsonTool::Python
        {
            convert::validate_untyped_text(property, text)?;
        }
        let value = match written {
            Some(value) => value,
            None => match value::value(self.options.tool, property, json, declared)? {
                Some(value) => value,
                None => return Ok(()),
            },
        };
        let value = match wanted {
            Some(wanted) => convert::convert(ValueRef::from(&value), wanted)
                .map_err(|rejected| rejected.named(format!("property {property}")))?,
            None => value,
        };
        value.validate(property)?;
        builder.set(id, ValueRef::from(&value));
        Ok(())
    }

    /// Sets a property of a list of `{"PropertyName":…,"PropertyType":…,"PropertyValue":…}`.
    fn set_listed(&mut self, builder: &mut RowBuilder<'_>, item: Json<'_>) -> Result<(), EntityJsonError> {
        let Json::Object(mut members) = item else {
            return Err(EntityJsonError::Refused("Properties holds something else than objects".to_owned()));
        };
        let (name, edm_type) = (take(&mut members, "PropertyName"), take(&mut members, "PropertyType"));
        let json = take(&mut members, "PropertyValue").unwrap_or(Json::Null);
        let Some(Json::Text(name)) = name else {
            return Err(EntityJsonError::Refused("a property in Properties has no PropertyName".to_owned()));
        };
        let edm_type = match &edm_type {
            Some(Json::Number(number)) => numbered_type(number),
            Some(Json::Text(name)) => convert::type_named(name),
            _ => None,
        };
        let Some(edm_type) = edm_type else {
            return Err(EntityJsonError::Refused(format!("property {name} has no PropertyType that is known")));
        };
        self.set(builder, &name, json, Some(edm_type))
    }

    /// The first or last line of a backup: the last one says how many entities there are.
    fn note_record(&mut self, mut members: Members<'_>) -> Result<(), EntityJsonError> {
        let record_type = take(&mut members, "RecordType");
        let is = |kind: &str| matches!(&record_type, Some(Json::Text(text)) if text.eq_ignore_ascii_case(kind));
        if is("header") {
            self.notes.begin_backup();
        }
        if is("footer") {
            self.notes.end_backup();
            let count = match take(&mut members, "RecordCount") {
                Some(Json::Number(count)) => count.parse().ok(),
                Some(Json::Text(count)) => count.parse().ok(),
                _ => None,
            };
            match count {
                Some(count) => self.notes.declare_entities(count),
                None => self.notes.warn(WarningKind::Lenient, "the last line does not say how many entities there are"),
            }
        }
        Ok(())
    }
}

impl ObjectDecoder for ToolDecoder<'_> {
    fn decode(&mut self, text: &str, rows: &mut Rows) -> Result<(), EntityJsonError> {
        ToolDecoder::decode(self, text, rows)
    }

    fn typing(&self) -> Typing {
        self.options.typing
    }
}

/// The types that stand beside properties, as `Name@type` or `Name@odata.type`.
fn declared_types(members: &Members<'_>) -> Result<Vec<(String, EdmType)>, EntityJsonError> {
    let mut declared = Vec::new();
    for (key, json) in members {
        let Some(property) = key.strip_suffix("@odata.type").or_else(|| key.strip_suffix("@type")) else { continue };
        match json {
            Json::Text(name) => match convert::type_named(name) {
                Some(edm_type) => declared.push((property.to_owned(), edm_type)),
                None if name.is_empty() => {}
                None => {
                    let shown: String = name.chars().take(40).collect();
                    let reason = format!("property {property} has the type \"{}\"", shown.escape_debug());
                    return Err(EntityJsonError::Refused(format!("{reason}, which is none of the service's")));
                }
            },
            Json::Null => {}
            _ => return Err(EntityJsonError::Refused(format!("the type of property {property} is not a string"))),
        }
    }
    Ok(declared)
}

fn set_key(to: &mut Option<String>, key: &str, json: Json<'_>) -> Result<(), EntityJsonError> {
    let is_number = matches!(json, Json::Number(_));
    let text = match value::value(JsonTool::Any, key, json, None)? {
        Some(Value::String(text)) => text,
        _ => return Err(no_key_text(key, is_number)),
    };
    match to.replace(text) {
        None => Ok(()),
        Some(_) => Err(twice(key)),
    }
}

fn time(key: &str, json: Json<'_>) -> Result<Option<DateTime>, EntityJsonError> {
    match value::typed(key, EdmType::DateTime, json)? {
        Some(Value::DateTime(at)) => Ok(Some(at)),
        _ => Ok(None),
    }
}

/// The time in an ETag, `W/"datetime'2024-05-01T08%3A00%3A00.1234567Z'"`; tools that shorten
/// Timestamp leave this one whole.
fn time_of_etag(json: Json<'_>) -> Option<DateTime> {
    let text = match json {
        Json::Text(text) => text,
        Json::Object(mut members) => return time_of_etag(take(&mut members, "etag")?),
        _ => return None,
    };
    let (_, rest) = text.split_once("datetime'")?;
    let (written, _) = rest.split_once('\'')?;
    DateTime::parse(&written.replace("%3A", ":").replace("%3a", ":")).ok()
}

/// Of two times of one entity the one with more digits, if they are the same but for that.
fn precise(timestamp: Option<DateTime>, etag: Option<DateTime>) -> Option<DateTime> {
    const TICKS_PER_MILLISECOND: u64 = 10_000;
    match (timestamp, etag) {
        (Some(timestamp), Some(etag)) if timestamp.ticks().abs_diff(etag.ticks()) < TICKS_PER_MILLISECOND => Some(etag),
        (timestamp, etag) => timestamp.or(etag),
    }
}
