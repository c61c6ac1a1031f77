//! A service SAS: one table, perhaps some of its keys (specification, sections 4.2 and 4.4).

use rowkey_base::DateTime;
use rowkey_model::{AccessPolicy, Key, KeyCut, KeyRange, KeySet, TableName};
use rowkey_sql::engine::{EntityPermissions, Grant};

use super::accounts::AccountKeys;
use super::parameters::{expect_letters, expect_place, expect_valid, signature, text, time, version};
use super::signature::is_signed;
use super::signed_request::SignedRequest;
use crate::errors::Failure;

/// Versions from which the string-to-sign has more.
const WITH_SERVICE_PREFIX: &str = "2015-02-21";
const WITH_PLACE: &str = "2015-04-05";

/// What a token permits, if it is right.
pub(super) fn check(
    request: &SignedRequest<'_>,
    keys: &AccountKeys,
    policies: &dyn Fn(&TableName) -> Vec<AccessPolicy>,
    now: DateTime,
) -> Result<Grant, Failure> {
    let version = version(request)?;
    let table = TableName::parse(text(request, "tn")).map_err(|_| Failure::authentication())?;
    if !is_signed(keys, &string_to_sign(request, &table, version), &signature(request)) {
        return Err(Failure::authentication());
    }
    let (permissions, start, expiry) = terms(request, &table, policies)?;
    expect_valid(start, expiry, now)?;
    expect_place(request)?;
    expect_letters(&permissions, "raud")?;
    let has = |letter| permissions.contains(letter);
    Ok(Grant {
        table: Some(table),
        keys: key_range(request)?,
        entities: EntityPermissions { read: has('r'), add: has('a'), update: has('u'), delete: has('d') },
        expires: Some(expiry),
        ..Grant::default()
    })
}

fn string_to_sign(request: &SignedRequest<'_>, table: &TableName, version: &str) -> String {
    let service = if version >= WITH_SERVICE_PREFIX { "/table" } else { "" };
    let resource = format!("{service}/{}/{}", request.account, table.folded());
    let mut lines =
        vec![text(request, "sp"), text(request, "st"), text(request, "se"), resource.as_str(), text(request, "si")];
    if version >= WITH_PLACE {
        lines.extend([text(request, "sip"), text(request, "spr")]);
    }
    lines.push(version);
    lines.extend(["spk", "srk", "epk", "erk"].map(|name| text(request, name)));
    lines.join("\n")
}

/// Permissions, start and expiry: each from the token or from the policy that it names, and not
/// from both.
fn terms(
    request: &SignedRequest<'_>,
    table: &TableName,
    policies: &dyn Fn(&TableName) -> Vec<AccessPolicy>,
) -> Result<(String, Option<DateTime>, DateTime), Failure> {
    let policy = match text(request, "si") {
        "" => None,
        id => {
            let found = policies(table).into_iter().find(|policy| policy.id == id);
            Some(found.ok_or_else(Failure::authentication)?)
        }
    };
    let permissions = Some(text(request, "sp")).filter(|letters| !letters.is_empty()).map(str::to_owned);
    let (start, expiry) = (time(text(request, "st"))?, time(text(request, "se"))?);
    let (permissions, start, expiry) = match policy {
        None => (permissions, start, expiry),
        Some(policy) => {
            (either(permissions, policy.permissions)?, either(start, policy.start)?, either(expiry, policy.expiry)?)
        }
    };
    let permissions = permissions.ok_or_else(Failure::authentication)?;
    Ok((permissions, start, expiry.ok_or_else(Failure::authentication)?))
}

/// What is said in one of two places (that both is an authentication failure is unconfirmed).
fn either<T>(token: Option<T>, policy: Option<T>) -> Result<Option<T>, Failure> {
    if token.is_some() && policy.is_some() { Err(Failure::authentication()) } else { Ok(token.or(policy)) }
}

/// Both ends are included.
fn key_range(request: &SignedRequest<'_>) -> Result<KeySet, Failure> {
    let given = |name| request.options.get(name);
    let lower = match (given("spk"), given("srk")) {
        (None, None) => KeyCut::Start,
        (Some(partition), None) => KeyCut::BeforePartition(partition.to_owned()),
        (Some(partition), Some(row)) => KeyCut::Before(Key::new(partition, row)),
        (None, Some(_)) => return Err(Failure::authentication()),
    };
    let upper = match (given("epk"), given("erk")) {
        (None, None) => KeyCut::End,
        (Some(partition), None) => KeyCut::AfterPartition(partition.to_owned()),
        (Some(partition), Some(row)) => KeyCut::After(Key::new(partition, row)),
        (None, Some(_)) => return Err(Failure::authentication()),
    };
    Ok(KeyRange::new(lower, upper).map_or_else(KeySet::empty, KeySet::from))
}
