//! Raw requests: what SDKs hide.

use std::time::Duration;

use rowkey_authorization::{AccountKeys, DEVELOPMENT_KEY, generate_key, parse_accounts};
use rowkey_base::testing::{Dice, Mutator};
use rowkey_sql::engine::Options;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::*;
use crate::time::http_date;
use rowkey_model::AccountName;
use rowkey_sql::engine::Engine;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use std::net::SocketAddr;
use std::sync::Arc;

mod refusals;

struct Running {
    address: SocketAddr,
    database: Arc<Engine>,
    stop: watch::Sender<bool>,
    served: JoinHandle<()>,
}

impl Running {
    async fn start() -> Self {
        Self::start_with(|_| {}).await
    }

    async fn start_with(change: impl FnOnce(&mut ServerOptions)) -> Self {
        let database = Arc::new(Engine::open(":memory:", Options::default()).await.unwrap());
        let address = SocketAddr::from(([127, 0, 0, 1], 0));
        let mut options = ServerOptions { address, ..ServerOptions::default() };
        change(&mut options);
        let server = Server::bind(Arc::clone(&database), &options).await.unwrap();
        let (stop, stopped) = watch::channel(false);
        Self { address: server.address(), database, stop, served: tokio::spawn(server.serve(stopped)) }
    }

    /// Sends bytes and reads until the server closes.
    async fn raw(&self, bytes: &[u8]) -> String {
        let mut socket = TcpStream::connect(self.address).await.unwrap();
        // The server may have answered and closed before all was sent.
        let _ = socket.write_all(bytes).await;
        let mut answer = Vec::new();
        let read = socket.read_to_end(&mut answer);
        let _ = tokio::time::timeout(Duration::from_secs(20), read).await.expect("an answer");
        String::from_utf8_lossy(&answer).into_owned()
    }

