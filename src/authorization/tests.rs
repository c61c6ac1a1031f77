use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use rowkey_base::clock::ManualClock;
use rowkey_base::{DateTime, SqlState};
use rowkey_model::{AccessPolicy, AccountName, KeyRef, TableName};
use rowkey_sql::engine::{Engine, EntityService, Options};

use super::*;

const ACCOUNT: &str = "devstoreaccount1";

fn keys() -> AccountKeys {
    AccountKeys::development().unwrap()
}

fn time(text: &str) -> DateTime {
    DateTime::parse(text).unwrap()
}

/// A use of a signature.
struct Used<'a> {
    token: String,
    policies: Vec<AccessPolicy>,
    now: &'a str,
    place: Place,
}

impl Default for Used<'_> {
    fn default() -> Self {
        Self { token: String::new(), policies: Vec::new(), now: "2026-01-01T00:00:00Z", place: from("127.0.0.1") }
    }
}

impl Used<'_> {
    fn check(&self) -> Result<Authority, Refusal> {
        let token = SharedAccessSignature::parse(&self.token).unwrap();
        let policies = |table: &TableName| if table.folded() == "orders" { self.policies.clone() } else { Vec::new() };
        token.check(ACCOUNT, &keys(), &policies, self.place, time(self.now))
    }
}

fn from(client: &str) -> Place {
    let client: IpAddr = client.parse().unwrap();
    Place::Network { client, is_https: false }
}

fn escaped(text: &str) -> String {
    text.replace('+', "%2B").replace('=', "%3D")
}

/// A token for the table `orders` with these fields, signed with the first of the keys.
fn service_sas(fields: &[(&str, &str)], keys: &AccountKeys) -> String {
    let value = |name: &str| fields.iter().find(|(other, _)| *other == name).map_or("", |(_, value)| *value);
    let resource = "/table/devstoreaccount1/orders";
    let mut lines = vec![value("sp"), value("st"), value("se"), resource];
    lines.extend(["si", "sip", "spr", "sv", "spk", "srk", "epk", "erk"].map(value));
    let query: String = fields.iter().map(|(name, value)| format!("{name}={}&", value.replace(':', "%3A"))).collect();
    format!("{query}sig={}", escaped(&keys.sign(&lines.join("\n"))))
}

#[test]
fn a_service_sas_is_a_table_and_a_range() {
    let signature = "P0U9slkdH8ib7IcA+EIwOUocrDeTBCUTy682aody+Go=";
    let token = format!(
        "se=2030-01-01T00%3A00%3A00Z&sp=raud&sv=2019-02-02&tn=Orders&spk=a&srk=b&epk=c&erk=d&sig={}",
        escaped(signature)
    );
    let used = Used { token: token.clone(), ..Used::default() };
    let Ok(Authority::Table(grant)) = used.check() else { panic!("{:?}", used.check()) };
    assert!(grant.table.as_ref().is_some_and(|table| table.as_str() == "Orders"));
    let reaches = |partition, row| grant.keys.contains(KeyRef { partition, row });
    assert!(reaches("a", "b") && reaches("b", "") && reaches("c", "d"));
    assert!(!reaches("a", "a") && !reaches("c", "e") && !reaches("d", ""));
    assert!(grant.entities.read && grant.entities.delete && !grant.tables.list);
    let authority = Authority::Table(grant);
    assert_eq!(authority.expect(Action::Entities), Ok(()));
    for action in [Action::Tables, Action::AccessPolicies, Action::ReadService, Action::WriteService] {
        assert_eq!(authority.expect(action), Err(Refusal::Action));
    }
    let expired = Used { token: token.clone(), now: "2030-01-01T00:00:01Z", ..Used::default() };
    assert_eq!(expired.check(), Err(Refusal::Expired));
    let changed = Used { token: token.replace("epk=c", "epk=z"), ..Used::default() };
    assert_eq!(changed.check(), Err(Refusal::Signature));
    // A plus that was not escaped comes as a blank.
    let lax = Used { token: token.replace("%2B", "+"), ..Used::default() };
    assert!(lax.check().is_ok());
}

