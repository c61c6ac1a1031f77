//! Checkpoints: the state after some record, so that the log before it can go.
//!
//! ```text
//! magic      8 bytes
//! version    u32
//! sequence   u64   of the last record the content covers
//! bytes      u64   of the content
//! crc32c     u32   over all of the above
//! content
//! crc32c     u32   over the content
//! ```
//! A checkpoint is published durably and log is freed only afterwards. The one before it is kept
//! with all of the log behind that one (before the first, the log from its beginning): the newest
//! can be lost, and nothing with it. Opening never passes over a damaged one in favour of another;
//! a repair does, where the log leads from there to the end.

use std::sync::{Mutex, PoisonError};

use bytes::Bytes;

use super::error::{Error, Result};
use super::record::{u32_at, u64_at};
use super::writer::Segments;
use rowkey_model::files::{FileStore, paths, publish};

const MAGIC: &[u8; 8] = b"rowkeyck";
/// Newest version read; what writes the content says which one it is.
const VERSION_MAX: u32 = 3;
const VERSION_AT: usize = 8;
const SEQUENCE_AT: usize = 12;
const LENGTH_AT: usize = 20;
const CRC_AT: usize = 28;
const CONTENT_AT: usize = 32;
const CRC_BYTES: usize = 4;
/// Checkpoints that are kept.
const KEPT: usize = 2;

/// The state after a record of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Checkpoint {
    /// The last sequence number that the content covers.
    pub sequence: u64,
    /// Format of the content.
    pub version: u32,
    pub content: Bytes,
    /// The file, as the user would find it.
    pub path: String,
}

/// The checkpoints there are, by sequence number, oldest first.
#[derive(Debug)]
pub(super) struct Checkpoints(Mutex<Vec<u64>>);

impl Checkpoints {
    pub(super) async fn list(store: &dyn FileStore) -> Result<Self> {
        Ok(Self(Mutex::new(sequences(store).await?)))
    }

    /// Publishes a checkpoint, frees the log up to the one before it, then removes the older ones.
    pub(super) fn write(
        &self,
        store: &dyn FileStore,
        segments: &Segments,
        sequence: u64,
        durable: u64,
        version: u32,
        content: &[u8],
    ) -> Result<()> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let newest = known.last().copied().unwrap_or(0);
        if sequence < newest || sequence > durable {
            return Err(Error::CheckpointMisplaced { sequence, newest, durable });
        }
        publish(store, &paths::checkpoint(sequence), &encode(sequence, version, content))?;
        if known.last() != Some(&sequence) {
            known.push(sequence);
        }
        let Some(before) = before_newest(&known) else { return Ok(()) };
        segments.retire(store, before)?;
        let older = known.len() - KEPT;
        while known.len() > KEPT {
            store.remove(&paths::checkpoint(known[0]))?;
            known.remove(0);
        }
        if older > 0 {
            store.sync_folder(paths::CHECKPOINT)?;
        }
        Ok(())
    }
}

/// Of sequence numbers of checkpoints, that of the one before the newest: the log behind it is
/// kept.
fn before_newest(sequences: &[u64]) -> Option<u64> {
    sequences.len().checked_sub(KEPT).and_then(|at| sequences.get(at)).copied()
}

fn encode(sequence: u64, version: u32, content: &[u8]) -> Vec<u8> {
    let mut file = Vec::with_capacity(CONTENT_AT + content.len() + CRC_BYTES);
    file.extend_from_slice(MAGIC);
    file.extend_from_slice(&version.to_le_bytes());
    file.extend_from_slice(&sequence.to_le_bytes());
    file.extend_from_slice(&(content.len() as u64).to_le_bytes());
    let crc = crc32c::crc32c(&file);
    file.extend_from_slice(&crc.to_le_bytes());
    file.extend_from_slice(content);
    file.extend_from_slice(&crc32c::crc32c(content).to_le_bytes());
    file
}

/// Sequence numbers of the checkpoints there are, oldest first.
pub(super) async fn sequences(store: &dyn FileStore) -> Result<Vec<u64>> {
    let entries = store.list(paths::CHECKPOINT).await?;
    Ok(entries.iter().filter_map(|entry| paths::parse_checkpoint(&entry.path)).collect())
}

/// Up to which record the log may go.
pub(super) async fn freed_up_to(store: &dyn FileStore) -> Result<Option<u64>> {
    Ok(before_newest(&sequences(store).await?))
}

/// Reads the newest checkpoint; none if there is none, an error if it is damaged.
pub(crate) async fn newest_checkpoint(store: &dyn FileStore) -> Result<Option<Checkpoint>> {
    match sequences(store).await?.pop() {
        Some(sequence) => read(store, sequence).await.map(Some),
        None => Ok(None),
    }
}

/// Reads a checkpoint.
pub(super) async fn read(store: &dyn FileStore, sequence: u64) -> Result<Checkpoint> {
    let relative = paths::checkpoint(sequence);
    let path = format!("{}/{relative}", store.location());
    let file = store.open(&relative).await?;
    let content = file.read(0..file.bytes()).await?;
    match decode(&content, sequence) {
        Ok((version, content)) => Ok(Checkpoint { sequence, version, content, path }),
        Err((offset, reason)) => Err(Error::corrupt(path, offset as u64, reason)),
    }
}

