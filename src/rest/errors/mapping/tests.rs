use super::*;

fn told(error: Error) -> (u16, &'static str) {
    let failure = failure(&error);
    (failure.status(), failure.code())
}

#[test]
fn every_state_has_its_row() {
    let rows = [
        (SqlState::UNIQUE_VIOLATION, 409, "EntityAlreadyExists"),
        (SqlState::NO_DATA_FOUND, 404, "ResourceNotFound"),
        (SqlState::PRECONDITION_FAILED, 412, "UpdateConditionNotSatisfied"),
        (SqlState::UNDEFINED_TABLE, 404, "TableNotFound"),
        (SqlState::DUPLICATE_TABLE, 409, "TableAlreadyExists"),
        (SqlState::READ_ONLY_SQL_TRANSACTION, 403, "InsufficientAccountPermissions"),
        (SqlState::PROGRAM_LIMIT_EXCEEDED, 413, "RequestBodyTooLarge"),
        (SqlState::BATCH_TOO_LARGE, 413, "RequestBodyTooLarge"),
        (SqlState::SERIALIZATION_FAILURE, 503, "ServerBusy"),
        (SqlState::OUT_OF_MEMORY, 503, "ServerBusy"),
        (SqlState::DISK_FULL, 503, "ServerBusy"),
        (SqlState::ADMIN_SHUTDOWN, 503, "ServerBusy"),
        (SqlState::TRANSACTION_RESOLUTION_UNKNOWN, 500, "OperationTimedOut"),
        (SqlState::INSUFFICIENT_PRIVILEGE, 403, "AuthorizationFailure"),
        (SqlState::INVALID_AUTHORIZATION_SPECIFICATION, 403, "AuthorizationFailure"),
        (SqlState::FEATURE_NOT_SUPPORTED, 501, "NotImplemented"),
        (SqlState::IO_ERROR, 500, "InternalError"),
        (SqlState::LOCK_FILE_EXISTS, 500, "InternalError"),
        (SqlState::DATA_CORRUPTED, 500, "InternalError"),
        (SqlState::INTERNAL_ERROR, 500, "InternalError"),
        (SqlState::INVALID_STATEMENT, 400, "InvalidInput"),
        (SqlState::CHECK_VIOLATION, 400, "InvalidInput"),
    ];
    for (state, status, code) in rows {
        assert_eq!(told(Error::new(state, "it failed")), (status, code), "{state:?}");
    }
    // No message of ours, which may name files, reaches a client.
    for (_, state) in SqlState::ALL {
        assert!(!failure(&Error::new(*state, "secret")).message().contains("secret"));
    }
}

#[test]
fn every_rule_has_its_row() {
    let rows = [
        (Rule::AccountName, "InvalidInput"),
        (Rule::TableName, "InvalidResourceName"),
        (Rule::TableNameReserved, "InvalidInput"),
        (Rule::ViewName, "InvalidInput"),
        (Rule::PropertyName, "PropertyNameInvalid"),
        (Rule::PropertyNameLength, "PropertyNameTooLong"),
        (Rule::PropertyNameReserved, "PropertyNameInvalid"),
        (Rule::PropertyTwice, "DuplicatePropertiesSpecified"),
        (Rule::KeyCharacter, "OutOfRangeInput"),
        (Rule::KeyLength, "PropertyValueTooLarge"),
        (Rule::StringLength, "PropertyValueTooLarge"),
        (Rule::BinaryLength, "PropertyValueTooLarge"),
        (Rule::DateTimeRange, "OutOfRangeInput"),
        (Rule::PropertyCount, "TooManyProperties"),
        (Rule::EntitySize, "EntityTooLarge"),
        (Rule::EntityGroup, "InvalidInput"),
        (Rule::Unreadable, "InvalidInput"),
    ];
    for (rule, code) in rows {
        let rejected = Rejected::new("property Age", "x", rule, "");
        assert_eq!(told(rejected.clone().into()), (400, code), "{rule:?}");
        let json = EntityJsonError::from(rejected);
        assert_eq!((json_failure(&json).code(), told(json.into())), (code, (400, code)), "{rule:?}");
    }
    let key = Rejected::new("PartitionKey", "a/b", Rule::KeyCharacter, "");
    let text = "The 'PartitionKey' parameter of value 'a/b' is out of range.";
    assert_eq!(failure(&key.into()).message(), text);
    // Of a DateTime in UTC, whatever its offset, and without the fraction of its second.
    for (value, shown) in [
        ("1600-12-31T23:59:59.9999999Z", "12/31/1600 23:59:59"),
        ("0001-01-01T00:00:00Z", "01/01/0001 00:00:00"),
        ("1601-01-01T00:30:00+01:00", "12/31/1600 23:30:00"),
    ] {
        let rejected = DateTime::parse(value).unwrap_err().named("property Born");
        let text = format!("The 'Born' parameter of value '{shown}' is out of range.");
        assert_eq!(json_failure(&rejected.into()).message(), text);
    }
}

#[test]
fn denials_and_filters_have_theirs() {
    for (denied, code) in [
        (Denied::Expired, "AuthenticationFailed"),
        (Denied::Table, "AuthenticationFailed"),
        (Denied::Permission, "AuthorizationPermissionMismatch"),
        (Denied::Key, "AuthorizationFailure"),
        (Denied::Owner, "AuthorizationFailure"),
    ] {
        assert_eq!(told(Error::from(denied)), (403, code), "{denied:?}");
    }
    assert_eq!(told(FilterError::Null.into()), (400, "InvalidInput"));
    assert_eq!(told(FilterError::NotImplemented.into()), (501, "NotImplemented"));
    for (error, code) in [
        (EntityJsonError::KeyMissing("RowKey"), "PropertiesNeedValue"),
        (EntityJsonError::KeyNotText("RowKey".to_owned()), "PropertiesNeedValue"),
        (EntityJsonError::KeyIsNumber("RowKey".to_owned()), "InvalidInput"),
        (EntityJsonError::Twice("RowKey".to_owned()), "DuplicatePropertiesSpecified"),
        (EntityJsonError::Syntax { at: 0, reason: String::new() }, "InvalidInput"),
    ] {
        assert_eq!(told(error.into()), (400, code));
    }
    assert_eq!(failure(&Error::from(Denied::Key).at_operation(3)).operation(), Some(3));
}
