use rowkey_formats::entity_json::MetadataLevel;
use rowkey_model::Key;

use super::request::{Batch, Part, read};
use super::*;
use crate::address::{Address, Resource};
use crate::errors::{ErrorForm, Failure, reply};
use crate::reply::Reply;

const TYPE: &str = "multipart/mixed; boundary=batch_1";

fn address() -> Address {
    Address::parse("127.0.0.1", "/acct/$batch").unwrap()
}

fn parts(body: &str) -> Vec<Part<'_>> {
    match read(TYPE, body.as_bytes()) {
        Ok(Batch::ChangeSet(parts)) => parts,
        other => panic!("{other:?}"),
    }
}

/// As the SDK for JavaScript writes it: lower-case names, and blank lines where others have none.
const JAVASCRIPT: &str = "--batch_1\r\ncontent-type: multipart/mixed; boundary=changeset_2\r\n\r\n\r\n\
    --changeset_2\r\ncontent-type: application/http\r\ncontent-transfer-encoding: binary\r\n\r\n\
    POST http://127.0.0.1:10002/acct/Orders HTTP/1.1\r\naccept: application/json;odata=nometadata\r\n\
    prefer: return-no-content\r\ncontent-type: application/json;odata=nometadata\r\n\r\n\r\n\
    {\"PartitionKey\":\"p\",\"RowKey\":\"1\",\"v\":\"100%25\"}\r\n\
    --changeset_2\r\ncontent-type: application/http\r\ncontent-transfer-encoding: binary\r\n\r\n\
    DELETE http://127.0.0.1:10002/acct/Orders(PartitionKey='p',RowKey='O''2 3') HTTP/1.1\r\nif-match: *\r\n\r\n\r\n\
    --changeset_2--\r\n--batch_1--\r\n";

/// As the SDK for Python writes it: Content-ID of the part, lengths and dates inside.
const PYTHON: &str = "--batch_1\r\nContent-Type: multipart/mixed; boundary=changeset_2\r\n\r\n\
    --changeset_2\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\nContent-ID: 0\r\n\r\n\
    PATCH /acct/Orders(PartitionKey=%27p%27,RowKey=%271%27)?$format=application%2Fjson HTTP/1.1\r\n\
    x-ms-version: 2019-02-02\r\nContent-Length: 10\r\nIf-Match: *\r\nContent-ID: 7\r\n\r\n{\"a\": 1}\r\n\
    --changeset_2--\r\n\r\n--batch_1--\r\n";

#[test]
fn change_sets_of_sdks() {
    let found: Vec<_> = parts(JAVASCRIPT).iter().map(|part| part.to_request(&address()).unwrap()).collect();
    let [(insert, None), (delete, None)] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!((insert.method.as_str(), &insert.resource), ("POST", &Resource::Entities("Orders".to_owned())));
    assert_eq!(insert.body, "{\"PartitionKey\":\"p\",\"RowKey\":\"1\",\"v\":\"100%25\"}");
    assert_eq!(insert.headers.get("prefer"), Some("return-no-content"));
    assert_eq!(delete.resource, Resource::Entity("Orders".to_owned(), Key::new("p", "O'2 3")));
    assert_eq!((delete.headers.get("if-match"), delete.body.len()), (Some("*"), 0));

    for body in
        [PYTHON.to_owned(), PYTHON.replace("\r\n", "\n"), PYTHON.trim_end().trim_end_matches("--batch_1--").to_owned()]
    {
        let (merge, id) = parts(&body)[0].to_request(&address()).unwrap();
        assert_eq!(
            (merge.method.as_str(), merge.body.as_ref(), id.as_deref()),
            ("PATCH", &b"{\"a\": 1}"[..], Some("7"))
        );
        assert_eq!(merge.resource, Resource::Entity("Orders".to_owned(), Key::new("p", "1")));
        assert_eq!(merge.options.get("$format"), Some("application/json"));
    }
}

#[test]
fn queries_and_what_is_no_batch() {
    let query = "--batch_1\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n\
        GET http://host/acct/Orders(PartitionKey='p',RowKey='r') HTTP/1.1\r\nAccept: application/json\r\n\r\n--batch_1--\r\n";
    let Ok(Batch::Query(part)) = read(TYPE, query.as_bytes()) else { panic!() };
    assert_eq!(part.to_request(&address()).unwrap().0.method, "GET");
    let two = PYTHON.replace("\r\n--batch_1--", &format!("\r\n{}", PYTHON.trim_start()));
    for (kind, body) in [
        (TYPE, ""),
        (TYPE, "--batch_1--"),
        (TYPE, "--batch_1\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n--c--\r\n--batch_1--"),
        (TYPE, "--batch_1\r\nContent-Type: text/plain\r\n\r\nx\r\n--batch_1--"),
        (TYPE, two.as_str()),
        ("application/json", PYTHON),
        ("multipart/mixed", PYTHON),
    ] {
        assert_eq!(read(kind, body.as_bytes()).map_err(|failure| failure.code()).err(), Some("InvalidInput"), "{body}");
    }
    let bad = parts(
        "--batch_1\nContent-Type: multipart/mixed; boundary=c\n\n--c\nx: y\n\nGET\n--c\n\n\n--c\n\nPUT /a b\n--c--\n--batch_1--",
    );
    assert!(bad.iter().all(|part| part.to_request(&address()).is_err()));
}

#[test]
fn answers_are_the_services_byte_for_byte() {
    let written = Reply::odata(204).with("DataServiceVersion", "1.0;").with("ETag", "W/\"e\"");
    let reply = answer::change_set(&[written], "x");
    assert_eq!(
        reply.headers().last().map(|(_, value)| value.as_str()),
        Some("multipart/mixed; boundary=batchresponse_x")
    );
    let wanted = "--batchresponse_x\r\nContent-Type: multipart/mixed; boundary=changesetresponse_x\r\n\r\n\
        --changesetresponse_x\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n\
        HTTP/1.1 204 No Content\r\nX-Content-Type-Options: nosniff\r\nCache-Control: no-cache\r\n\
        DataServiceVersion: 1.0;\r\nETag: W/\"e\"\r\n\r\n\r\n--changesetresponse_x--\r\n--batchresponse_x--\r\n";
    assert_eq!(std::str::from_utf8(reply.body()), Ok(wanted));
}

#[test]
fn what_is_tried_again_is_the_answer_of_the_whole_request() {
    assert!([Failure::busy(), Failure::timed_out(500), Failure::permission()].iter().all(failures::is_of_all));
    let of_a_part = [Failure::table_not_found(), Failure::not_implemented(), Failure::body_too_large()];
    assert!(!of_a_part.iter().any(failures::is_of_all));
}

#[test]
fn a_failure_is_the_only_part_and_names_its_operation() {
    let now = rowkey_base::DateTime::from_ticks(0);
    let failure = Failure::new(409, "EntityAlreadyExists", "The specified entity already exists.").at_operation(2);
    let told = reply(&failure, ErrorForm::Json(MetadataLevel::Minimal), "id", now);
    let body = answer::change_set(&[told], "x").into_body();
    let body = String::from_utf8(body).unwrap();
    assert!(body.contains("HTTP/1.1 409 Conflict\r\n"), "{body}");
    assert!(body.contains("\"value\":\"2:The specified entity already exists.\\n"), "{body}");
    assert!(body.ends_with("}}}\r\n--changesetresponse_x--\r\n--batchresponse_x--\r\n"), "{body}");
}
