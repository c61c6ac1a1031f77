use std::net::IpAddr;

use rowkey_base::DateTime;
use rowkey_model::{AccessPolicy, KeyRef, TableName};

use super::accounts::AccountKeys;
use super::signature::sign;
use super::*;
use crate::address::QueryOptions;
use crate::errors::Failure;

const ACCOUNT: &str = "devstoreaccount1";
const DATE: &str = "Thu, 01 Jan 2026 00:00:00 GMT";

struct Sent<'a> {
    method: &'a str,
    path: &'a str,
    query: String,
    headers: Vec<(&'a str, String)>,
    policies: Vec<AccessPolicy>,
    now: &'a str,
    client: &'a str,
}

impl Default for Sent<'_> {
    fn default() -> Self {
        Self {
            method: "GET",
            path: "/devstoreaccount1/Orders()",
            query: String::new(),
            headers: Vec::new(),
            policies: Vec::new(),
            now: "2026-01-01T00:00:00Z",
            client: "127.0.0.1",
        }
    }
}

impl Sent<'_> {
    fn authenticate(&self, keys: &AccountKeys) -> Result<Authority, Failure> {
        let options = QueryOptions::parse(&self.query).unwrap();
        let headers =
            |name: &str| self.headers.iter().find(|(other, _)| *other == name).map(|(_, value)| value.as_str());
        let client: IpAddr = self.client.parse().unwrap();
        let request = SignedRequest {
            method: self.method,
            path: self.path,
            options: &options,
            headers: &headers,
            account: ACCOUNT,
            client,
            is_https: false,
        };
        let policies = |table: &TableName| if table.folded() == "orders" { self.policies.clone() } else { Vec::new() };
        authenticate(&request, keys, &policies, DateTime::parse(self.now).unwrap())
    }

    fn code(&self) -> Result<Authority, (u16, &'static str)> {
        self.authenticate(&keys()).map_err(|failure| (failure.status(), failure.code()))
    }
}

fn keys() -> AccountKeys {
    AccountKeys::development().unwrap()
}

fn signed(scheme: &str, signature: &str) -> Vec<(&'static str, String)> {
    vec![("authorization", format!("{scheme} {ACCOUNT}:{signature}")), ("x-ms-date", DATE.to_owned())]
}

#[test]
fn the_vectors_of_the_specification() {
    let cases = [
        ("GET", "/devstoreaccount1/Orders()", "", "SharedKey", None, "EgSNuef5T+MxJZl9W3bFNcCOdFE76RNXuW0blxaOYuI="),
        (
            "POST",
            "/devstoreaccount1/Tables",
            "",
            "SharedKey",
            Some("application/json;odata=nometadata"),
            "VJjnA4OzA3vvz5eC+jy0UwDoEV5qMx7KmBhJb8P3hKY=",
        ),
        (
            "GET",
            "/devstoreaccount1/Orders",
            "comp=acl",
            "SharedKey",
            None,
            "gGKI1sB6FcKqdygCDyUwLnqbgO6YP1vJ1m232DA4o98=",
        ),
        ("GET", "/Tables", "", "SharedKeyLite", None, "Q/EVL+cHWAp4OwxUKrJn9qTFFcsF7cT0ORqOExwSLug="),
        ("GET", "/devstoreaccount1/Tables", "", "SharedKeyLite", None, "WRN6nOrne13nPse4EBO5ULIQ1KAssaa6ujBtCrgHTls="),
    ];
    for (method, path, query, scheme, content_type, signature) in cases {
        let mut headers = signed(scheme, signature);
        headers.extend(content_type.map(|value| ("content-type", value.to_owned())));
        let sent = Sent { method, path, query: query.to_owned(), headers, ..Sent::default() };
        assert_eq!(sent.code(), Ok(Authority::Owner), "{scheme} {path}");
        let wrong = Sent { method: "PUT", path: "/devstoreaccount1/Other", ..sent };
        assert_eq!(wrong.code(), Err((403, "AuthenticationFailed")));
    }
}

