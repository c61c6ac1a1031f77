//! Reading the body of a request, bounded in size and time.

use std::time::Duration;

use axum::body::{Body, HttpBody};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::{Bytes, BytesMut};
use futures::StreamExt;
use md5::{Digest, Md5};
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::errors::Failure;

/// Largest body (specification, section 1.3).
const BODY_BYTES_MAX: usize = 4 << 20;
/// What is read of a larger one, so that the client comes to read the answer.
const DISCARDED_BYTES_MAX: usize = 64 << 20;
const BODY_DURATION_MAX: Duration = Duration::from_secs(30);
/// How long the body of a request that is refused anyway is waited for.
const DISCARDED_DURATION_MAX: Duration = Duration::from_secs(5);

/// Memory of the bodies of all requests that are under way: as many as sixteen of the largest.
/// Clients that stop in the middle of theirs take no more from others.
const BODIES_BYTES_MAX: usize = 64 << 20;
/// It is given out in such pieces.
const PIECE_BYTES: usize = 1 << 10;

/// What is left of the memory for bodies, in pieces.
#[derive(Debug)]
pub(super) struct BodyMemory(Semaphore);

impl Default for BodyMemory {
    fn default() -> Self {
        Self(Semaphore::new(BODIES_BYTES_MAX / PIECE_BYTES))
    }
}

impl BodyMemory {
    /// Takes room for more bytes of a body that has so many, if there is some.
    fn take<'m>(&'m self, taken: &mut Option<SemaphorePermit<'m>>, bytes: usize) -> Result<(), Failure> {
        let pieces = bytes.div_ceil(PIECE_BYTES).saturating_sub(taken.as_ref().map_or(0, SemaphorePermit::num_permits));
        let pieces = u32::try_from(pieces).map_err(|_| Failure::body_too_large())?;
        let more = self.0.try_acquire_many(pieces).map_err(|_| Failure::busy())?;
        match taken {
            Some(taken) => taken.merge(more),
            None => *taken = Some(more),
        }
        Ok(())
    }
}

/// Reads a body, and holds memory for it.
///
/// # Errors
/// One that is too large, that does not come in time, or for which there is no room at the moment.
pub(super) async fn read(body: Body, memory: &BodyMemory) -> Result<(Bytes, Option<SemaphorePermit<'_>>), Failure> {
    // What says that it is so long is not waited for.
    if body.size_hint().lower() > DISCARDED_BYTES_MAX as u64 {
        return Err(Failure::body_too_large());
    }
    read_within(BODY_DURATION_MAX, body, memory).await
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

async fn read_within(
    duration: Duration,
    body: Body,
    memory: &BodyMemory,
) -> Result<(Bytes, Option<SemaphorePermit<'_>>), Failure> {
    match tokio::time::timeout(duration, read_all(body, memory)).await {
        Ok(read) => read,
        Err(_) => Err(Failure::timed_out(408)),
    }
}

async fn read_all(body: Body, memory: &BodyMemory) -> Result<(Bytes, Option<SemaphorePermit<'_>>), Failure> {
    let told = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
    let mut chunks = body.into_data_stream();
    let (mut read, mut bytes) = (BytesMut::with_capacity(told.min(BODY_BYTES_MAX)), 0usize);
    let mut taken = None;
    while let Some(chunk) = chunks.next().await {
        // The client is gone, or its framing is wrong.
        let chunk = chunk.map_err(|_| Failure::not_valid())?;
        bytes += chunk.len();
        if bytes <= BODY_BYTES_MAX {
            memory.take(&mut taken, bytes)?;
            read.extend_from_slice(&chunk);
        } else {
            (read, taken) = (BytesMut::new(), None);
        }
        if bytes > DISCARDED_BYTES_MAX {
            break;
        }
    }
    if bytes > BODY_BYTES_MAX { Err(Failure::body_too_large()) } else { Ok((read.freeze(), taken)) }
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
        let memory = BodyMemory::default();
        let status = async |body: Body| read(body, &memory).await.unwrap_err().status();
        assert_eq!(read(Body::from("text"), &memory).await.unwrap().0, "text");
        assert_eq!(read(Body::from(vec![0; BODY_BYTES_MAX]), &memory).await.unwrap().0.len(), BODY_BYTES_MAX);
        assert_eq!(status(Body::from(vec![0; BODY_BYTES_MAX + 1])).await, 413);
        let endless = futures::stream::repeat_with(|| Ok::<_, std::io::Error>(Bytes::from(vec![0; 1 << 20])));
        assert_eq!(status(Body::from_stream(endless)).await, 413);
        let broken = futures::stream::iter([Err::<Bytes, _>(std::io::Error::other("reset"))]);
        assert_eq!(status(Body::from_stream(broken)).await, 400);
    }

    /// Of bodies that are held, or do not end, there are as many as there is room for.
    #[tokio::test]
    async fn bodies_share_their_memory() {
        let memory = BodyMemory::default();
        let mut held = Vec::new();
        for _ in 0..BODIES_BYTES_MAX / BODY_BYTES_MAX {
            held.push(read(Body::from(vec![0; BODY_BYTES_MAX]), &memory).await.unwrap());
        }
        assert_eq!(read(Body::from("more"), &memory).await.unwrap_err().status(), 503);
        held.pop();
        assert_eq!(read(Body::from("more"), &memory).await.unwrap().0, "more");
    }

    #[tokio::test]
    async fn a_body_that_does_not_come_times_out() {
        let silent = futures::stream::pending::<std::io::Result<Bytes>>();
        let (memory, body) = (BodyMemory::default(), Body::from_stream(silent));
        assert_eq!(read_within(Duration::from_millis(10), body, &memory).await.unwrap_err().status(), 408);
    }
}
