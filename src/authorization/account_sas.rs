//! An account SAS (specification, section 4.3).

use rowkey_base::DateTime;
use rowkey_model::KeySet;
use rowkey_sql::engine::{EntityPermissions, Grant, TablePermissions};

use super::account_keys::AccountKeys;
use super::authority::Authority;
use super::parameters::{SharedAccessSignature, expect_letters, expect_valid};
use super::place::Place;
use super::refusal::Refusal;

/// The first version that has account SAS, and the one whose string-to-sign names the encryption
/// scope.
const FIRST_VERSION: &str = "2015-04-05";
const WITH_ENCRYPTION_SCOPE: &str = "2020-12-06";

/// What a token permits, if it is right.
pub(super) fn check(
    token: &SharedAccessSignature,
    account: &str,
    keys: &AccountKeys,
    place: Place,
    now: DateTime,
) -> Result<Authority, Refusal> {
    let version = token.version()?;
    if version < FIRST_VERSION {
        return Err(Refusal::Malformed("sv"));
    }
    if !keys.have_signed(&string_to_sign(token, account, version), &token.signature()) {
        return Err(Refusal::Signature);
    }
    let expiry = token.time("se")?.ok_or(Refusal::Malformed("se"))?;
    expect_valid(token.time("st")?, expiry, now)?;
    place.expect(token.text("spr"), token.text("sip"))?;
    let (services, resource_types, permissions) = (token.text("ss"), token.text("srt"), token.text("sp"));
    expect_letters("ss", services, "bqtf")?;
    expect_letters("srt", resource_types, "sco")?;
    // Of all services; those that mean nothing to tables are passed over.
    expect_letters("sp", permissions, "rwdxylacuptfi")?;
    if !services.contains('t') {
        return Err(Refusal::Service);
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

fn string_to_sign(token: &SharedAccessSignature, account: &str, version: &str) -> String {
    let mut lines = vec![account];
    lines.extend(["sp", "ss", "srt", "st", "se", "sip", "spr"].map(|name| token.text(name)));
    lines.push(version);
    if version >= WITH_ENCRYPTION_SCOPE {
        lines.push(token.text("ses"));
    }
    lines.join("\n") + "\n"
}
