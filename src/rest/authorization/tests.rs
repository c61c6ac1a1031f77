use std::net::IpAddr;

use rowkey_authorization::{AccountKeys, Authority, DEVELOPMENT_KEY, Refusal};
use rowkey_base::DateTime;
use rowkey_model::{AccessPolicy, TableName};

use super::*;
use crate::address::QueryOptions;
use crate::errors::{Failure, failure};

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

    fn with_policy(mut self, id: &str) -> Self {
        self.policies =
            vec![AccessPolicy { id: id.to_owned(), start: None, expiry: None, permissions: Some("r".to_owned()) }];
        self
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

/// The signature of a service SAS with the fields of this query, of version 2019-02-02.
fn signed_query(query: &str) -> String {
    let value = |name: &str| {
        let given = query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='));
        given.unwrap_or_default().to_owned()
    };
    let lines = [
        value("sp"),
        value("st"),
        value("se"),
        "/table/devstoreaccount1/orders".to_owned(),
        value("si"),
        value("sip"),
        value("spr"),
        "2019-02-02".to_owned(),
        value("spk"),
        value("srk"),
        value("epk"),
        value("erk"),
    ];
    let signature = keys().sign(&lines.join("\n"));
    format!("{query}&sv=2019-02-02&tn=Orders&sig={}", signature.replace('+', "%2B").replace('=', "%3D"))
}

#[test]
fn shared_access_signatures_come_in_the_query_and_are_refused_as_the_service_does() {
    let sent = |query: &str| Sent { query: signed_query(query), ..Sent::default() };
    let Ok(Authority::Table(grant)) = sent("sp=ra&se=2030-01-01").code() else { panic!() };
    assert!(grant.entities.read && grant.entities.add && !grant.entities.update);
    assert!(matches!(sent("si=p1&se=2030-01-01").with_policy("p1").code(), Ok(Authority::Table(_))));
    let account = "ss=t&srt=so&sp=ra&se=2030-01-01T00%3A00%3A00Z&sv=2019-02-02&sig=WP9mpS11VETj3f5h3Z0tYp/YnP4Y/MK4VVEsWjOjqtE%3D";
    let authority = Sent { query: account.to_owned(), ..Sent::default() }.code();
    assert!(matches!(authority, Ok(Authority::Account { .. })), "{authority:?}");
    for (query, code) in [
        ("sp=r&se=2025-01-01", "AuthenticationFailed"),
        ("sp=r&se=2030-01-01&st=2026-01-02", "AuthenticationFailed"),
        ("sp=r&se=2030-01-01&si=p1", "AuthenticationFailed"),
        ("sp=rr&se=2030-01-01", "AuthenticationFailed"),
        ("sp=r&se=2030-01-01&spr=https", "AuthorizationProtocolMismatch"),
        ("sp=r&se=2030-01-01&sip=10.0.0.1", "AuthorizationSourceIPMismatch"),
    ] {
        assert_eq!(sent(query).code(), Err((403, code)), "{query}");
    }
    let elsewhere = Sent { client: "10.0.0.1", ..sent("sp=r&se=2030-01-01&sip=10.0.0.1") };
    assert!(elsewhere.code().is_ok());
    // A header counts before them.
    let both = Sent { headers: signed("SharedKey", "AAAA"), ..sent("sp=r&se=2030-01-01") };
    assert_eq!(both.code(), Err((403, "AuthenticationFailed")));
}

#[test]
fn every_refusal_has_its_row() {
    let told = |refusal: Refusal| {
        let (failure, wrapped) = (Failure::from(refusal), failure(&refusal.into()));
        assert_eq!(failure, wrapped);
        (failure.status(), failure.code())
    };
    let rows = [
        (Refusal::Malformed("sv"), "AuthenticationFailed"),
        (Refusal::Twice("sp"), "AuthenticationFailed"),
        (Refusal::Signature, "AuthenticationFailed"),
        (Refusal::Account, "AuthenticationFailed"),
        (Refusal::Policy, "AuthenticationFailed"),
        (Refusal::NotYetValid, "AuthenticationFailed"),
        (Refusal::Expired, "AuthenticationFailed"),
        (Refusal::Protocol, "AuthorizationProtocolMismatch"),
        (Refusal::Address, "AuthorizationSourceIPMismatch"),
        (Refusal::Service, "AuthorizationServiceMismatch"),
        (Refusal::ResourceType, "AuthorizationResourceTypeMismatch"),
        (Refusal::Permission, "AuthorizationPermissionMismatch"),
        (Refusal::Action, "AuthorizationFailure"),
    ];
    for (refusal, code) in rows {
        assert_eq!(told(refusal), (403, code), "{refusal:?}");
    }
}