    fn request(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> String {
        self.request_of("devstoreaccount1", method, path, headers, body)
    }

    fn request_of(&self, account: &str, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> String {
        let path = format!("/{account}{path}");
        let date = http_date(self.database.clock().now());
        let signed = path.split('?').next().unwrap();
        let comp = path.split(['?', '&']).find(|option| option.starts_with("comp="));
        let comp = comp.map(|comp| format!("?{comp}")).unwrap_or_default();
        let signature = AccountKeys::development().unwrap().sign(&format!("{date}\n/devstoreaccount1{signed}{comp}"));
        let mut text = format!(
            "{method} {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nx-ms-date: {date}\r\n\
             Authorization: SharedKeyLite devstoreaccount1:{signature}\r\nContent-Length: {}\r\n",
            self.address,
            body.len()
        );
        for (name, value) in headers {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        text + "\r\n" + body
    }

    async fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> (u16, String) {
        let answer = self.raw(self.request(method, path, headers, body).as_bytes()).await;
        (status_of(&answer), answer)
    }

    async fn ask_secondary(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> (u16, String) {
        let request = self.request_of("devstoreaccount1-secondary", method, path, headers, body);
        let answer = self.raw(request.as_bytes()).await;
        (status_of(&answer), answer)
    }

    async fn status(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> u16 {
        self.ask(method, path, headers, body).await.0
    }

    async fn stop(self) {
        self.stop.send_replace(true);
        tokio::time::timeout(Duration::from_secs(10), self.served).await.expect("it stops").unwrap();
    }
}

fn status_of(answer: &str) -> u16 {
    answer.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0)
}

const ENTITY: &str = r#"{"PartitionKey":"p","RowKey":"r","N":"5","N@odata.type":"Edm.Int64"}"#;

#[tokio::test(flavor = "multi_thread")]
async fn a_table_and_an_entity_from_beginning_to_end() {
    let server = Running::start().await;
    let none = [("Prefer", "return-no-content")];
    let (status, answer) = server.ask("POST", "/Tables", &[], r#"{"TableName":"Orders"}"#).await;
    assert_eq!(status, 201, "{answer}");
    assert!(
        answer.contains("\"TableName\":\"Orders\"") && answer.contains("/devstoreaccount1/$metadata#Tables/@Element")
    );
    assert_eq!(server.status("POST", "/Tables", &none, r#"{"TableName":"orders"}"#).await, 409);
    let (status, answer) = server.ask("POST", "/Orders", &none, ENTITY).await;
    assert_eq!(status, 204, "{answer}");
    for wanted in
        ["preference-applied: return-no-content", "/Orders(PartitionKey='p',RowKey='r')", "etag: W/\"datetime'"]
    {
        assert!(answer.contains(wanted), "{wanted}: {answer}");
    }
    let (status, answer) = server.ask("POST", "/Orders", &none, ENTITY).await;
    assert_eq!(status, 409, "{answer}");
    assert!(answer.contains("\"value\":\"The specified entity already exists.\\nRequestId:"), "{answer}");
    let entity = "/Orders(PartitionKey='p',RowKey='r')";
    let (status, answer) = server.ask("GET", entity, &[("Accept", "application/json;odata=fullmetadata")], "").await;
    assert_eq!(status, 200, "{answer}");
    assert!(
        answer.contains("\"N@odata.type\":\"Edm.Int64\",\"N\":\"5\"")
            && answer.contains("\"odata.type\":\"devstoreaccount1.Orders\"")
    );
    for (method, headers, body, wanted) in [
        ("POST", &[][..], "", 405),
        ("DELETE", &[][..], "", 400),
        ("DELETE", &[("If-Match", "nonsense")][..], "", 400),
        ("PUT", &[("If-Match", "W/\"datetime'2020-01-01T00%3A00%3A00Z'\"")][..], "{}", 412),
        ("PUT", &[("If-None-Match", "*")][..], "{}", 400),
        ("POST", &[("X-HTTP-Method", "MERGE")][..], "{\"A\":1}", 204),
        ("MERGE", &[][..], "{\"B\":1}", 204),
        ("PATCH", &[][..], "{\"C\":", 400),
        ("PATCH", &[("Content-Type", "application/atom+xml")][..], "{}", 415),
        ("GET", &[("Accept", "application/atom+xml")][..], "", 415),
        ("GET", &[("x-ms-version", "yesterday")][..], "", 400),
        ("HEAD", &[][..], "", 200),
    ] {
        let (status, answer) = server.ask(method, entity, headers, body).await;
        assert_eq!(status, wanted, "{method} {headers:?}: {answer}");
    }
    for (path, wanted) in [
        ("/Orders()?$filter=N%20eq%205L%20and%20A%20eq%201", 200),
        ("/Orders()?$filter=N+eq+", 400),
        ("/Orders()?$top=1001", 400),
        ("/Orders()?$top=-1", 400),
        ("/Orders()?$orderby=N", 501),
        ("/Orders()?NextPartitionKey=x", 400),
        ("/None()", 404),
        ("/Orders('x')", 400),
        ("/Orders/$batch", 415),
        ("/Tables('None')", 404),
        ("/Tables('Orders')", 200),
        ("/Orders?comp=acl", 200),
        ("/?restype=service&comp=properties", 200),
        ("/Orders?restype=service&comp=properties", 400),
        ("/?comp=nothing", 400),
    ] {
        let (status, answer) = server.ask("GET", path, &[], "").await;
        assert_eq!(status, wanted, "{path}: {answer}");
    }
    let (_, answer) = server.ask("GET", "/Orders()?$top=0", &[], "").await;
    assert!(answer.ends_with("\"value\":[]}") && !answer.contains("x-ms-continuation"), "{answer}");
    assert_eq!(server.status("DELETE", entity, &[("If-Match", "*")], "").await, 204);
    assert_eq!(server.status("DELETE", entity, &[("If-Match", "*")], "").await, 404);
    assert_eq!(server.status("DELETE", "/Tables('ORDERS')", &[], "").await, 204);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sql_and_rest_see_each_other() {
    let server = Running::start().await;
    assert_eq!(server.status("POST", "/Tables", &[], r#"{"TableName":"Orders"}"#).await, 201);
    assert_eq!(server.status("POST", "/Orders", &[], ENTITY).await, 201);
    // A property that was never there needs no ALTER.
    let batches = server.database.sql("SELECT \"N\" FROM orders", &[]).await.unwrap().collect().await.unwrap();
    assert_eq!(batches.iter().map(|batch| batch.num_rows()).sum::<usize>(), 1);
    let update = server.database.sql("UPDATE orders SET \"N\" = 6 WHERE partitionkey = 'p'", &[]).await.unwrap();
    update.collect().await.unwrap();
    let (_, answer) = server.ask("GET", "/Orders(PartitionKey='p',RowKey='r')", &[], "").await;
    assert!(answer.contains("\"N\":\"6\""), "{answer}");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_name_the_request_and_own_paths_need_no_key() {
    let server = Running::start().await;
    let ids = [("x-ms-client-request-id", "mine 1"), ("x-ms-version", "2020-12-06")];
    let (status, answer) = server.ask("GET", "/Tables", &ids, "").await;
    assert_eq!(status, 200);
    for wanted in
        ["x-ms-client-request-id: mine 1", "x-ms-version: 2020-12-06", "x-ms-request-id: ", "cache-control: no-cache"]
    {
        assert!(answer.contains(wanted), "{wanted}: {answer}");
    }
    let plain = |path: &str, host: &str| format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    for path in ["/_rowkey/health", "/_rowkey/ready"] {
        assert!(server.raw(plain(path, "localhost").as_bytes()).await.starts_with("HTTP/1.1 200"));
        let answer = server.raw(plain(path, "evil.example").as_bytes()).await;
        assert!(answer.starts_with("HTTP/1.1 400") && answer.contains("InvalidHeaderValue"), "{answer}");
        let answer = server.raw(plain(path, "localhost").replace("GET", "PUT").as_bytes()).await;
        assert!(answer.starts_with("HTTP/1.1 405") && answer.contains("MethodNotAllowed"), "{answer}");
        assert!(answer.contains("x-ms-request-id: "), "{answer}");
        let head = server.raw(plain(path, "localhost").replace("GET", "HEAD").as_bytes()).await;
        assert!(head.starts_with("HTTP/1.1 200") && head.ends_with("\r\n\r\n"), "{head}");
    }
    let answer = server.raw(plain("/_rowkey/other", "localhost").as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 404") && answer.contains("ResourceNotFound"), "{answer}");
    for method in ["BREW", "TRACE"] {
        let (status, answer) = server.ask(method, "/Tables", &[], "").await;
        assert!(status == 405 && answer.contains("MethodNotAllowed"), "{method}: {answer}");
    }
    let answer = server.raw(plain("/devstoreaccount1/Tables", "evil.example").as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 400") && answer.contains("InvalidHeaderValue"), "{answer}");
    let answer = server.raw(plain("/devstoreaccount1/Tables", "127.0.0.1").as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 401") && answer.contains("NoAuthenticationInformation"), "{answer}");
    let answer = server.raw(b"GET /devstoreaccount1/Tables HTTP/1.0\r\n\r\n").await;
    assert!(answer.contains(" 400 ") && answer.contains("HostInformationNotPresent"), "{answer}");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_busy_server_says_so_and_other_machines_stay_out() {
    let server = Running::start_with(|options| options.requests_max = 0).await;
    let (status, answer) = server.ask("GET", "/Tables", &[], "").await;
    assert_eq!(status, 503, "{answer}");
    assert!(answer.contains("\"code\":\"ServerBusy\""));
    // Who is not let in is told so, and takes the place of nobody.
    let head = "POST /devstoreaccount1/Pets HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n";
    let answer = server.raw(format!("{head}Content-Length: 2\r\n\r\n{{}}").as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 401"), "{answer}");
    let address = SocketAddr::from(([0, 0, 0, 0], 0));
    let mut options = ServerOptions { address, ..ServerOptions::default() };
    let refused = Server::bind(Arc::clone(&server.database), &options).await.unwrap_err();
    assert!(refused.to_string().contains("no TLS"), "{refused}");
    // A certificate is of no use where everybody knows the key.
    options.tls = Some(TlsIdentity::self_signed(vec!["localhost".to_owned()]).unwrap());
    let refused = Server::bind(Arc::clone(&server.database), &options).await.unwrap_err();
    assert!(refused.to_string().contains("everybody knows"), "{refused}");
    options.accounts = parse_accounts(&format!("mine:{}", generate_key().unwrap())).unwrap();
    assert!(Server::bind(Arc::clone(&server.database), &options).await.is_ok());
    options.tls = None;
    options.is_insecure_allowed = true;
    assert!(Server::bind(Arc::clone(&server.database), &options).await.is_ok());
    options.address = server.address;
    assert!(Server::bind(Arc::clone(&server.database), &options).await.is_err());
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_that_are_exchanged_count_at_once() {
    let server = Running::start().await;
    let account = server.database.entities();
    let (first, second) = (generate_key().unwrap(), generate_key().unwrap());
    assert_eq!(server.status("GET", "/Tables", &[], "").await, 200);
    for (keys, wanted) in [
        (vec![first.clone(), second.clone()], 403),
        (vec![first.clone(), DEVELOPMENT_KEY.to_owned()], 200),
        (vec![DEVELOPMENT_KEY.to_owned(), second], 200),
        (vec![first.clone()], 403),
        (Vec::new(), 200),
    ] {
        account.set_account_keys(keys.clone()).await.unwrap();
        assert_eq!(server.status("GET", "/Tables", &[], "").await, wanted, "{keys:?}");
    }
    // Another account's keys are no keys of this one.
    let other = account.in_account(AccountName::parse("other").unwrap());
    other.set_account_keys(vec![DEVELOPMENT_KEY.to_owned()]).await.unwrap();
    assert_eq!(server.status("GET", "/Tables", &[], "").await, 403);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shared_access_signature_is_a_table_keys_and_letters() {
    let server = Running::start().await;
    for table in ["Orders", "Others"] {
        let created = server.status("POST", "/Tables", &[], &format!(r#"{{"TableName":"{table}"}}"#)).await;
        assert_eq!(created, 201);
    }
    let entity = |row: &str| format!(r#"{{"PartitionKey":"p","RowKey":"{row}"}}"#);
    for row in ["1", "2"] {
        assert_eq!(server.status("POST", "/Orders", &[], &entity(row)).await, 201);
    }
    let orders = "/table/devstoreaccount1/orders";
    let lines = ["ra", "", "8999-01-01", orders, "", "", "", "2019-02-02", "p", "2", "p", "9"];
    let signature = AccountKeys::development().unwrap().sign(&lines.join("\n"));
    let signature = signature.replace('+', "%2B").replace('=', "%3D");
    let sas = format!("sv=2019-02-02&tn=Orders&sp=ra&se=8999-01-01&spk=p&srk=2&epk=p&erk=9&sig={signature}");
    for (method, path, body, status, wanted) in [
        ("GET", "/Orders()", String::new(), 200, "\"RowKey\":\"2\""),
        ("GET", "/Orders(PartitionKey='p',RowKey='2')", String::new(), 200, "\"RowKey\":\"2\""),
        ("GET", "/Orders(PartitionKey='p',RowKey='1')", String::new(), 404, "ResourceNotFound"),
        ("POST", "/Orders", entity("3"), 201, "\"RowKey\":\"3\""),
        ("POST", "/Orders", entity("0"), 403, "AuthorizationFailure"),
        ("DELETE", "/Orders(PartitionKey='p',RowKey='2')", String::new(), 403, "AuthorizationPermissionMismatch"),
        ("GET", "/Others()", String::new(), 403, "AuthenticationFailed"),
        ("GET", "/Tables", String::new(), 403, "AuthorizationFailure"),
    ] {
        let request = format!(
            "{method} /devstoreaccount1{path}?{sas} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n{}\
             Content-Length: {}\r\n\r\n{body}",
            server.address,
            if method == "DELETE" { "If-Match: *\r\n" } else { "" },
            body.len()
        );
        let answer = server.raw(request.as_bytes()).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{method} {path}: {answer}");
        assert!(answer.contains(wanted) && !answer.contains("\"RowKey\":\"1\""), "{method} {path}: {answer}");
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_may_not_do_it_is_not_told_whether_there_is_a_table() {
    let server = Running::start().await;
    assert_eq!(server.status("POST", "/Tables", &[], r#"{"TableName":"Orders"}"#).await, 201);
    let account_sas = |permissions: &str| {
        let lines = ["devstoreaccount1", permissions, "t", "sco", "", "8999-01-01", "", "", "2019-02-02", ""];
        let signature = AccountKeys::development().unwrap().sign(&lines.join("\n"));
        let signature = signature.replace('+', "%2B").replace('=', "%3D");
        format!("sv=2019-02-02&ss=t&srt=sco&sp={permissions}&se=8999-01-01&sig={signature}")
    };
    let batch = |table: &str| {
        format!(
            "--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n--c\r\nContent-Type: application/http\r\n\r\n\
             POST http://h/devstoreaccount1/{table} HTTP/1.1\r\n\r\n{ENTITY}\r\n--c--\r\n--b--\r\n"
        )
    };
    for table in ["Orders", "None"] {
        let entity = format!("/{table}(PartitionKey='p',RowKey='r')");
        for (permissions, method, path, body) in [
            ("a", "GET", entity.clone(), String::new()),
            ("a", "GET", format!("/{table}()"), String::new()),
            ("r", "POST", format!("/{table}"), ENTITY.to_owned()),
            ("a", "PUT", entity.clone(), "{}".to_owned()),
            ("r", "DELETE", entity, String::new()),
            ("r", "DELETE", format!("/Tables('{table}')"), String::new()),
            ("r", "GET", format!("/Tables('{table}')"), String::new()),
            ("r", "POST", "/$batch".to_owned(), batch(table)),
        ] {
            let request = format!(
                "{method} /devstoreaccount1{path}?{} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{}\
                 Content-Type: {}\r\nContent-Length: {}\r\n\r\n{body}",
                account_sas(permissions),
                if method == "DELETE" { "If-Match: *\r\n" } else { "" },
                if path == "/$batch" { "multipart/mixed; boundary=b" } else { "application/json" },
                body.len()
            );
            let answer = server.raw(request.as_bytes()).await;
            let is_refused = answer.starts_with("HTTP/1.1 403") && answer.contains("AuthorizationPermissionMismatch");
            assert!(is_refused, "{method} {path}: {answer}");
        }
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn cors_rules_that_are_changed_count_at_once() {
    let server = Running::start().await;
    let origins = ["http://a", "http://b"];
    for set in origins {
        let body = format!(
            "<StorageServiceProperties><Cors><CorsRule><AllowedOrigins>{set}</AllowedOrigins><AllowedMethods>GET\
             </AllowedMethods><MaxAgeInSeconds>5</MaxAgeInSeconds><ExposedHeaders>*</ExposedHeaders><AllowedHeaders>*\
             </AllowedHeaders></CorsRule></Cors></StorageServiceProperties>"
        );
        assert_eq!(server.status("PUT", "/?restype=service&comp=properties", &[], &body).await, 202);
        // The second time they are not read again.
        for origin in origins.into_iter().chain(origins) {
            let (_, answer) = server.ask("GET", "/Tables", &[("Origin", origin)], "").await;
            let allowed = answer.contains(&format!("access-control-allow-origin: {set}\r\n"));
            assert_eq!(allowed, origin == set, "{answer}");
            // Of all headers, those that every answer has among them.
            let exposed = answer.lines().find_map(|line| line.strip_prefix("access-control-expose-headers: "));
            assert_eq!(exposed.is_some_and(|names| names.contains("x-ms-request-id")), allowed, "{answer}");
        }
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_has_its_length_told() {
    let server = Running::start().await;
    let told = server.request("POST", "/Tables", &[], "");
    assert!(told.contains("Content-Length: 0\r\n"), "{told}");
    assert!(server.raw(told.as_bytes()).await.starts_with("HTTP/1.1 400"));
    let untold = told.replace("Content-Length: 0\r\n", "");
    let answer = server.raw(untold.as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 411") && answer.contains("MissingContentLengthHeader"), "{answer}");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn over_tls_locations_are_https() {
    let identity = TlsIdentity::self_signed(vec!["localhost".to_owned()]).unwrap();
    let pem = identity.certificate().unwrap().to_owned();
    let server = Running::start_with(|options| options.tls = Some(identity)).await;
    let mut roots = rustls::RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(pem.as_bytes()).unwrap()).unwrap();
    let config = rustls::ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let socket = TcpStream::connect(server.address).await.unwrap();
    let connector = tokio_rustls::TlsConnector::from(Arc::new(config));
    let mut socket = connector.connect("localhost".try_into().unwrap(), socket).await.unwrap();
    let request = server.request("POST", "/Tables", &[("Prefer", "return-no-content")], r#"{"TableName":"Orders"}"#);
    socket.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    // The server closes without saying so in TLS.
    let _ = socket.read_to_end(&mut answer).await;
    let answer = String::from_utf8_lossy(&answer);
    assert!(answer.starts_with("HTTP/1.1 204") && answer.contains("location: https://"), "{answer}");
    // What is not TLS gets no answer.
    assert_eq!(server.raw(b"GET / HTTP/1.1\r\n\r\n").await.find("HTTP"), None);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn large_and_broken_bodies_leave_the_server_alive() {
    let server = Running::start().await;
    assert_eq!(server.status("POST", "/Tables", &[], r#"{"TableName":"Orders"}"#).await, 201);
    let large = format!("{{\"PartitionKey\":\"{}\"}}", "x".repeat(5 << 20));
    let (status, answer) = server.ask("POST", "/Orders", &[], &large).await;
    assert_eq!(status, 413, "{answer}");
    // A client that goes before its body has come.
    let head = server.request("POST", "/Orders", &[], "").replace("Content-Length: 0", "Content-Length: 100");
    let mut socket = TcpStream::connect(server.address).await.unwrap();
    socket.write_all(head.as_bytes()).await.unwrap();
    drop(socket);
    let long = format!("/Orders()?$filter={}", "a%20eq%201%20or%20".repeat(3000) + "a");
    assert_eq!(server.status("GET", &long, &[], "").await, 200);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_sends_no_more_is_answered() {
    let server = Running::start().await;
    let requests = [
        server.request("POST", "/Tables", &[], r#"{"TableName":"Orders"}"#),
        server.request("POST", "/Orders", &[], ENTITY).replace("Connection: close\r\n", ""),
        server.request("GET", "/Orders()", &[], ""),
    ];
    for request in requests {
        let mut socket = TcpStream::connect(server.address).await.unwrap();
        socket.write_all(request.as_bytes()).await.unwrap();
        socket.shutdown().await.unwrap();
        let mut answer = String::new();
        let read = tokio::time::timeout(Duration::from_secs(20), socket.read_to_string(&mut answer));
        read.await.expect("the server closes").unwrap();
        assert!(answer.starts_with("HTTP/1.1 20"), "{request}\n{answer}");
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn garbage_is_answered_with_an_error() {
    let server = Running::start().await;
    assert_eq!(server.status("POST", "/Tables", &[], r#"{"TableName":"Orders"}"#).await, 201);
    let batch = "--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n--c\r\nContent-Type: application/http\r\n\r\n\
        POST http://h/devstoreaccount1/Orders HTTP/1.1\r\n\r\n{\"PartitionKey\":\"p\",\"RowKey\":\"r\"}\r\n--c--\r\n--b--\r\n";
    let seeds: Vec<Vec<u8>> = [
        server.request("POST", "/Orders", &[("Prefer", "return-no-content")], ENTITY),
        server.request("GET", "/Orders()?$filter=PartitionKey%20eq%20'p'%20and%20not%20(N%20gt%205L)&$top=5", &[], ""),
        server.request("POST", "/$batch", &[("Content-Type", "multipart/mixed; boundary=b")], batch),
        server.request(
            "PUT",
            "/Orders?comp=acl",
            &[],
            "<SignedIdentifiers><SignedIdentifier><Id>1</Id></SignedIdentifier></SignedIdentifiers>",
        ),
        server.request("PATCH", "/Orders(PartitionKey='p',RowKey='r')", &[("If-Match", "*")], "{\"A\":1.5}"),
    ]
    .into_iter()
    .map(String::into_bytes)
    .collect();
    let tokens: [&[u8]; 8] = [b"\r\n", b"%", b"'", b"(", b"--", b"\0", b"Content-Length: 99999999999", b"$filter="];
    let mutator = Mutator::new(&seeds, &tokens);
    let mut dice = Dice(10002);
    let is_long = std::env::var("ROWKEY_TEST_ROBUSTNESS").is_ok_and(|wanted| wanted == "long");
    for _ in 0..if is_long { 10_000 } else { 300 } {
        let bytes = mutator.next(&mut dice);
        let mut socket = TcpStream::connect(server.address).await.unwrap();
        let _ = socket.write_all(&bytes).await;
        // Without more to come, or the server would wait for it.
        let _ = socket.shutdown().await;
        let mut answer = Vec::new();
        let read = tokio::time::timeout(Duration::from_secs(20), socket.read_to_end(&mut answer)).await;
        let shown = String::from_utf8_lossy(&bytes).into_owned();
        let _ = read.unwrap_or_else(|_| panic!("no end to {shown}"));
        let answer = String::from_utf8_lossy(&answer);
        assert!(!answer.starts_with("HTTP/1.1 500"), "{shown}\n{answer}");
    }
    assert_eq!(server.status("GET", "/Tables", &[], "").await, 200);
    server.stop().await;
}
