//! The bytes of an answer (sections 3.3 and 3.4): clients search them with patterns, so the layout
//! is the service's byte for byte.

use crate::reply::{Reply, reason};

/// The answers to the operations of a change set, in a part of their own.
pub(super) fn change_set(replies: &[Reply], id: &str) -> Reply {
    let mut body =
        format!("--batchresponse_{id}\r\nContent-Type: multipart/mixed; boundary=changesetresponse_{id}\r\n\r\n")
            .into_bytes();
    for reply in replies {
        push(&mut body, &format!("--changesetresponse_{id}\r\n"));
        push_part(&mut body, reply);
    }
    push(&mut body, &format!("--changesetresponse_{id}--\r\n--batchresponse_{id}--\r\n"));
    around(body, id)
}

/// The answer to a query, without a change set around it.
pub(super) fn query(reply: &Reply, id: &str) -> Reply {
    let mut body = format!("--batchresponse_{id}\r\n").into_bytes();
    push_part(&mut body, reply);
    push(&mut body, &format!("--batchresponse_{id}--\r\n"));
    around(body, id)
}

fn around(body: Vec<u8>, id: &str) -> Reply {
    Reply::odata(202).with_body(format!("multipart/mixed; boundary=batchresponse_{id}"), body)
}

fn push_part(body: &mut Vec<u8>, reply: &Reply) {
    push(body, "Content-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n");
    push(body, &format!("HTTP/1.1 {} {}\r\n", reply.status(), reason(reply.status())));
    for (name, value) in reply.headers() {
        push(body, &format!("{name}: {value}\r\n"));
    }
    push(body, "\r\n");
    body.extend_from_slice(reply.body());
    push(body, "\r\n");
}

fn push(body: &mut Vec<u8>, text: &str) {
    body.extend_from_slice(text.as_bytes());
}
