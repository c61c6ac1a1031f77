//! Telling which tool wrote a JSON text, from its beginning.

use super::JsonTool;
use crate::convert::type_named;
use crate::property_types::PropertyTypes;

/// The tool, if the text has something that only this tool writes. Quotes inside of texts are
/// escaped, so what is looked for is never found there.
pub(crate) fn detect(first: &[u8]) -> Option<JsonTool> {
    let text = compact(first);
    let has = |part: &str| text.windows(part.len()).any(|window| window == part.as_bytes());
    // What comes behind each occurrence of `part` begins with a byte like this.
    let has_before = |part: &str, like: fn(u8) -> bool| {
        let found = text.windows(part.len() + 1);
        found.into_iter().any(|window| window.starts_with(part.as_bytes()) && window.last().is_some_and(|&b| like(b)))
    };
    let is_digit = |byte: u8| byte.is_ascii_digit();
    // The service's own annotations; whatever else stands there is content.
    if has("@odata.type\":\"Edm.") && !text.starts_with(b"{\"items\":[") && !has("\"nextMarker\":") {
        return None;
    }
    let tool = if text.starts_with(b"{\"items\":[") || text.starts_with(b"{\"nextMarker\":") || has(":{\"edm_type\":") {
        JsonTool::AzureCli
    } else if has("\"PropertyName\":") && has("\"PropertyType\":") {
        JsonTool::CoreHelpers
    } else if has("\"ProcessingMetaData\":") || has("\"EdmType\":\"") {
        JsonTool::TableUtilities
    } else if has_before(":{\"EdmType\":", is_digit)
        || has_before("Value\":", |_| true) && has_before(",\"EdmType\":", is_digit)
    {
        JsonTool::TableArchiver
    } else if has(":{\"_\":") || has(":{\"$\":\"") {
        JsonTool::LegacyJavaScript
    } else if has("\"partitionKey\":") && has("\"rowKey\":") && !has("\"PartitionKey\":") {
        JsonTool::JavaScript
    } else if has(",\"Edm.Int64\"]") || has(":\"b'") || has(":\"b\\\"") && has("\"PartitionKey\":") {
        JsonTool::Python
    } else if has("@type\":") {
        JsonTool::StorageExplorer
    } else if has("\"odata.etag\":") && !has("@odata.type\":") && has("+00:00\"") {
        JsonTool::MigrationTool
    } else {
        return None;
    };
    Some(tool)
}

/// The text without white space between its tokens.
fn compact(text: &[u8]) -> Vec<u8> {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let mut compact = Vec::with_capacity(text.len());
    let (mut in_text, mut escaping) = (false, false);
    for &byte in text {
        if !in_text && byte.is_ascii_whitespace() {
            continue;
        }
        compact.push(byte);
        match byte {
            _ if escaping => escaping = false,
            b'\\' if in_text => escaping = true,
            b'"' => in_text = !in_text,
            _ => {}
        }
    }
    compact
}

/// The first type that stands beside each property: Storage Explorer may annotate the first entity
/// only.
pub(super) fn first_types(first: &[u8]) -> PropertyTypes {
    let text = compact(first);
    let mut types = PropertyTypes::default();
    let mut rest = &text[..];
    while let Some(at) = rest.windows(3).position(|window| window == b"\":\"") {
        let (before, behind) = (&rest[..at], &rest[at + 3..]);
        let name = before.rsplit(|&byte| byte == b'"').next().and_then(|name| std::str::from_utf8(name).ok());
        let value = behind.split(|&byte| byte == b'"').next().and_then(|value| std::str::from_utf8(value).ok());
        let property = name.and_then(|name| name.strip_suffix("@odata.type").or_else(|| name.strip_suffix("@type")));
        if let (Some(property), Some(edm_type)) = (property, value.and_then(type_named))
            && types.get(property).is_none()
        {
            types.insert(property, edm_type);
        }
        rest = behind;
    }
    types
}
