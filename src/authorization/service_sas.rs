//! A service SAS: one table, perhaps some of its keys (specification, sections 4.2 and 4.4).

use rowkey_base::DateTime;
use rowkey_model::{AccessPolicy, Key, KeyCut, KeyRange, KeySet, TableName};
use rowkey_sql::engine::{EntityPermissions, Grant};

use super::account_keys::AccountKeys;
use super::parameters::{SharedAccessSignature, expect_letters, expect_valid};
use super::place::Place;
use super::refusal::Refusal;

/// Versions from which the string-to-sign has more.
const WITH_SERVICE_PREFIX: &str = "2015-02-21";
const WITH_PLACE: &str = "2015-04-05";

/// What a token permits, if it is right; `policies` are the stored access policies of a table.
pub(super) fn check(
    token: &SharedAccessSignature,
    account: &str,
    keys: &AccountKeys,
    policies: &dyn Fn(&TableName) -> Vec<AccessPolicy>,
    place: Place,
    now: DateTime,
) -> Result<Grant, Refusal> {
    let version = token.version()?;
    let table = TableName::parse(token.text("tn")).map_err(|_| Refusal::Malformed("tn"))?;
    if !keys.have_signed(&string_to_sign(token, account, &table, version), &token.signature()) {
        return Err(Refusal::Signature);
    }
    let (permissions, start, expiry) = terms(token, &table, policies)?;
    expect_valid(start, expiry, now)?;
    place.expect(token.text("spr"), token.text("sip"))?;
    expect_letters("sp", &permissions, "raud")?;
    let has = |letter| permissions.contains(letter);
    Ok(Grant {
        table: Some(table),
        keys: key_range(token)?,
        entities: EntityPermissions { read: has('r'), add: has('a'), update: has('u'), delete: has('d') },
        expires: Some(expiry),
        ..Grant::default()
    })
}

fn string_to_sign(token: &SharedAccessSignature, account: &str, table: &TableName, version: &str) -> String {
    let service = if version >= WITH_SERVICE_PREFIX { "/table" } else { "" };
    let resource = format!("{service}/{account}/{}", table.folded());
    let mut lines = vec![token.text("sp"), token.text("st"), token.text("se"), resource.as_str(), token.text("si")];
    if version >= WITH_PLACE {
        lines.extend([token.text("sip"), token.text("spr")]);
    }
    lines.push(version);
    lines.extend(["spk", "srk", "epk", "erk"].map(|name| token.text(name)));
    lines.join("\n")
}

/// Permissions, start and expiry: each from the token or from the policy that it names, and not
/// from both.
fn terms(
    token: &SharedAccessSignature,
    table: &TableName,
    policies: &dyn Fn(&TableName) -> Vec<AccessPolicy>,
) -> Result<(String, Option<DateTime>, DateTime), Refusal> {
    let policy = match token.text("si") {
        "" => None,
        id => Some(policies(table).into_iter().find(|policy| policy.id == id).ok_or(Refusal::Policy)?),
    };
    let permissions = Some(token.text("sp")).filter(|letters| !letters.is_empty()).map(str::to_owned);
    let (start, expiry) = (token.time("st")?, token.time("se")?);
    let (permissions, start, expiry) = match policy {
        None => (permissions, start, expiry),
        Some(policy) => (
            either("sp", permissions, policy.permissions)?,
            either("st", start, policy.start)?,
            either("se", expiry, policy.expiry)?,
        ),
    };
    Ok((permissions.ok_or(Refusal::Malformed("sp"))?, start, expiry.ok_or(Refusal::Malformed("se"))?))
}

/// What is said in one of two places (that both is an authentication failure is unconfirmed).
fn either<T>(name: &'static str, token: Option<T>, policy: Option<T>) -> Result<Option<T>, Refusal> {
    if token.is_some() && policy.is_some() { Err(Refusal::Twice(name)) } else { Ok(token.or(policy)) }
}

/// Both ends are included.
fn key_range(token: &SharedAccessSignature) -> Result<KeySet, Refusal> {
    let lower = match (token.get("spk"), token.get("srk")) {
        (None, None) => KeyCut::Start,
        (Some(partition), None) => KeyCut::BeforePartition(partition.to_owned()),
        (Some(partition), Some(row)) => KeyCut::Before(Key::new(partition, row)),
        (None, Some(_)) => return Err(Refusal::Malformed("srk")),
    };
    let upper = match (token.get("epk"), token.get("erk")) {
        (None, None) => KeyCut::End,
        (Some(partition), None) => KeyCut::AfterPartition(partition.to_owned()),
        (Some(partition), Some(row)) => KeyCut::After(Key::new(partition, row)),
        (None, Some(_)) => return Err(Refusal::Malformed("erk")),
    };
    Ok(KeyRange::new(lower, upper).map_or_else(KeySet::empty, KeySet::from))
}