#[test]
fn dates_keys_and_forms_of_shared_keys() {
    let headers = signed("SharedKey", "EgSNuef5T+MxJZl9W3bFNcCOdFE76RNXuW0blxaOYuI=");
    let sent = |now| Sent { headers: headers.clone(), now, ..Sent::default() }.code();
    assert_eq!(sent("2026-01-01T00:15:00Z"), Ok(Authority::Owner));
    assert_eq!(sent("2025-12-31T23:45:00Z"), Ok(Authority::Owner));
    assert_eq!(sent("2026-01-01T00:15:01Z"), Err((403, "AuthenticationFailed")));
    assert_eq!(sent("2025-12-31T23:44:59Z"), Err((403, "AuthenticationFailed")));
    // `Date` stands in for `x-ms-date`; without both there is none.
    let mut dated = headers.clone();
    dated[1].0 = "date";
    assert_eq!(Sent { headers: dated.clone(), ..Sent::default() }.code(), Ok(Authority::Owner));
    assert_eq!(Sent { headers: dated[..1].to_vec(), ..Sent::default() }.code(), Err((403, "AuthenticationFailed")));
    // Either key.
    let two = AccountKeys::new("AAAA", Some(DEVELOPMENT_KEY)).unwrap();
    assert!(Sent { headers: headers.clone(), ..Sent::default() }.authenticate(&two).is_ok());
    assert!(AccountKeys::new("no base64", None).is_err());
    for (header, failure) in [
        ("SharedKey", (400, "InvalidAuthenticationInfo")),
        ("SharedKey devstoreaccount1", (400, "InvalidAuthenticationInfo")),
        ("Basic x:y", (400, "InvalidAuthenticationInfo")),
        ("Bearer token", (401, "InvalidAuthenticationInfo")),
        ("SharedKey other:AAAA", (403, "AuthenticationFailed")),
        ("SharedKey devstoreaccount1:no base64", (403, "AuthenticationFailed")),
    ] {
        let headers = vec![("authorization", header.to_owned()), ("x-ms-date", DATE.to_owned())];
        assert_eq!(Sent { headers, ..Sent::default() }.code(), Err(failure), "{header}");
    }
    assert_eq!(Sent::default().code(), Err((401, "NoAuthenticationInformation")));
}

fn escaped(text: &str) -> String {
    text.replace('+', "%2B").replace('=', "%3D")
}

#[test]
fn a_service_sas_is_a_table_and_a_range() {
    let signature = "P0U9slkdH8ib7IcA+EIwOUocrDeTBCUTy682aody+Go=";
    let query = format!(
        "se=2030-01-01T00%3A00%3A00Z&sp=raud&sv=2019-02-02&tn=Orders&spk=a&srk=b&epk=c&erk=d&sig={}",
        escaped(signature)
    );
    let sent = Sent { query: query.clone(), ..Sent::default() };
    let Ok(Authority::Table(grant)) = sent.code() else { panic!("{:?}", sent.code()) };
    assert!(grant.table.as_ref().is_some_and(|table| table.as_str() == "Orders"));
    let reaches = |partition, row| grant.keys.contains(KeyRef { partition, row });
    assert!(reaches("a", "b") && reaches("b", "") && reaches("c", "d"));
    assert!(!reaches("a", "a") && !reaches("c", "e") && !reaches("d", ""));
    assert!(grant.entities.read && grant.entities.delete && !grant.tables.list);
    let authority = Authority::Table(grant);
    assert_eq!(authority.expect(Action::Entities), Ok(()));
    for action in [Action::Tables, Action::AccessPolicies, Action::ReadService, Action::WriteService] {
        assert_eq!(authority.expect(action).unwrap_err().code(), "AuthorizationFailure");
    }
    let expired = Sent { query: query.clone(), now: "2030-01-01T00:00:01Z", ..Sent::default() };
    assert_eq!(expired.code(), Err((403, "AuthenticationFailed")));
    let changed = Sent { query: query.replace("epk=c", "epk=z"), ..Sent::default() };
    assert_eq!(changed.code(), Err((403, "AuthenticationFailed")));
    // A plus that was not escaped comes as a blank.
    let lax = Sent { query: query.replace("%2B", "+"), ..Sent::default() };
    assert!(lax.code().is_ok());
}

/// A token with these fields, signed.
fn service_sas(fields: &[(&str, &str)]) -> String {
    let value = |name: &str| fields.iter().find(|(other, _)| *other == name).map_or("", |(_, value)| *value);
    let lines = [
        value("sp"),
        value("st"),
        value("se"),
        "/table/devstoreaccount1/orders",
        value("si"),
        value("sip"),
        value("spr"),
        value("sv"),
        value("spk"),
        value("srk"),
        value("epk"),
        value("erk"),
    ];
    let query: String = fields.iter().map(|(name, value)| format!("{name}={}&", value.replace(':', "%3A"))).collect();
    format!("{query}sig={}", escaped(&sign(&keys(), &lines.join("\n"))))
}

