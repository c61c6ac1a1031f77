//! Where `rowkey serve` serves the Table service, and where not.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::time::Duration;

use super::server::Server;
use super::wire::Client;
use crate::server_process::ServerProcess;
use rowkey_base::testing::Scratch;

const PATIENCE: Duration = Duration::from_secs(20);

struct Serving(ServerProcess);

impl Serving {
    fn start(arguments: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_rowkey"));
        command.args(["serve", "--data", ":memory:", "--pg", "127.0.0.1:0"]).args(arguments);
        command.env_remove("ROWKEY_ACCOUNTS").stderr(Stdio::piped());
        Self(ServerProcess::start(&mut command).expect("it starts"))
    }

    /// Host and port of the Table service.
    fn rest(&self) -> Option<&str> {
        let line = self.0.announced.iter().find(|line| line.contains("SDKs"))?;
        line.trim().split("//").nth(1)?.split('/').next()
    }

    /// Ends it and gives what it said on standard error.
    fn end(mut self) -> String {
        let process = &mut self.0.process;
        process.kill().expect("it runs");
        let mut said = String::new();
        process.stderr.take().expect("piped").read_to_string(&mut said).expect("text");
        said
    }
}

fn get(address: &str, path: &str) -> String {
    let mut socket = TcpStream::connect(address).expect("it listens");
    write!(socket, "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").expect("sent");
    let mut answer = String::new();
    socket.read_to_string(&mut answer).expect("an answer");
    answer
}

#[test]
fn it_is_served_beside_postgres_and_logs_requests() {
    let serving = Serving::start(&["--rest", "127.0.0.1:0", "--log-requests", "json"]);
    let address = serving.rest().expect("an address").to_owned();
    assert!(get(&address, "/_rowkey/ready").starts_with("HTTP/1.1 200"));
    let answer = get(&address, "/devstoreaccount1/Tables?sig=secret");
    assert!(answer.starts_with("HTTP/1.1 403"), "{answer}");
    let (_, port) = serving.0.address().rsplit_once(':').expect("an address");
    let mut client = Client::connect(port.parse().expect("a port"), &[]);
    client.ask("select 42");
    assert_eq!(client.ask("select nothing").code(), "42703");
    let said = serving.end();
    for (statement, code) in [("select 42", "00000"), ("select nothing", "42703")] {
        let of_it = |line: &&str| line.contains(&format!("\"statement\":\"{statement}\""));
        let line = said.lines().find(of_it).unwrap_or_else(|| panic!("{said}"));
        assert!(line.contains(&format!("\"sqlstate\":\"{code}\"")) && line.contains("\"micros\":"), "{line}");
    }
    let line = said.lines().find(|line| line.contains("\"status\":403")).unwrap_or_else(|| panic!("{said}"));
    let id = answer.split("x-ms-request-id: ").nth(1).and_then(|rest| rest.split("\r\n").next()).expect("an id");
    assert!(line.contains(id) && line.contains("/devstoreaccount1/Tables") && !line.contains("secret"), "{line}");
}

#[test]
fn plans_of_slow_statements_are_logged_without_being_asked_for_requests() {
    let serving = Serving::start(&[]);
    let (_, port) = serving.0.address().rsplit_once(':').expect("an address");
    let mut client = Client::connect(port.parse().expect("a port"), &[]);
    assert_eq!(client.ask("set rowkey.log_plans_longer_than = 'soon'").code(), "22023");
    client.ask("create table logged (n int)");
    client.ask("select 'before'");
    client.ask("set rowkey.log_plans_longer_than = 0");
    client.ask("select count(*) filter (where x % 7 = 0) from generate_series(1, 100000) x");
    client.ask("insert into logged (partitionkey, rowkey, n) select 'p', x::text, x from generate_series(1, 20) x");
    client.ask("update logged set n = n + 1 where n < 5");
    client.ask("set rowkey.log_plans_longer_than = '1h'");
    client.ask("select 'quick'");
    assert_eq!(client.ask("select sum(n) from logged").rows, [[Some("214".to_owned())]]);
    let said = serving.end();
    for line in [
        "statement=\"select count(*) filter",
        "Aggregate",
        "Function Scan",
        "(actual time=",
        "Insert on logged",
        "Rows Affected: 20",
        "Update on logged",
        "Rows Affected: 4",
        "residual filter: (n < 5)",
        "Execution Time:",
    ] {
        assert!(said.contains(line), "{line} in {said}");
    }
    assert!(!said.contains("'before'") && !said.contains("'quick'") && !said.contains("Rolled Back"), "{said}");
}

