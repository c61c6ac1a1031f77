//! What is refused, and in which words.

use rowkey_authorization::AccountKeys;

use super::{ENTITY, Running};

const BATCH: (&str, &str) = ("Content-Type", "multipart/mixed; boundary=b");

/// A batch of these requests, each from its line on.
fn batch(requests: &[&str]) -> String {
    let parts = requests.iter().map(|request| format!("--c\r\nContent-Type: application/http\r\n\r\n{request}\r\n"));
    let parts: String = parts.collect();
    format!("--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n{parts}--c--\r\n--b--\r\n")
}

async fn with_orders() -> Running {
    let server = Running::start().await;
    assert_eq!(server.status("POST", "/Tables", &[], r#"{"TableName":"Orders"}"#).await, 201);
    server
}

#[tokio::test(flavor = "multi_thread")]
async fn the_conflict_of_an_insert_in_a_batch_says_what_was_preferred() {
    let server = with_orders().await;
    assert_eq!(server.status("POST", "/Orders", &[], ENTITY).await, 201);
    let insert = |prefer: &str| {
        let head = "POST http://h/devstoreaccount1/Orders HTTP/1.1";
        batch(&[&format!("{head}\r\n{prefer}Content-Type: application/json\r\n\r\n{ENTITY}")])
    };
    for (prefer, wanted) in [
        ("", None),
        ("Prefer: return-no-content\r\n", Some("return-no-content")),
        ("Prefer: return-content\r\n", Some("return-content")),
    ] {
        let (status, answer) = server.ask("POST", "/$batch", &[BATCH], &insert(prefer)).await;
        assert!(status == 202 && answer.contains("HTTP/1.1 409 Conflict"), "{answer}");
        let applied = answer.lines().find_map(|line| line.strip_prefix("Preference-Applied: "));
        assert_eq!(applied, wanted, "{answer}");
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_that_are_null_and_members_that_come_twice() {
    let server = with_orders().await;
    let entity = "/Orders(PartitionKey='p',RowKey='r')";
    for (method, path, body, status, wanted) in [
        ("POST", "/Orders", r#"{"PartitionKey":null,"RowKey":"r"}"#, 400, "PropertiesNeedValue"),
        ("POST", "/Orders", r#"{"PartitionKey":"p"}"#, 400, "PropertiesNeedValue"),
        ("POST", "/Orders", r#"{"PartitionKey":"p","RowKey":"r","x":1,"x":null}"#, 400, "DuplicatePropertiesSpecified"),
        ("POST", "/Orders", r#"{"PartitionKey":"p","RowKey":"r","x":1,"x":1}"#, 400, "DuplicatePropertiesSpecified"),
        // The URL names the key.
        ("PUT", entity, r#"{"PartitionKey":null,"RowKey":null,"x":1}"#, 204, ""),
        ("PATCH", entity, r#"{"x":null,"x":null}"#, 400, "DuplicatePropertiesSpecified"),
    ] {
        let (given, answer) = server.ask(method, path, &[], body).await;
        assert!(given == status && answer.contains(wanted), "{method} {body}: {answer}");
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_selection_of_the_etag_writes_it_once() {
    let server = with_orders().await;
    assert_eq!(server.status("POST", "/Orders", &[], ENTITY).await, 201);
    for path in ["/Orders()", "/Orders(PartitionKey='p',RowKey='r')"] {
        for (level, times) in [("nometadata", 0), ("minimalmetadata", 1), ("fullmetadata", 1)] {
            let accept = format!("application/json;odata={level}");
            let (_, answer) =
                server.ask("GET", &format!("{path}?$select=odata.etag,N"), &[("Accept", &accept)], "").await;
            assert_eq!(answer.matches("\"odata.etag\":").count(), times, "{answer}");
            assert!(answer.contains("\"N\":\"5\""), "{answer}");
        }
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn etags_and_versions_that_are_none() {
    let server = with_orders().await;
    assert_eq!(server.status("POST", "/Orders", &[], ENTITY).await, 201);
    let entity = "/Orders(PartitionKey='p',RowKey='r')";
    let any = ("If-Match", "*");
    let text = "The etag value '*, *' specified in one of the request headers is not valid.";
    for (method, body) in [("PUT", "{}"), ("PATCH", "{}"), ("DELETE", "")] {
        let (status, answer) = server.ask(method, entity, &[any, any], body).await;
        assert!(status == 400 && answer.contains("InvalidInput") && answer.contains(text), "{method}: {answer}");
    }
    let version = |version| ("x-ms-version", version);
    for (headers, query, wanted) in [
        (&[version("yesterday")][..], "", "InvalidHeaderValue"),
        (&[version("2019-13-01")][..], "", "InvalidHeaderValue"),
        (&[version("")][..], "", "InvalidHeaderValue"),
        (&[version("2019-02-02"), version("2020-12-06")][..], "", "InvalidHeaderValue"),
        (&[][..], "?api-version=none", "InvalidQueryParameterValue"),
        (&[version("2031-02-03")][..], "", ""),
        (&[][..], "?api-version=2020-12-06", ""),
    ] {
        let (status, answer) = server.ask("GET", &format!("/Orders(){query}"), headers, "").await;
        assert_eq!(status, if wanted.is_empty() { 200 } else { 400 }, "{headers:?} {query}: {answer}");
        assert!(answer.contains(wanted), "{headers:?} {query}: {answer}");
        let echoed = if headers == [version("2031-02-03")] { "x-ms-version: 2031-02-03" } else { "x-ms-version: 20" };
        assert!(answer.contains(echoed), "{answer}");
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_secondary_is_for_reading() {
    let server = with_orders().await;
    assert_eq!(server.status("POST", "/Orders", &[], ENTITY).await, 201);
    let refused = |answer: &str| {
        answer.starts_with("HTTP/1.1 403")
            && answer.contains("InsufficientAccountPermissions")
            && answer.contains("Write operations are not allowed.")
    };
    let insert = |account: &str| {
        let entity = ENTITY.replace("\"r\"", "\"new\"");
        batch(&[&format!("POST http://h/{account}/Orders HTTP/1.1\r\nContent-Type: application/json\r\n\r\n{entity}")])
    };
    let query = |account: &str| {
        let entity = format!("http://h/{account}/Orders(PartitionKey='p',RowKey='r')");
        format!("--b\r\nContent-Type: application/http\r\n\r\nGET {entity} HTTP/1.1\r\n\r\n--b--\r\n")
    };
    let (_, answer) = server.ask("POST", "/$batch", &[BATCH], &insert("devstoreaccount1-secondary")).await;
    assert!(refused(&answer), "{answer}");
    for account in ["devstoreaccount1", "devstoreaccount1-secondary"] {
        let (_, answer) = server.ask_secondary("POST", "/$batch", &[BATCH], &insert(account)).await;
        assert!(refused(&answer), "{account}: {answer}");
        let (status, answer) = server.ask_secondary("POST", "/$batch", &[BATCH], &query(account)).await;
        assert!(status == 202 && answer.contains("HTTP/1.1 200 OK"), "{account}: {answer}");
    }
    let (_, answer) = server.ask_secondary("POST", "/Orders", &[], ENTITY).await;
    assert!(refused(&answer), "{answer}");
    let (status, answer) = server.ask_secondary("GET", "/Orders()", &[], "").await;
    assert!(status == 200 && !answer.contains("\"new\""), "{answer}");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_take_no_longer_than_they_say() {
    let server = with_orders().await;
    for (timeout, wanted) in [("30", 200), ("90", 200), ("0", 200), ("", 200), ("-1", 400), ("soon", 400)] {
        let (status, answer) = server.ask("GET", &format!("/Orders()?timeout={timeout}"), &[], "").await;
        assert_eq!(status, wanted, "{timeout}: {answer}");
        assert_eq!(answer.contains("InvalidQueryParameterValue"), wanted == 400, "{answer}");
    }
    // A body that does not come.
    let request =
        server.request("POST", "/Orders?timeout=1", &[], "").replace("Content-Length: 0", "Content-Length: 9");
    let answer = server.raw(request.as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 500") && answer.contains("OperationTimedOut"), "{answer}");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_that_is_a_query_needs_the_permission_to_read() {
    let server = with_orders().await;
    let lines = ["devstoreaccount1", "a", "t", "o", "", "8999-01-01", "", "", "2019-02-02", ""];
    let signature = AccountKeys::development().unwrap().sign(&lines.join("\n"));
    let signature = signature.replace('+', "%2B").replace('=', "%3D");
    let sas = format!("sv=2019-02-02&ss=t&srt=o&sp=a&se=8999-01-01&sig={signature}");
    let get = "GET http://h/devstoreaccount1/Orders() HTTP/1.1";
    let body = format!("--b\r\nContent-Type: application/http\r\n\r\n{get}\r\n\r\n--b--\r\n");
    let request = format!(
        "POST /devstoreaccount1/$batch?{sas} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
         {}: {}\r\nContent-Length: {}\r\n\r\n{body}",
        BATCH.0,
        BATCH.1,
        body.len()
    );
    let answer = server.raw(request.as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 403") && answer.contains("AuthorizationPermissionMismatch"), "{answer}");
    server.stop().await;
}
