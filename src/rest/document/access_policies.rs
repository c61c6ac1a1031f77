//! Stored access policies (section 5.1).

use rowkey_model::AccessPolicy;

use super::xml::{Element, bad_value, escaped, not_valid};
use crate::errors::Failure;
use crate::reply::BYTE_ORDER_MARK;
use crate::time::with_seven_digits;
use rowkey_authorization::parse_signed_time;

const POLICIES_MAX: usize = 5;
const ID_CHARS_MAX: usize = 64;

/// Reads the body of a PUT; an empty one clears the list.
pub(crate) fn read_policies(body: &[u8]) -> Result<Vec<AccessPolicy>, Failure> {
    if body.is_empty() {
        return Ok(Vec::new());
    }
    let root = Element::parse(body)?;
    if root.name != "SignedIdentifiers" || root.children.len() > POLICIES_MAX {
        return Err(not_valid());
    }
    let mut policies: Vec<AccessPolicy> = Vec::new();
    for identifier in &root.children {
        let id = identifier.child_text("Id").filter(|id| id.chars().count() <= ID_CHARS_MAX);
        let id = id.filter(|_| identifier.name == "SignedIdentifier").ok_or_else(not_valid)?;
        if policies.iter().any(|policy| policy.id == id) {
            return Err(not_valid());
        }
        let policy = identifier.child("AccessPolicy");
        let text = |name: &str| policy.and_then(|policy| policy.child_text(name));
        let time = |name: &'static str| match text(name) {
            None => Ok(None),
            Some(text) => parse_signed_time(text).map(Some).ok_or_else(|| bad_value(name)),
        };
        let permissions = text("Permission").map(str::to_owned);
        if permissions.as_ref().is_some_and(|letters| !letters.chars().all(|letter| "raud".contains(letter))) {
            return Err(bad_value("Permission"));
        }
        policies.push(AccessPolicy { id: id.to_owned(), start: time("Start")?, expiry: time("Expiry")?, permissions });
    }
    Ok(policies)
}

/// Writes the body of a GET, times with seven digits of a second.
pub(crate) fn write_policies(policies: &[AccessPolicy]) -> String {
    let mut xml = format!("{BYTE_ORDER_MARK}<?xml version=\"1.0\" encoding=\"utf-8\"?>");
    if policies.is_empty() {
        return xml + "<SignedIdentifiers />";
    }
    xml.push_str("<SignedIdentifiers>");
    for AccessPolicy { id, start, expiry, permissions } in policies {
        xml.push_str(&format!("<SignedIdentifier><Id>{}</Id><AccessPolicy>", escaped(id)));
        let mut element = |name: &str, text: Option<String>| {
            if let Some(text) = text {
                xml.push_str(&format!("<{name}>{}</{name}>", escaped(&text)));
            }
        };
        element("Start", start.map(with_seven_digits));
        element("Expiry", expiry.map(with_seven_digits));
        element("Permission", permissions.clone());
        xml.push_str("</AccessPolicy></SignedIdentifier>");
    }
    xml + "</SignedIdentifiers>"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(body: &str) -> Result<Vec<AccessPolicy>, Failure> {
        read_policies(body.as_bytes())
    }

    #[test]
    fn policies_read_back() {
        let body = "<?xml version=\"1.0\" encoding=\"utf-8\"?><SignedIdentifiers><SignedIdentifier><Id>p&amp;1</Id><AccessPolicy>\
            <Start>2024-01-01T00:00:00Z</Start><Expiry>2030-01-01T00:00:00.5Z</Expiry><Permission>raud</Permission>\
            </AccessPolicy></SignedIdentifier><SignedIdentifier><Id>2</Id></SignedIdentifier>\
            <SignedIdentifier><Id>3</Id><AccessPolicy><Start/><Permission></Permission></AccessPolicy></SignedIdentifier></SignedIdentifiers>";
        let policies = read(body).unwrap();
        assert_eq!(
            (policies.len(), policies[0].id.as_str(), policies[0].permissions.as_deref()),
            (3, "p&1", Some("raud"))
        );
        assert_eq!((policies[1].start, policies[2].permissions.as_deref()), (None, None));
        let written = write_policies(&policies);
        assert!(
            written
                .contains("<Start>2024-01-01T00:00:00.0000000Z</Start><Expiry>2030-01-01T00:00:00.5000000Z</Expiry>")
        );
        assert_eq!(read(&written).unwrap(), policies);
        assert!(write_policies(&[]).ends_with("<SignedIdentifiers />"));
        assert_eq!((read("").unwrap(), read("<SignedIdentifiers/>").unwrap()), (vec![], vec![]));
    }

    #[test]
    fn what_breaks_a_rule_is_refused() {
        let one = |inner: &str| {
            read(&format!("<SignedIdentifiers><SignedIdentifier>{inner}</SignedIdentifier></SignedIdentifiers>"))
        };
        let code = |result: Result<Vec<AccessPolicy>, Failure>| result.unwrap_err().code();
        let six = "<SignedIdentifier><Id>x</Id></SignedIdentifier>".repeat(6);
        assert_eq!(code(read(&format!("<SignedIdentifiers>{six}</SignedIdentifiers>"))), "InvalidXmlDocument");
        assert_eq!(code(one(&format!("<Id>{}</Id>", "x".repeat(65)))), "InvalidXmlDocument");
        assert_eq!(code(one("")), "InvalidXmlDocument");
        assert_eq!(code(read("<Other/>")), "InvalidXmlDocument");
        assert_eq!(code(one("<Id>a</Id><AccessPolicy><Start>soon</Start></AccessPolicy>")), "InvalidXmlNodeValue");
        assert_eq!(
            code(one("<Id>a</Id><AccessPolicy><Permission>rw</Permission></AccessPolicy>")),
            "InvalidXmlNodeValue"
        );
    }
}
