//! The one table from errors of Rowkey to those of the service (section 6.2).

use rowkey_authorization::Refusal;
use rowkey_base::{DateTime, Error, ErrorKind, Rejected, Rule, SqlState};
use rowkey_formats::entity_json::EntityJsonError;
use rowkey_sql::engine::Denied;
use rowkey_sql::odata::FilterError;

use super::failure::Failure;
use crate::time::month_day_year;

const TOO_LARGE: &str = "The property value exceeds the maximum allowed size (64KB). If the property value is a \
                         string, it is UTF-16 encoded and the maximum number of characters should be 32K or less.";
const FAULT: &str = "The server encountered an internal error. Please retry the request.";

/// What an error is to a client.
pub(crate) fn failure(error: &Error) -> Failure {
    let failure = of_cause(error).unwrap_or_else(|| of_state(error));
    match error.operation() {
        Some(index) => failure.at_operation(index),
        None => failure,
    }
}

/// Where the cause says more than the code.
fn of_cause(error: &Error) -> Option<Failure> {
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        if let Some(rejected) = error.downcast_ref::<Rejected>() {
            return Some(of_rule(rejected));
        }
        if let Some(denied) = error.downcast_ref::<Denied>() {
            return Some(of_denial(*denied));
        }
        if let Some(refusal) = error.downcast_ref::<Refusal>() {
            return Some((*refusal).into());
        }
        if let Some(json) = error.downcast_ref::<EntityJsonError>() {
            return Some(json_failure(json));
        }
        if let Some(filter) = error.downcast_ref::<FilterError>() {
            return Some(match filter {
                FilterError::NotImplemented => Failure::not_implemented(),
                filter => Failure::invalid_input(filter.to_string()),
            });
        }
        cause = error.source();
    }
    None
}

fn of_denial(denied: Denied) -> Failure {
    match denied {
        Denied::Permission => Failure::permission(),
        // Which code a signature for another table gets is unconfirmed.
        Denied::Expired | Denied::Table => Failure::authentication(),
        Denied::Key | Denied::Owner => Failure::authorization(),
    }
}

/// Section 4.5: that a signature is wrong is not told in more words.
impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        let not_authorized = |code, what: &str| {
            Self::new(403, code, format!("This request is not authorized to perform this operation using this {what}."))
        };
        match refusal {
            Refusal::Malformed(_)
            | Refusal::Twice(_)
            | Refusal::Signature
            | Refusal::Account
            | Refusal::Policy
            | Refusal::NotYetValid
            | Refusal::Expired => Self::authentication(),
            Refusal::Protocol => not_authorized("AuthorizationProtocolMismatch", "protocol"),
            Refusal::Address => not_authorized("AuthorizationSourceIPMismatch", "source IP"),
            Refusal::Service => not_authorized("AuthorizationServiceMismatch", "service"),
            Refusal::ResourceType => not_authorized("AuthorizationResourceTypeMismatch", "resource type"),
            Refusal::Permission => Self::permission(),
            Refusal::Action => Self::authorization(),
        }
    }
}

/// The body of a request that is not taken (sections 1.2, 1.3 and 1.5).
pub(crate) fn json_failure(error: &EntityJsonError) -> Failure {
    match error {
        EntityJsonError::Rejected(rejected) => of_rule(rejected),
        EntityJsonError::KeyMissing(_) | EntityJsonError::KeyNotText(_) => {
            Failure::new(400, "PropertiesNeedValue", "The values are not specified for all properties in the entity.")
        }
        EntityJsonError::Twice(_) => twice(),
        EntityJsonError::KeyIsNumber(_)
        | EntityJsonError::Refused(_)
        | EntityJsonError::Nested(_)
        | EntityJsonError::Syntax { .. } => Failure::not_processed(),
    }
}

fn twice() -> Failure {
    let text = "A property is specified more than one time.";
    Failure::new(400, "DuplicatePropertiesSpecified", text)
}

fn of_rule(rejected: &Rejected) -> Failure {
    let out_of_range = |value: &str| {
        let what = rejected.what.strip_prefix("property ").unwrap_or(&rejected.what);
        Failure::new(400, "OutOfRangeInput", format!("The '{what}' parameter of value '{value}' is out of range."))
    };
    match rejected.rule {
        Rule::KeyCharacter => out_of_range(&rejected.value),
        Rule::DateTimeRange => match DateTime::parse_unbounded(&rejected.value) {
            Ok(at) => out_of_range(&month_day_year(at)),
            Err(_) => out_of_range(&rejected.value),
        },
        Rule::KeyLength | Rule::StringLength | Rule::BinaryLength => {
            Failure::new(400, "PropertyValueTooLarge", TOO_LARGE)
        }
        Rule::PropertyName | Rule::PropertyNameReserved => {
            Failure::new(400, "PropertyNameInvalid", "The property name is invalid.")
        }
        Rule::PropertyNameLength => {
            Failure::new(400, "PropertyNameTooLong", "The property name exceeds the maximum allowed length (255).")
        }
        Rule::PropertyTwice => twice(),
        Rule::PropertyCount => {
            Failure::new(400, "TooManyProperties", "The entity contains more properties than allowed.")
        }
        Rule::EntitySize => {
            Failure::new(400, "EntityTooLarge", "The entity is larger than the maximum size permitted (1MB).")
        }
        // The spelling is the service's.
        Rule::TableName => {
            Failure::new(400, "InvalidResourceName", "The specifed resource name contains invalid characters.")
        }
        Rule::Unreadable => Failure::not_processed(),
        Rule::TableNameReserved | Rule::AccountName | Rule::ViewName | Rule::EntityGroup => Failure::not_valid(),
    }
}

fn of_state(error: &Error) -> Failure {
    match error.sqlstate() {
        SqlState::UNIQUE_VIOLATION => {
            return Failure::new(409, "EntityAlreadyExists", "The specified entity already exists.");
        }
        SqlState::NO_DATA_FOUND => return Failure::resource_not_found(),
        SqlState::PRECONDITION_FAILED => {
            let text = "The update condition specified in the request was not satisfied.";
            return Failure::new(412, "UpdateConditionNotSatisfied", text);
        }
        SqlState::UNDEFINED_TABLE => return Failure::table_not_found(),
        SqlState::DUPLICATE_TABLE => return Failure::table_exists(),
        SqlState::READ_ONLY_SQL_TRANSACTION => return Failure::secondary(),
        SqlState::PROGRAM_LIMIT_EXCEEDED | SqlState::BATCH_TOO_LARGE => return Failure::body_too_large(),
        _ => {}
    }
    match error.kind() {
        ErrorKind::Statement | ErrorKind::Name | ErrorKind::Value | ErrorKind::Entity => Failure::not_valid(),
        // SDKs try these again after a while.
        ErrorKind::Retry | ErrorKind::Limit | ErrorKind::DiskFull | ErrorKind::Cancelled => Failure::busy(),
        ErrorKind::OutcomeUnknown => Failure::timed_out(500),
        ErrorKind::NotAllowed => Failure::authorization(),
        ErrorKind::Unsupported => Failure::not_implemented(),
        ErrorKind::Unavailable | ErrorKind::Corrupt | ErrorKind::Internal => Failure::new(500, "InternalError", FAULT),
    }
}

#[cfg(test)]
mod tests;
