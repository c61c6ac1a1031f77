//! Tables (specification, section 2.4).

use rowkey_base::SqlState;
use rowkey_formats::entity_json::{EntityDecoder, MetadataLevel};
use rowkey_model::{KeyRef, TABLE_NAME_CHARS_MAX, TABLE_NAME_CHARS_MIN, TableName, Value, ValueRef};
use rowkey_sql::odata::Filter;

use super::call::Call;
use super::continuation::{decode, encode};
use super::entities::{refuse_foreign, top};
use crate::errors::{Failure, failure, json_failure};
use crate::reply::{Reply, json_type};
use crate::request::{OperationRequest, Prefer};

/// A page of the account's tables, in the order of their lower-case names.
pub(crate) fn query_tables(call: &Call, request: &OperationRequest) -> Result<Reply, Failure> {
    let options = &request.options;
    let level = request.level()?;
    refuse_foreign(options)?;
    call.service.expect_to_list_tables().map_err(|error| failure(&error))?;
    let top = top(options)?;
    let filter = Filter::parse(options.get("$filter").unwrap_or_default()).map_err(|error| failure(&error.into()))?;
    let from = options.given("NextTableName").map(decode).transpose()?.unwrap_or_default();
    let matches = |name: &str| filter.holds(&|property| (property == "TableName").then_some(ValueRef::String(name)));
    let mut names: Vec<(String, String)> = call
        .service
        .table_names()
        .into_iter()
        .map(|name| (name.to_ascii_lowercase(), name))
        .filter(|(folded, name)| *folded >= from && matches(name))
        .collect();
    names.sort_unstable();
    let mut reply = Reply::odata(200).with("DataServiceVersion", "3.0;");
    if let Some((next, _)) = names.get(top).filter(|_| top > 0) {
        reply = reply.with("x-ms-continuation-NextTableName", encode(next));
    }
    let elements: Vec<String> = names.iter().take(top).map(|(_, name)| object(call, name, level, None)).collect();
    let context = match level {
        MetadataLevel::None => String::new(),
        _ => format!("\"odata.metadata\":\"{}/$metadata#Tables\",", call.account_url),
    };
    let body = format!("{{{context}\"value\":[{}]}}", elements.join(","));
    Ok(reply.with_body(json_type(level), body))
}

/// One table, as an element of the list.
pub(crate) fn get_table(call: &Call, request: &OperationRequest, name: &str) -> Result<Reply, Failure> {
    let level = request.level()?;
    call.service.expect_to_list_tables().map_err(|error| failure(&error))?;
    call.table_as_resource(name)?;
    let stored = call.service.table_names().into_iter().find(|stored| stored.eq_ignore_ascii_case(name));
    let body = object(call, &stored.ok_or_else(Failure::resource_not_found)?, level, Some("Tables/@Element"));
    Ok(Reply::odata(200).with("DataServiceVersion", "3.0;").with_body(json_type(level), body))
}

pub(crate) async fn create_table(call: &Call, request: &OperationRequest) -> Result<Reply, Failure> {
    request.expect_json()?;
    let level = request.level()?;
    let name = table_name(&request.body)?;
    let created = call.service.create_table(&name).await;
    created.map_err(|error| match error.sqlstate() {
        // Another one took the name at the same moment.
        SqlState::SERIALIZATION_FAILURE if call.service.table_id(name.as_str()).is_ok() => Failure::table_exists(),
        _ => failure(&error),
    })?;
    let url = format!("{}/Tables('{name}')", call.account_url);
    let prefer = request.prefer();
    let mut reply = Reply::odata(if prefer == Prefer::NoContent { 204 } else { 201 });
    if let Some(applied) = prefer.applied() {
        reply = reply.with("Preference-Applied", applied);
    }
    reply = reply.with("DataServiceVersion", "3.0;").with("Location", url.clone());
    if prefer == Prefer::NoContent {
        return Ok(reply.with("DataServiceId", url));
    }
    Ok(reply.with_body(json_type(level), object(call, name.as_str(), level, Some("Tables/@Element"))))
}

