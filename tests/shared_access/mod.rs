//! Databases that are opened with a shared access signature: what holders may do in process.

use futures::TryStreamExt;
use rowkey::model::{AccessPolicy, DateTime, Entity, EntityBuilder, Key, KeyRange, KeySet};
use rowkey::{Database, EntityOperation, EntityQuery, Error, IfMatch, SharedDatabase, SqlState, Table};
use rowkey_authorization::{AccountKeys, generate_key};

const WRONG: SqlState = SqlState::INVALID_AUTHORIZATION_SPECIFICATION;
const DENIED: SqlState = SqlState::INSUFFICIENT_PRIVILEGE;
const VERSION: &str = "2019-02-02";
const EXPIRY: &str = "9000-01-01";

type Fields<'a> = &'a [(&'a str, &'a str)];

fn development() -> AccountKeys {
    AccountKeys::development().expect("a key")
}

fn value<'a>(fields: Fields<'a>, name: &str) -> &'a str {
    fields.iter().find(|(other, _)| *other == name).map_or("", |(_, value)| *value)
}

fn token(fields: Fields<'_>, signature: &str) -> String {
    let query: String = fields.iter().map(|(name, value)| format!("{name}={value}&")).collect();
    format!("{query}sv={VERSION}&sig={}", signature.replace('+', "%2B").replace('=', "%3D"))
}

/// For the table `Orders`.
fn service_sas_of(fields: Fields<'_>, keys: &AccountKeys) -> String {
    let field = |name| value(fields, name);
    let mut lines = ["sp", "st", "se"].map(field).to_vec();
    lines.push("/table/devstoreaccount1/orders");
    lines.extend(["si", "sip", "spr"].map(field));
    lines.push(VERSION);
    lines.extend(["spk", "srk", "epk", "erk"].map(field));
    token(fields, &keys.sign(&lines.join("\n"))) + "&tn=Orders"
}

fn service_sas(fields: Fields<'_>) -> String {
    service_sas_of(fields, &development())
}

fn account_sas(resource_types: &str, permissions: &str) -> String {
    let fields = [("sp", permissions), ("ss", "t"), ("srt", resource_types), ("se", EXPIRY)];
    let lines = ["devstoreaccount1", permissions, "t", resource_types, "", EXPIRY, "", "", VERSION, ""];
    token(&fields, &development().sign(&lines.join("\n")))
}

fn entity(partition: &str, row: &str) -> Entity {
    EntityBuilder::new(Key::new(partition, row)).property("N", 1).build().expect("an entity")
}

/// A database with a table of three partitions of three entities, and another one without any.
async fn orders() -> (Database, Table) {
    let db = Database::open(":memory:").await.expect("opens");
    let table = db.create_table("Orders").await.expect("a table");
    db.create_table("Others").await.expect("a table");
    for partition in ["a", "b", "c"] {
        let group = ["1", "2", "3"].map(|row| EntityOperation::Insert(entity(partition, row)));
        table.batch(&group).await.expect("written");
    }
    (db, table)
}

fn state<T>(result: Result<T, Error>) -> Option<SqlState> {
    result.err().map(|error| error.sqlstate())
}

/// What may be done with a table, by names; everything else is denied.
async fn permitted(table: &Table) -> Vec<&'static str> {
    let (old, new) = (entity("a", "1"), entity("new", "1"));
    let query = EntityQuery::new(KeySet::all());
    let tried = [
        ("get", state(table.get("a", "1").await)),
        ("page", state(table.page(&query).await)),
        ("range", state(table.partition("a").try_collect::<Vec<_>>().await)),
        ("replace", state(table.replace(&old, IfMatch::Any).await)),
        ("merge", state(table.merge(&old, IfMatch::Any).await)),
        ("insert or replace", state(table.insert_or_replace(&old).await)),
        ("insert or merge", state(table.insert_or_merge(&old).await)),
        ("insert", state(table.insert(&new).await)),
        ("delete", state(table.delete("a", "3", IfMatch::Any).await)),
        ("policies", state(table.access_policies())),
        ("set policies", state(table.set_access_policies(Vec::new()).await)),
        ("vacuum", state(table.vacuum(false).await)),
    ];
    for (name, state) in &tried {
        assert!(state.is_none_or(|state| state == DENIED), "{name}: {state:?}");
    }
    tried.into_iter().filter(|(_, state)| state.is_none()).map(|(name, _)| name).collect()
}

const READS: [&str; 3] = ["get", "page", "range"];
const UPSERTS: [&str; 2] = ["insert or replace", "insert or merge"];