#[test]
fn stored_policies_say_what_the_token_does_not() {
    let policy = AccessPolicy {
        id: "p1".to_owned(),
        start: None,
        expiry: Some(time("2030-01-01T00:00:00Z")),
        permissions: Some("r".to_owned()),
    };
    let base = [("sv", "2019-02-02"), ("tn", "orders"), ("si", "p1")];
    let used = |fields: &[(&str, &str)], policies: &[AccessPolicy]| {
        Used { token: service_sas(fields, &keys()), policies: policies.to_vec(), ..Used::default() }.check()
    };
    let Ok(Authority::Table(grant)) = used(&base, std::slice::from_ref(&policy)) else { panic!() };
    assert!(grant.entities.read && !grant.entities.add && grant.expires == policy.expiry);
    assert_eq!(used(&base, &[]), Err(Refusal::Policy));
    let both: Vec<_> = base.iter().copied().chain([("sp", "r")]).collect();
    assert_eq!(used(&both, std::slice::from_ref(&policy)), Err(Refusal::Twice("sp")));
    let endless = AccessPolicy { expiry: None, ..policy.clone() };
    assert_eq!(used(&base, std::slice::from_ref(&endless)), Err(Refusal::Malformed("se")));
    let with_end: Vec<_> = base.iter().copied().chain([("se", "2027-01-01")]).collect();
    assert!(used(&with_end, &[endless]).is_ok());
}

#[test]
fn protocols_addresses_and_letters() {
    let used = |extra: &[(&'static str, &'static str)], place| {
        let fields = [("sv", "2019-02-02"), ("tn", "orders"), ("se", "2030-01-01")];
        let fields: Vec<_> = fields.into_iter().chain(extra.iter().copied()).collect();
        Used { token: service_sas(&fields, &keys()), place, ..Used::default() }.check().map(drop)
    };
    let local = from("127.0.0.1");
    assert_eq!(used(&[("sp", "r"), ("spr", "https,http")], local), Ok(()));
    assert_eq!(used(&[("sp", "r"), ("spr", "https")], local), Err(Refusal::Protocol));
    assert_eq!(used(&[("sp", "r"), ("spr", "https")], Place::Process), Ok(()));
    assert_eq!(used(&[("sp", "r"), ("spr", "http")], Place::Process), Err(Refusal::Malformed("spr")));
    assert_eq!(used(&[("sp", "r"), ("sip", "127.0.0.0-127.0.0.9")], local), Ok(()));
    assert_eq!(used(&[("sp", "r"), ("sip", "127.0.0.1")], from("::ffff:127.0.0.1")), Ok(()));
    assert_eq!(used(&[("sp", "r"), ("sip", "10.0.0.1")], local), Err(Refusal::Address));
    assert_eq!(used(&[("sp", "r"), ("sip", "0.0.0.0-255.255.255.255")], Place::Process), Err(Refusal::Address));
    for bad in ["", "rr", "rx"] {
        assert_eq!(used(&[("sp", bad)], local), Err(Refusal::Malformed("sp")), "{bad}");
    }
    assert_eq!(used(&[("sp", "r"), ("st", "2026-01-02")], local), Err(Refusal::NotYetValid));
    assert_eq!(used(&[("sp", "r"), ("st", "tomorrow")], local), Err(Refusal::Malformed("st")));
    assert_eq!(used(&[("sp", "r"), ("srk", "x")], local), Err(Refusal::Malformed("srk")));
    assert_eq!(used(&[("sp", "r"), ("spk", "z"), ("epk", "a")], local), Ok(()));
}

#[test]
fn an_account_sas_is_letters() {
    let vector = "ss=t&srt=so&sp=ra&se=2030-01-01T00%3A00%3A00Z&sv=2019-02-02&sig=WP9mpS11VETj3f5h3Z0tYp/YnP4Y/MK4VVEsWjOjqtE%3D";
    let authority = Used { token: vector.to_owned(), ..Used::default() }.check().unwrap();
    let Authority::Account { grant, .. } = &authority else { panic!("{authority:?}") };
    assert!(grant.entities.read && grant.entities.add && !grant.entities.update && grant.keys.is_all());
    assert_eq!((authority.expect(Action::Entities), authority.expect(Action::ReadService)), (Ok(()), Ok(())));
    assert_eq!(authority.expect(Action::WriteService), Err(Refusal::Permission));
    assert_eq!(authority.expect(Action::Tables), Err(Refusal::ResourceType));
    assert_eq!(authority.expect(Action::AccessPolicies), Err(Refusal::Action));

    let token = |services: &str, version: &str| {
        let scope = if version >= "2020-12-06" { "\n" } else { "" };
        let text = format!("{ACCOUNT}\nlcd\n{services}\nc\n\n2030-01-01\n\n\n{version}\n{scope}");
        let signature = escaped(&keys().sign(&text));
        let token = format!("ss={services}&srt=c&sp=lcd&se=2030-01-01&sv={version}&sig={signature}");
        Used { token, ..Used::default() }.check()
    };
    let Ok(Authority::Account { grant, .. }) = token("bt", "2020-12-06") else { panic!() };
    assert!(grant.tables.list && grant.tables.create && grant.tables.drop);
    assert_eq!(token("b", "2019-02-02"), Err(Refusal::Service));
    assert_eq!(token("t", "2014-02-14"), Err(Refusal::Malformed("sv")));
}