/// Version and content.
fn decode(file: &Bytes, sequence: u64) -> Result<(u32, Bytes), (usize, String)> {
    if file.len() < CONTENT_AT + CRC_BYTES {
        return Err((file.len(), "the file ends within its header".to_owned()));
    }
    if !file.starts_with(MAGIC) {
        return Err((0, "the file does not begin as a checkpoint does".to_owned()));
    }
    if u32_at(file, CRC_AT) != Some(crc32c::crc32c(&file[..CRC_AT])) {
        return Err((0, "the header does not match its checksum".to_owned()));
    }
    let version = u32_at(file, VERSION_AT).unwrap_or(0);
    if !(1..=VERSION_MAX).contains(&version) {
        return Err((
            VERSION_AT,
            format!("its format has version {version}, and this program reads versions up to {VERSION_MAX}"),
        ));
    }
    let found = u64_at(file, SEQUENCE_AT).unwrap_or(0);
    if found != sequence {
        return Err((SEQUENCE_AT, format!("it covers record {found}, and not the one in its name")));
    }
    let end = file.len() - CRC_BYTES;
    let bytes = u64_at(file, LENGTH_AT).unwrap_or(0);
    if bytes != (end - CONTENT_AT) as u64 {
        let reason = format!("the file has {} bytes of content, and was made with {bytes}", end - CONTENT_AT);
        return Err((end.min(CONTENT_AT.saturating_add(bytes as usize)), reason));
    }
    let content = file.slice(CONTENT_AT..end);
    if u32_at(file, end) != Some(crc32c::crc32c(&content)) {
        let reason = format!("the content, {bytes} bytes from here, does not match its checksum");
        return Err((CONTENT_AT, reason));
    }
    Ok((version, content))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rowkey_model::files::MemoryStore;

    #[tokio::test]
    async fn the_newest_is_read_and_every_flip_and_cut_is_refused() {
        let store = MemoryStore::new();
        assert_eq!(newest_checkpoint(&store).await.unwrap(), None);
        let checkpoints = Checkpoints::list(&store).await.unwrap();
        for (sequence, content) in [(3, &b"older"[..]), (7, b"newest content")] {
            checkpoints.write(&store, &Segments::default(), sequence, 9, 1, content).unwrap();
        }
        let whole = store.files();
        assert_eq!(whole.keys().collect::<Vec<_>>(), [&paths::checkpoint(3), &paths::checkpoint(7)]);
        let read = newest_checkpoint(&store).await.unwrap().unwrap();
        assert_eq!((read.sequence, &read.content[..]), (7, &b"newest content"[..]));

        checkpoints.write(&store, &Segments::default(), 8, 9, 1, b"newer").unwrap();
        assert_eq!(store.files().into_keys().collect::<Vec<_>>(), [paths::checkpoint(7), paths::checkpoint(8)]);

        let file = &whole[&paths::checkpoint(7)];
        let flipped = (0..file.len() * 8).map(|bit| {
            let mut damaged = file.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            damaged
        });
        let cut = (0..file.len()).map(|bytes| file[..bytes].to_vec());
        for damaged in flipped.chain(cut).chain([[&file[..], b"x"].concat()]) {
            // An intact older one does not make up for it.
            let older = (paths::checkpoint(3), encode(3, 1, b"older"));
            let store = MemoryStore::with_files([older, (paths::checkpoint(7), damaged)]);
            let before = store.files();
            let error = newest_checkpoint(&store).await.unwrap_err();
            assert!(matches!(&error, Error::Corrupt { path, .. } if path.ends_with("7.ckpt")), "{error}");
            assert_eq!(store.files(), before);
        }
    }

    #[tokio::test]
    async fn a_version_that_is_not_known_is_refused_by_its_number() {
        for (version, known) in [(0, false), (1, true), (VERSION_MAX, true), (VERSION_MAX + 1, false)] {
            let store = MemoryStore::with_files([(paths::checkpoint(3), encode(3, version, b"content"))]);
            let read = newest_checkpoint(&store).await;
            assert_eq!(read.is_ok(), known, "{version}");
            if let Err(error) = read {
                assert!(error.to_string().contains(&format!("version {version}")), "{error}");
            }
        }
    }

    #[tokio::test]
    async fn a_checkpoint_lies_between_the_newest_and_the_end() {
        let store = MemoryStore::new();
        let checkpoints = Checkpoints::list(&store).await.unwrap();
        checkpoints.write(&store, &Segments::default(), 5, 9, 1, b"five").unwrap();
        checkpoints.write(&store, &Segments::default(), 5, 9, 1, b"five again").unwrap();
        for sequence in [4, 10] {
            let error = checkpoints.write(&store, &Segments::default(), sequence, 9, 1, b"").unwrap_err();
            assert!(matches!(error, Error::CheckpointMisplaced { .. }), "{error}");
        }
        let read = newest_checkpoint(&store).await.unwrap().unwrap();
        assert_eq!((read.sequence, &read.content[..]), (5, &b"five again"[..]));
    }
}