pub(crate) async fn delete_table(call: &Call, name: &str) -> Result<Reply, Failure> {
    call.service.expect_to_drop_tables().map_err(|error| failure(&error))?;
    let id = call.table_as_resource(name)?;
    call.service.drop_table(id).await.map_err(|error| match error.sqlstate() {
        SqlState::UNDEFINED_TABLE => Failure::resource_not_found(),
        // The service has no views, and so no code for it.
        SqlState::SERIALIZATION_FAILURE | SqlState::DEPENDENT_OBJECTS_STILL_EXIST => {
            Failure::new(409, "ResourceTypeMismatch", "The table is in use: a view reads it.")
        }
        _ => failure(&error),
    })?;
    Ok(Reply::odata(204).with("DataServiceVersion", "1.0;"))
}

/// The name in the body of Create Table (section 1.2).
fn table_name(body: &[u8]) -> Result<TableName, Failure> {
    let text = std::str::from_utf8(body).map_err(|_| Failure::not_processed())?;
    // Read as an entity is, which names each of its properties once; it needs no key.
    let key = KeyRef { partition: "", row: "" };
    let body = EntityDecoder::for_requests().decode(text, Some(key)).map_err(|error| json_failure(&error))?;
    let name = match body.get("TableName") {
        Some(Value::String(name)) if !name.is_empty() => name.as_str(),
        // Unconfirmed.
        _ => {
            let text = "The values are not specified for all properties in the entity.";
            return Err(Failure::new(400, "PropertiesNeedValue", text));
        }
    };
    if !(TABLE_NAME_CHARS_MIN..=TABLE_NAME_CHARS_MAX).contains(&name.chars().count()) {
        let text = "The specified resource name length is not within the permissible limits.";
        return Err(Failure::new(400, "OutOfRangeInput", text));
    }
    TableName::parse(name).map_err(|rejected| failure(&rejected.into()))
}

/// A table as JSON. Its name and the account's need no escapes; the URL is what the client sent as
/// its host, in which only safe characters are let through.
fn object(call: &Call, name: &str, level: MetadataLevel, context: Option<&str>) -> String {
    let url = &call.account_url;
    let mut members = Vec::new();
    if let Some(context) = context.filter(|_| level > MetadataLevel::None) {
        members.push(format!("\"odata.metadata\":\"{url}/$metadata#{context}\""));
    }
    if level == MetadataLevel::Full {
        members.push(format!("\"odata.type\":\"{}.Tables\"", call.account()));
        members.push(format!("\"odata.id\":\"{url}/Tables('{name}')\""));
        members.push(format!("\"odata.editLink\":\"Tables('{name}')\""));
    }
    members.push(format!("\"TableName\":\"{name}\""));
    format!("{{{}}}", members.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_refused() {
        let code = |name: &str| {
            table_name(format!("{{\"TableName\":\"{name}\"}}").as_bytes())
                .map_err(|f| (f.code(), f.message().to_owned()))
        };
        assert!(code("Orders").is_ok());
        let refused = |name: &str| code(name).unwrap_err();
        assert_eq!(
            refused("my_table"),
            ("InvalidResourceName", "The specifed resource name contains invalid characters.".to_owned())
        );
        assert_eq!(refused("tablé").0, "InvalidResourceName");
        for length in [2, 64] {
            assert_eq!(refused(&"a".repeat(length)).0, "OutOfRangeInput");
        }
        assert_eq!(refused("TABLES"), ("InvalidInput", "One of the request inputs is not valid.".to_owned()));
        assert_eq!(refused("").0, "PropertiesNeedValue");
        for body in ["", "[", "{}", "[1]", "{\"TableName\":5}", &"[".repeat(100_000)] {
            assert_eq!(table_name(body.as_bytes()).unwrap_err().status(), 400);
        }
        for twice in [r#"{"TableName":"Orders","TableName":"Others"}"#, r#"{"TableName":"Orders","TableName":null}"#] {
            assert_eq!(table_name(twice.as_bytes()).unwrap_err().code(), "DuplicatePropertiesSpecified");
        }
    }
}