#[test]
fn a_port_that_is_taken_is_a_warning_by_default_and_an_error_where_it_was_named() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("an address").to_string();
    let ended = Server::run(&["serve", "--data", ":memory:", "--pg", "127.0.0.1:0", "--rest", &address], PATIENCE);
    assert!(!ended.status.success() && ended.said.contains(&address), "{}", ended.said);
    // Another program may have it already.
    let _default = TcpListener::bind("127.0.0.1:10002");
    let serving = Serving::start(&[]);
    assert_eq!(serving.rest(), None, "{:?}", serving.0.announced);
    let said = serving.end();
    assert!(said.contains("warning: the Table service is left out"), "{said}");
    let off = Serving::start(&["--rest", "off"]);
    assert_eq!(off.rest(), None);
    assert_eq!(off.end(), "");
}

#[test]
fn other_machines_are_let_in_only_where_that_is_said() {
    let serve = |more: &[&str]| {
        let arguments = ["serve", "--data", ":memory:", "--pg", "127.0.0.1:0", "--rest", "0.0.0.0:0"];
        Server::run(&[&arguments[..], more].concat(), PATIENCE)
    };
    assert!(serve(&[]).said.contains("there is no TLS"));
    let scratch = Scratch::new("rest-tls").expect("a folder");
    let certificate = scratch.path().join("rest.pem");
    let said = serve(&["--tls-self-signed", certificate.to_str().expect("text")]).said;
    assert!(said.contains("everybody knows the key"), "{said}");
    let both = serve(&["--tls-cert", "a.pem"]);
    assert_eq!(both.status.code(), Some(2), "{}", both.said);
    let missing = serve(&["--tls-cert", "a.pem", "--tls-key", "b.pem"]);
    assert!(missing.said.contains("cannot read a.pem"), "{}", missing.said);
    let insecure = Serving::start(&["--rest", "0.0.0.0:0", "--insecure"]);
    assert!(insecure.rest().is_some());
}

#[test]
fn accounts_get_keys_of_their_own() {
    let scratch = Scratch::new("rest-accounts").expect("a folder");
    let data = scratch.path().join("data");
    let account = |arguments: &[&str]| {
        let ran = Command::new(env!("CARGO_BIN_EXE_rowkey"))
            .arg("account")
            .args(arguments)
            .args(["--data", data.to_str().expect("text")])
            .output()
            .expect("the program runs");
        let said = String::from_utf8_lossy(&ran.stderr).into_owned();
        if ran.status.success() { Ok(String::from_utf8_lossy(&ran.stdout).trim().to_owned()) } else { Err(said) }
    };
    let connection = account(&["add", "contoso"]).expect("added");
    let key = connection.split("AccountKey=").nth(1).and_then(|rest| rest.split(';').next()).expect("a key");
    assert_eq!(key.len(), 88, "{connection}");
    assert_eq!(account(&["list"]).expect("listed"), "contoso");
    let listed = account(&["list", "--keys"]).expect("listed");
    assert!(listed.starts_with(&format!("contoso {key} ")) && listed.len() == "contoso".len() + 2 * 89, "{listed}");
    let rotated = account(&["rotate", "contoso"]).expect("rotated");
    assert!(
        rotated != key && account(&["list", "--keys"]).expect("listed").starts_with(&format!("contoso {rotated} "))
    );
    assert!(account(&["add", "contoso"]).expect_err("twice").contains("has keys"));
    assert!(account(&["rotate", "other"]).expect_err("unknown").contains("has no keys"));
    account(&["remove", "contoso"]).expect("removed");
    assert_eq!(account(&["list"]).expect("listed"), "");
}
