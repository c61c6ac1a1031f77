//! The bodies of errors (section 6.1).

use rowkey_base::DateTime;
use rowkey_formats::entity_json::MetadataLevel;

use super::failure::Failure;
use crate::reply::{BYTE_ORDER_MARK, Reply, json_type};
use crate::time::with_seven_digits;

/// In which form a client expects an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ErrorForm {
    /// Of operations on tables and entities.
    Json(MetadataLevel),
    /// Of access policies and of the service itself.
    Xml,
}

/// The answer of a request that fails.
pub(crate) fn reply(failure: &Failure, form: ErrorForm, request_id: &str, now: DateTime) -> Reply {
    let index = failure.operation().map(|index| format!("{index}:")).unwrap_or_default();
    let message = format!("{index}{}\nRequestId:{request_id}\nTime:{}", failure.message(), with_seven_digits(now));
    let code = failure.code();
    let mut reply = match form {
        ErrorForm::Json(_) => {
            let mut reply = Reply::odata(failure.status());
            if let Some(preference) = failure.preference() {
                reply = reply.with("Preference-Applied", preference);
            }
            reply.with("DataServiceVersion", "3.0;")
        }
        ErrorForm::Xml => Reply::new(failure.status()),
    };
    reply = reply.with("x-ms-error-code", code);
    if failure.status() == 401 {
        let realm = "Bearer authorization_uri=https://login.microsoftonline.com/common/oauth2/authorize \
                     resource_id=https://storage.azure.com";
        reply = reply.with("WWW-Authenticate", realm);
    }
    match form {
        ErrorForm::Json(level) => {
            // One line and no blanks: clients search it with patterns.
            let message = serde_json::Value::from(message);
            let body =
                format!(r#"{{"odata.error":{{"code":"{code}","message":{{"lang":"en-US","value":{message}}}}}}}"#);
            reply.with_body(json_type(level), body)
        }
        ErrorForm::Xml => {
            let body = format!(
                "{BYTE_ORDER_MARK}<?xml version=\"1.0\" encoding=\"utf-8\"?><m:error \
                 xmlns:m=\"http://schemas.microsoft.com/ado/2007/08/dataservices/metadata\"><m:code>{code}</m:code>\
                 <m:message xml:lang=\"en-US\">{}</m:message></m:error>",
                quick_xml::escape::escape(message.as_str())
            );
            reply.with_body("application/xml".to_owned(), body)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_one_line_and_carries_the_index() {
        let now = DateTime::parse("2024-01-01T00:00:00Z").unwrap();
        let failure = Failure::table_exists().at_operation(3);
        let reply = reply(&failure, ErrorForm::Json(MetadataLevel::Minimal), "id", now);
        let body = String::from_utf8(reply.body().to_vec()).unwrap();
        assert_eq!(
            body,
            r#"{"odata.error":{"code":"TableAlreadyExists","message":{"lang":"en-US","value":"3:The table specified already exists.\nRequestId:id\nTime:2024-01-01T00:00:00.0000000Z"}}}"#
        );
        assert_eq!(reply.status(), 409);
    }

    #[test]
    fn xml_is_escaped() {
        let failure = Failure::new(400, "InvalidXmlDocument", "<a> & b");
        let reply = reply(&failure, ErrorForm::Xml, "id", DateTime::from_ticks(0));
        let body = String::from_utf8(reply.body().to_vec()).unwrap();
        assert!(
            body.contains("<m:code>InvalidXmlDocument</m:code>") && body.contains("&lt;a&gt; &amp; b\nRequestId:id")
        );
    }
}