/// An account with a table `Orders`, and a clock for signatures.
struct Opened {
    engine: Engine,
    table: u64,
    clock: Arc<ManualClock>,
}

impl Opened {
    async fn new() -> Self {
        let engine = Engine::open(":memory:", Options::default()).await.unwrap();
        let table = engine.entities().create_table(&TableName::parse("Orders").unwrap()).await.unwrap();
        Self { engine, table, clock: Arc::new(ManualClock::new(time("2026-01-01T00:00:00Z"))) }
    }

    fn owner(&self) -> EntityService {
        self.engine.entities().clone()
    }

    fn access_to(&self, owner: EntityService, token: &str) -> rowkey_base::Result<SharedAccess> {
        let accounts = Accounts::new([], self.engine.account().clone());
        SharedAccess::open(owner, accounts, Arc::clone(&self.clock) as _, token)
    }

    fn access(&self, token: &str) -> rowkey_base::Result<SharedAccess> {
        self.access_to(self.owner(), token)
    }
}

fn refusal<T>(result: rowkey_base::Result<T>) -> Option<Refusal> {
    let error = result.err()?;
    std::error::Error::source(&error)?.downcast_ref::<Refusal>().copied()
}

#[tokio::test(flavor = "multi_thread")]
async fn time_counts_at_every_use() {
    let opened = Opened::new().await;
    let fields = [("sv", "2019-02-02"), ("tn", "orders"), ("sp", "r"), ("st", "2026-01-02"), ("se", "9000-01-01")];
    let token = service_sas(&fields, &keys());
    assert_eq!(refusal(opened.access(&token)), Some(Refusal::NotYetValid));
    opened.clock.set(time("2026-01-02T00:00:00Z"));
    let access = opened.access(&token).unwrap();
    let entities = access.entities_for(Action::Entities).unwrap();
    assert_eq!(entities.principal().name(), ACCOUNT);
    assert!(entities.get(opened.table, KeyRef { partition: "p", row: "r" }).await.unwrap().is_none());
    opened.clock.set(time("9000-01-01T00:00:00Z"));
    assert!(access.entities().is_ok());
    opened.clock.advance(Duration::from_nanos(100));
    assert_eq!(refusal(access.entities_for(Action::Entities)), Some(Refusal::Expired));
    assert_eq!(access.entities().unwrap_err().sqlstate(), SqlState::INVALID_AUTHORIZATION_SPECIFICATION);
}

#[tokio::test(flavor = "multi_thread")]
async fn policies_and_keys_count_at_every_use() {
    let opened = Opened::new().await;
    let owner = opened.owner();
    let policy = |permissions: &str| AccessPolicy {
        id: "p1".to_owned(),
        start: None,
        expiry: Some(time("9000-01-01T00:00:00Z")),
        permissions: Some(permissions.to_owned()),
    };
    let token = service_sas(&[("sv", "2019-02-02"), ("tn", "orders"), ("si", "p1")], &keys());
    assert_eq!(refusal(opened.access(&token)), Some(Refusal::Policy));
    owner.set_access_policies(opened.table, vec![policy("r")]).await.unwrap();
    let access = opened.access(&token).unwrap();
    let permitted = || {
        let entities = access.entities_for(Action::Entities)?;
        Ok(entities.principal().grant().map(|grant| (grant.entities.read, grant.entities.delete)))
    };
    assert_eq!(permitted().unwrap(), Some((true, false)));
    owner.set_access_policies(opened.table, vec![policy("d")]).await.unwrap();
    assert_eq!(permitted().unwrap(), Some((false, true)));
    owner.set_access_policies(opened.table, Vec::new()).await.unwrap();
    assert_eq!(refusal(permitted()), Some(Refusal::Policy));
    owner.set_access_policies(opened.table, vec![policy("rd")]).await.unwrap();
    assert_eq!(permitted().unwrap(), Some((true, true)));

    // Once an account has a key, the one that everybody knows is of no use.
    owner.set_account_keys(vec![generate_key().unwrap()]).await.unwrap();
    assert_eq!(refusal(permitted()), Some(Refusal::Signature));
    owner.set_account_keys(vec![generate_key().unwrap(), DEVELOPMENT_KEY.to_owned()]).await.unwrap();
    assert_eq!(permitted().unwrap(), Some((true, true)));
    owner.set_account_keys(Vec::new()).await.unwrap();
    assert_eq!(permitted().unwrap(), Some((true, true)));
    let other = owner.in_account(AccountName::parse("other").unwrap());
    assert_eq!(refusal(opened.access_to(other.clone(), &token)), Some(Refusal::Account));
    other.set_account_keys(vec![generate_key().unwrap()]).await.unwrap();
    assert_eq!(refusal(permitted()), Some(Refusal::Account));
}