#[tokio::test(flavor = "multi_thread")]
async fn each_letter_permits_its_operations() {
    let updates = ["replace", "merge"];
    for (letters, wanted) in [
        ("r", READS.to_vec()),
        ("a", vec!["insert"]),
        ("u", updates.to_vec()),
        ("d", vec!["delete"]),
        ("au", [&updates[..], &UPSERTS, &["insert"]].concat()),
        ("raud", [&READS[..], &updates, &UPSERTS, &["insert", "delete"]].concat()),
    ] {
        let (db, _) = orders().await;
        let shared = db.with_sas(&service_sas(&[("sp", letters), ("se", EXPIRY)])).expect(letters);
        assert_eq!(permitted(&shared.table("orders").expect("its table")).await, wanted, "{letters}");
        assert_eq!(shared.account(), "devstoreaccount1");
        // One table, and nothing else.
        for name in ["Others", "None"] {
            assert_eq!(state(shared.table(name)), Some(DENIED), "{name}");
        }
        assert_eq!(state(shared.tables()), Some(DENIED));
        assert_eq!(state(shared.create_table("More").await), Some(DENIED));
        assert_eq!(state(shared.drop_table("Orders").await), Some(DENIED));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_out_of_the_range_are_not_seen_and_not_written() {
    let (db, _) = orders().await;
    let range = [("sp", "raud"), ("se", EXPIRY), ("spk", "a"), ("srk", "3"), ("epk", "b"), ("erk", "2")];
    let table = db.with_sas(&service_sas(&range)).expect("opens").table("Orders").expect("its table");
    let inside = [("a", "3"), ("b", "1"), ("b", "2")].map(|(partition, row)| Key::new(partition, row));
    let page = table.page(&EntityQuery::new(KeySet::all())).await.expect("a page");
    assert_eq!(page.entities.iter().map(|entity| entity.key.clone()).collect::<Vec<_>>(), inside);
    let found: Vec<Entity> = table.range(KeyRange::partition("b")).try_collect().await.expect("a stream");
    assert_eq!(found.len(), 2);
    for (partition, row, is_inside) in
        [("a", "2", false), ("a", "3", true), ("b", "1", true), ("b", "2", true), ("b", "3", false), ("c", "1", false)]
    {
        let found = table.get(partition, row).await.expect("a read");
        let wanted = (!is_inside).then_some(DENIED);
        assert_eq!(found.is_some(), is_inside, "{partition} {row}");
        assert_eq!(state(table.insert_or_replace(&entity(partition, row)).await), wanted, "{partition} {row}");
        assert_eq!(state(table.merge(&entity(partition, row), IfMatch::Any).await), wanted, "{partition} {row}");
        assert_eq!(state(table.delete(partition, row, IfMatch::Any).await), wanted, "{partition} {row}");
    }
    // A group with one key out of it changes nothing.
    let group = ["2", "3"].map(|row| EntityOperation::InsertOrReplace(entity("b", row)));
    let refused = table.batch(&group).await.expect_err("out of the range");
    assert_eq!((refused.sqlstate(), refused.operation()), (DENIED, Some(1)));
    assert!(table.get("b", "2").await.expect("a read").is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn signatures_that_are_wrong_open_nothing() {
    let (db, _) = orders().await;
    let sas = |extra: Fields<'_>| service_sas(&[&[("sp", "r")][..], extra].concat());
    let right = sas(&[("se", EXPIRY)]);
    for text in [format!("?{right}"), format!("https://devstoreaccount1.table.core.windows.net/Orders?{right}")] {
        assert_eq!(state(db.with_sas(&text)), None, "{text}");
    }
    let foreign = AccountKeys::new(&generate_key().expect("a key"), None).expect("a key");
    for (what, token, wanted) in [
        ("expired", sas(&[("se", "2020-01-01")]), Some(WRONG)),
        ("not yet valid", sas(&[("st", "8999-01-01"), ("se", EXPIRY)]), Some(WRONG)),
        ("valid for long", sas(&[("st", "2020-01-01"), ("se", EXPIRY)]), None),
        ("without an end", sas(&[]), Some(WRONG)),
        ("of another key", service_sas_of(&[("sp", "r"), ("se", EXPIRY)], &foreign), Some(WRONG)),
        ("more letters", right.replace("sp=r", "sp=raud"), Some(WRONG)),
        ("another table", right.replace("tn=Orders", "tn=Others"), Some(WRONG)),
        ("an unknown policy", sas(&[("se", EXPIRY), ("si", "none")]), Some(WRONG)),
        ("not signed", "sv=2019-02-02&tn=Orders&sp=r".to_owned(), Some(WRONG)),
        ("nothing", String::new(), Some(WRONG)),
        ("for HTTPS", sas(&[("se", EXPIRY), ("spr", "https")]), None),
        ("for an address", sas(&[("se", EXPIRY), ("sip", "127.0.0.1")]), Some(DENIED)),
    ] {
        assert_eq!(state(db.with_sas(&token)), wanted, "{what}");
    }
    // Another account has no key here, and is not reached with this one's.
    let other = db.in_account("other").expect("a name");
    assert_eq!(state(other.with_sas(&right)), Some(WRONG));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stored_policy_that_changes_counts_at_once() {
    let (db, owner) = orders().await;
    let policy = |permissions: &str, expiry: &str| AccessPolicy {
        id: "clerks".to_owned(),
        start: None,
        expiry: Some(DateTime::parse(expiry).expect("a time")),
        permissions: Some(permissions.to_owned()),
    };
    let token = service_sas(&[("si", "clerks")]);
    assert_eq!(state(db.with_sas(&token)), Some(WRONG));
    let (future, past) = ("9000-01-01T00:00:00Z", "2020-01-01T00:00:00Z");
    owner.set_access_policies(vec![policy("r", future)]).await.expect("set");
    let shared = db.with_sas(&token).expect("opens");
    let table = shared.table("Orders").expect("its table");
    assert_eq!(permitted(&table).await, READS);
    owner.set_access_policies(vec![policy("d", future)]).await.expect("set");
    assert_eq!(permitted(&table).await, ["delete"]);
    for policies in [vec![policy("r", past)], Vec::new()] {
        owner.set_access_policies(policies).await.expect("set");
        assert_eq!(state(table.get("a", "1").await), Some(WRONG));
        assert_eq!(state(table.insert(&entity("a", "4")).await), Some(WRONG));
        assert_eq!(state(table.partition("a").try_collect::<Vec<_>>().await), Some(WRONG));
        assert_eq!(state(shared.table("Orders")), Some(WRONG));
    }
    owner.set_access_policies(vec![policy("r", future)]).await.expect("set");
    assert!(table.get("a", "1").await.expect("a read").is_some());
    let invalid = Some(SqlState::INVALID_PARAMETER_VALUE);
    let named = |id: &str| AccessPolicy { id: id.to_owned(), ..policy("r", future) };
    for refused in [
        ["1", "2", "3", "4", "5", "6"].map(named).to_vec(),
        vec![named("1"), named("1")],
        vec![named(&"x".repeat(65))],
        vec![policy("rx", future)],
    ] {
        assert_eq!(state(owner.set_access_policies(refused).await), invalid);
    }
    assert_eq!(owner.access_policies().expect("policies"), [policy("r", future)]);
}

async fn opened(token: &str) -> SharedDatabase {
    let (db, _) = orders().await;
    db.with_sas(token).expect("opens")
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_sas_is_for_types_of_resources() {
    let entities = opened(&account_sas("o", "ra")).await;
    assert_eq!(permitted(&entities.table("Orders").expect("a table")).await, [&READS[..], &["insert"]].concat());
    assert!(entities.table("Others").expect("a table").get("a", "1").await.expect("a read").is_none());
    let missing = entities.table("Order").expect_err("no such table");
    // Who may not list tables is not told their names.
    assert_eq!((missing.sqlstate(), missing.hint()), (SqlState::UNDEFINED_TABLE, None));
    assert!(!missing.to_string().contains("Orders"), "{missing}");
    assert_eq!(state(entities.tables()), Some(DENIED));
    assert_eq!(state(entities.create_table("More").await), Some(DENIED));

    let tables = opened(&account_sas("c", "rlcd")).await;
    assert_eq!(tables.tables().expect("names"), ["Orders", "Others"]);
    assert_eq!(state(tables.table("Orders").expect("a table").get("a", "1").await), Some(DENIED));
    let made = tables.create_table("More").await.expect("made");
    assert_eq!(state(made.insert(&entity("a", "1")).await), Some(DENIED));
    assert_eq!(state(tables.create_table("more").await), Some(SqlState::DUPLICATE_TABLE));
    tables.drop_table("More").await.expect("dropped");
    assert_eq!(tables.tables().expect("names"), ["Orders", "Others"]);

    let lister = opened(&account_sas("co", "l")).await;
    assert_eq!(lister.tables().expect("names").len(), 2);
    assert_eq!(state(lister.create_table("More").await), Some(DENIED));
    assert_eq!(state(lister.drop_table("Orders").await), Some(DENIED));
    assert!(permitted(&lister.table("Orders").expect("a table")).await.is_empty());
}
