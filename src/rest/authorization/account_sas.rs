//! An account SAS (specification, section 4.3).

use rowkey_base::DateTime;
use rowkey_model::KeySet;
use rowkey_sql::engine::{EntityPermissions, Grant, TablePermissions};

use super::accounts::AccountKeys;
use super::authority::Authority;
use super::parameters::{expect_letters, expect_place, expect_valid, signature, text, time, version};
use super::signature::is_signed;
use super::signed_request::SignedRequest;
use crate::errors::Failure;

/// The first version that has account SAS, and the one whose string-to-sign names the encryption
/// scope.
const FIRST_VERSION: &str = "2015-04-05";
const WITH_ENCRYPTION_SCOPE: &str = "2020-12-06";

/// What a token permits, if it is right.
pub(super) fn check(request: &SignedRequest<'_>, keys: &AccountKeys, now: DateTime) -> Result<Authority, Failure> {
    let version = version(request)?;
    let is_right = version >= FIRST_VERSION && is_signed(keys, &string_to_sign(request, version), &signature(request));
    if !is_right {
        return Err(Failure::authentication());
    }
    let expiry = time(text(request, "se"))?.ok_or_else(Failure::authentication)?;
    expect_valid(time(text(request, "st"))?, expiry, now)?;
    expect_place(request)?;
    let (services, resource_types, permissions) = (text(request, "ss"), text(request, "srt"), text(request, "sp"));
    expect_letters(services, "bqtf")?;
    expect_letters(resource_types, "sco")?;
    // Of all services; those that mean nothing to tables are passed over.
    expect_letters(permissions, "rwdxylacuptfi")?;
    if !services.contains('t') {
        let text = "This request is not authorized to perform this operation using this service.";
        return Err(Failure::new(403, "AuthorizationServiceMismatch", text));
    }
    let has = |letter| permissions.contains(letter);
    let grant = Grant {
        table: None,
        keys: KeySet::all(),
        entities: EntityPermissions { read: has('r'), add: has('a'), update: has('u'), delete: has('d') },
        tables: TablePermissions { list: has('l'), create: has('c') || has('w'), drop: has('d') },
        expires: Some(expiry),
    };
    let (resource_types, permissions) = (resource_types.to_owned(), permissions.to_owned());
    Ok(Authority::Account { grant, resource_types, permissions })
}

fn string_to_sign(request: &SignedRequest<'_>, version: &str) -> String {
    let mut lines = vec![request.account];
    lines.extend(["sp", "ss", "srt", "st", "se", "sip", "spr"].map(|name| text(request, name)));
    lines.push(version);
    if version >= WITH_ENCRYPTION_SCOPE {
        lines.push(text(request, "ses"));
    }
    lines.join("\n") + "\n"
}
