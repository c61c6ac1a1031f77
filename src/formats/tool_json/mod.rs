//! JSON that tools and SDKs write of entities, where it is not the service's own.
//!
//! Entities are objects in an array, one a line, or one after another, framed as the service's are.
//! Each is read into a tree ([`tree`]), its values are taken out of whatever the tool wrapped them
//! in ([`value`]), and its keys and time are found under the tool's names for them ([`entity`]).
//! Which tool it was is detected from the beginning of the text ([`detect`]).

mod detect;
mod entity;
mod tree;
mod value;

use std::sync::Arc;

pub(super) use self::detect::detect;
pub(super) use self::entity::{ToolDecoder, ToolOptions};
use super::assumed::Typing;
use super::chunk::Chunk;
use super::error::Error;
use super::json_objects::{self, ObjectDecoder, PageKey};
use super::place::Place;
use super::reading::Reading;
use super::source::Source;

/// The tool or SDK that wrote the JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum JsonTool {
    /// `az storage entity query`: `{"items":[…],"nextMarker":{…}}`.
    AzureCli,
    /// `json.dumps(…, default=str)` over entities of the Python SDK.
    Python,
    /// Entities of the JavaScript SDK `@azure/data-tables`, with or without its conversion of
    /// types.
    JavaScript,
    /// Entities of the older JavaScript SDK `azure-storage`.
    LegacyJavaScript,
    /// CoreHelpers' AzureStorageTable backups.
    CoreHelpers,
    /// TheByteStuff's AzureTableUtilities backups.
    TableUtilities,
    /// azure-table-archiver: a file for each entity, whose keys are its path.
    TableArchiver,
    /// The Cosmos DB data migration tool (dmt).
    MigrationTool,
    /// Azure Storage Explorer's JSON.
    StorageExplorer,
    /// Objects of any of these kinds with the service's names of keys, or with keys made of other
    /// members.
    Any,
}

impl JsonTool {
    /// Those that a user can ask for.
    pub const ALL: [JsonTool; 9] = [
        JsonTool::AzureCli,
        JsonTool::Python,
        JsonTool::JavaScript,
        JsonTool::LegacyJavaScript,
        JsonTool::CoreHelpers,
        JsonTool::TableUtilities,
        JsonTool::TableArchiver,
        JsonTool::MigrationTool,
        JsonTool::StorageExplorer,
    ];

    /// The name by which a user asks for it.
    pub fn name(self) -> &'static str {
        match self {
            JsonTool::AzureCli => "az",
            JsonTool::Python => "python",
            JsonTool::JavaScript => "js",
            JsonTool::LegacyJavaScript => "azure-storage",
            JsonTool::CoreHelpers => "corehelpers",
            JsonTool::TableUtilities => "thebytestuff",
            JsonTool::TableArchiver => "archiver",
            JsonTool::MigrationTool => "dmt",
            JsonTool::StorageExplorer => "storage-explorer-json",
            JsonTool::Any => "json",
        }
    }

    /// Which types it writes.
    fn typing(self) -> Typing {
        match self {
            JsonTool::LegacyJavaScript
            | JsonTool::CoreHelpers
            | JsonTool::TableUtilities
            | JsonTool::TableArchiver
            | JsonTool::StorageExplorer => Typing::Exact,
            JsonTool::AzureCli | JsonTool::Python | JsonTool::JavaScript | JsonTool::MigrationTool | JsonTool::Any => {
                Typing::ByForm
            }
        }
    }
}

pub(super) fn decode<E: From<Error>>(
    mut source: Source,
    tool: JsonTool,
    reading: &Reading<'_>,
    sink: &mut dyn FnMut(Chunk) -> Result<(), E>,
) -> Result<(), E> {
    let outside = match tool {
        JsonTool::TableArchiver => Some(source.keys_of_path()?),
        _ => None,
    };
    let defaults = match tool {
        JsonTool::StorageExplorer => detect::first_types(&source.first_bytes()?),
        _ => Default::default(),
    };
    let typing = if tool == JsonTool::StorageExplorer && defaults.is_empty() { Typing::ByForm } else { tool.typing() };
    let options = Arc::new(ToolOptions {
        tool,
        typing,
        outside,
        defaults: defaults.numbered(reading.names),
        types: reading.types.clone(),
        keys: reading.options.keys.clone(),
    });
    let (input, reader) = source.into_read()?;
    let page = if tool == JsonTool::AzureCli { PageKey::Items } else { PageKey::Value };
    let object = || -> Box<dyn ObjectDecoder + '_> { Box::new(ToolDecoder::new(Arc::clone(&options), reading)) };
    json_objects::decode(input, reader, Place::Line(1), page, &object, reading, sink)
}

#[cfg(test)]
mod tests;