#[test]
fn stored_policies_say_what_the_token_does_not() {
    let policy = AccessPolicy {
        id: "p1".to_owned(),
        start: None,
        expiry: DateTime::parse("2030-01-01T00:00:00Z").ok(),
        permissions: Some("r".to_owned()),
    };
    let base = [("sv", "2019-02-02"), ("tn", "orders"), ("si", "p1")];
    let sent = |fields: &[(&str, &str)], policies: &[AccessPolicy]| {
        Sent { query: service_sas(fields), policies: policies.to_vec(), ..Sent::default() }.code()
    };
    let Ok(Authority::Table(grant)) = sent(&base, std::slice::from_ref(&policy)) else { panic!() };
    assert!(grant.entities.read && !grant.entities.add && grant.expires == policy.expiry);
    let failed = Err((403, "AuthenticationFailed"));
    assert_eq!(sent(&base, &[]), failed);
    let both: Vec<_> = base.iter().copied().chain([("sp", "r")]).collect();
    assert_eq!(sent(&both, std::slice::from_ref(&policy)), failed);
    let endless = AccessPolicy { expiry: None, ..policy.clone() };
    assert_eq!(sent(&base, std::slice::from_ref(&endless)), failed);
    let with_end: Vec<_> = base.iter().copied().chain([("se", "2027-01-01")]).collect();
    assert!(sent(&with_end, &[endless]).is_ok());
}

#[test]
fn protocols_addresses_and_letters() {
    let sent = |extra: &[(&'static str, &'static str)], client| {
        let fields: Vec<_> = [("sv", "2019-02-02"), ("tn", "orders"), ("se", "2030-01-01")]
            .into_iter()
            .chain(extra.iter().copied())
            .collect();
        Sent { query: service_sas(&fields), client, ..Sent::default() }.code().map(drop)
    };
    let local = "127.0.0.1";
    assert_eq!(sent(&[("sp", "r"), ("spr", "https,http")], local), Ok(()));
    assert_eq!(sent(&[("sp", "r"), ("spr", "https")], local), Err((403, "AuthorizationProtocolMismatch")));
    assert_eq!(sent(&[("sp", "r"), ("sip", "127.0.0.0-127.0.0.9")], local), Ok(()));
    assert_eq!(sent(&[("sp", "r"), ("sip", "127.0.0.1")], "::ffff:127.0.0.1"), Ok(()));
    assert_eq!(sent(&[("sp", "r"), ("sip", "10.0.0.1")], local), Err((403, "AuthorizationSourceIPMismatch")));
    let failed = Err((403, "AuthenticationFailed"));
    for bad in ["", "rr", "rx"] {
        assert_eq!(sent(&[("sp", bad)], local), failed, "{bad}");
    }
    assert_eq!(sent(&[("sp", "r"), ("st", "2026-01-02")], local), failed);
    assert_eq!(sent(&[("sp", "r"), ("srk", "x")], local), failed);
    assert_eq!(sent(&[("sp", "r"), ("spk", "z"), ("epk", "a")], local), Ok(()));
}

#[test]
fn an_account_sas_is_letters() {
    let vector = "ss=t&srt=so&sp=ra&se=2030-01-01T00%3A00%3A00Z&sv=2019-02-02&sig=WP9mpS11VETj3f5h3Z0tYp/YnP4Y/MK4VVEsWjOjqtE%3D";
    let authority = Sent { query: vector.to_owned(), ..Sent::default() }.code().unwrap();
    let Authority::Account { grant, .. } = &authority else { panic!("{authority:?}") };
    assert!(grant.entities.read && grant.entities.add && !grant.entities.update && grant.keys.is_all());
    assert_eq!((authority.expect(Action::Entities), authority.expect(Action::ReadService)), (Ok(()), Ok(())));
    let code = |action| authority.expect(action).unwrap_err().code();
    assert_eq!(code(Action::WriteService), "AuthorizationPermissionMismatch");
    assert_eq!(code(Action::Tables), "AuthorizationResourceTypeMismatch");
    assert_eq!(code(Action::AccessPolicies), "AuthorizationFailure");

    let token = |services: &str, version: &str| {
        let scope = if version >= "2020-12-06" { "\n" } else { "" };
        let text = format!("{ACCOUNT}\nlcd\n{services}\nc\n\n2030-01-01\n\n\n{version}\n{scope}");
        let signature = escaped(&sign(&keys(), &text));
        let query = format!("ss={services}&srt=c&sp=lcd&se=2030-01-01&sv={version}&sig={signature}");
        Sent { query, ..Sent::default() }.code()
    };
    let Ok(Authority::Account { grant, .. }) = token("bt", "2020-12-06") else { panic!() };
    assert!(grant.tables.list && grant.tables.create && grant.tables.drop);
    assert_eq!(token("b", "2019-02-02"), Err((403, "AuthorizationServiceMismatch")));
    assert_eq!(token("t", "2014-02-14"), Err((403, "AuthenticationFailed")));
}
