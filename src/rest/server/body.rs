//! Reading the body of a request, bounded in size and time.

use std::time::Duration;

use axum::body::{Body, HttpBody};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::{Bytes, BytesMut};
use futures::StreamExt;
use md5::{Digest, Md5};

use crate::errors::Failure;

/// Largest body (specification, section 1.3).
const BODY_BYTES_MAX: usize = 4 << 20;
/// What is read of a larger one, so that the client comes to read the answer.
const DISCARDED_BYTES_MAX: usize = 64 << 20;
const BODY_DURATION_MAX: Duration = Duration::from_secs(30);
/// How long the body of a request that is refused anyway is waited for.
const DISCARDED_DURATION_MAX: Duration = Duration::from_secs(5);

pub(super) async fn read(body: Body) -> Result<Bytes, Failure> {
    // What says that it is so long is not waited for.
    if body.size_hint().lower() > DISCARDED_BYTES_MAX as u64 {
        return Err(Failure::body_too_large());
    }
    read_within(BODY_DURATION_MAX, body).await
}

/// Compares a body with its Content-MD5 (specification, section 6.3).
pub(super) fn verify(body: &[u8], content_md5: Option<&str>) -> Result<(), Failure> {
    let Some(expected) = content_md5 else { return Ok(()) };
    let expected = STANDARD.decode(expected.trim()).ok().filter(|digest| digest.len() == Md5::output_size());
    match expected {
        None => Err(Failure::invalid_md5()),
        Some(expected) if *expected != Md5::digest(body)[..] => Err(Failure::md5_mismatch()),
        Some(_) => Ok(()),
    }
}

/// Reads a body and keeps nothing of it.
pub(super) async fn discard(body: Body) {
    let mut bytes = 0;
    let mut chunks = body.into_data_stream();
    let discarded = async {
        while let Some(Ok(chunk)) = chunks.next().await {
            bytes += chunk.len();
            if bytes > DISCARDED_BYTES_MAX {
                break;
            }
        }
    };
    // What has not come by then is not worth waiting for.
    let _late = tokio::time::timeout(DISCARDED_DURATION_MAX, discarded).await;
}

async fn read_within(duration: Duration, body: Body) -> Result<Bytes, Failure> {
    match tokio::time::timeout(duration, read_all(body)).await {
        Ok(read) => read,
        Err(_) => Err(Failure::timed_out(408)),
    }
}

async fn read_all(body: Body) -> Result<Bytes, Failure> {
    let mut chunks = body.into_data_stream();
    let (mut read, mut bytes) = (BytesMut::new(), 0usize);
    while let Some(chunk) = chunks.next().await {
        // The client is gone, or its framing is wrong.
        let chunk = chunk.map_err(|_| Failure::not_valid())?;
        bytes += chunk.len();
        if bytes <= BODY_BYTES_MAX {
            read.extend_from_slice(&chunk);
        } else {
            read = BytesMut::new();
        }
        if bytes > DISCARDED_BYTES_MAX {
            break;
        }
    }
    if bytes > BODY_BYTES_MAX { Err(Failure::body_too_large()) } else { Ok(read.freeze()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_what_its_digest_says() {
        let code = |content_md5| verify(b"text", content_md5).err().map(|failure| (failure.status(), failure.code()));
        assert_eq!(code(None), None);
        assert_eq!(code(Some("HLJR7A1WjeapKbUgxK7Y0Q==")), None);
        assert_eq!(code(Some("HLJHVKadkGJhl3nYSiYb3Q==")), Some((400, "Md5Mismatch")));
        for malformed in ["", "text", "dGV4dA=="] {
            assert_eq!(code(Some(malformed)), Some((400, "InvalidMd5")), "{malformed}");
        }
    }

    #[tokio::test]
    async fn bodies_are_bounded() {
        assert_eq!(read(Body::from("text")).await.unwrap(), "text");
        assert_eq!(read(Body::from(vec![0; BODY_BYTES_MAX])).await.unwrap().len(), BODY_BYTES_MAX);
        assert_eq!(read(Body::from(vec![0; BODY_BYTES_MAX + 1])).await.unwrap_err().status(), 413);
        let endless = futures::stream::repeat_with(|| Ok::<_, std::io::Error>(Bytes::from(vec![0; 1 << 20])));
        assert_eq!(read(Body::from_stream(endless)).await.unwrap_err().status(), 413);
        let broken = futures::stream::iter([Err::<Bytes, _>(std::io::Error::other("reset"))]);
        assert_eq!(read(Body::from_stream(broken)).await.unwrap_err().status(), 400);
    }

    #[tokio::test]
    async fn a_body_that_does_not_come_times_out() {
        let silent = futures::stream::pending::<std::io::Result<Bytes>>();
        assert_eq!(read_within(Duration::from_millis(10), Body::from_stream(silent)).await.unwrap_err().status(), 408);
    }
}
