//! Versions in the order of their keys.

use std::sync::Arc;

use super::version::Version;
use rowkey_model::rows::{common_beginning, key_prefix};

/// Bytes of a key that are compared as one number.
const PREFIX_BYTES: usize = 8;

struct Sorted<'a> {
    /// The next bytes of the key behind the common prefix.
    prefix: u64,
    /// How many versions came before: of one key the newest has the least.
    age: u32,
    version: &'a Arc<Version>,
}

impl Sorted<'_> {
    fn key_from(&self, at: usize) -> &[u8] {
        &self.version.key_bytes()[at..]
    }
}

/// The newest version of each key, in key order, of versions that come the newest first.
pub(super) fn newest_of<'a>(versions: impl Iterator<Item = &'a Arc<Version>>) -> Vec<Arc<Version>> {
    let aged = versions.zip(0u32..);
    let mut sorted: Vec<Sorted<'a>> = aged.map(|(version, age)| Sorted { prefix: 0, age, version }).collect();
    sort(&mut sorted, 0);
    sorted.dedup_by(|older, kept| older.version.key_bytes() == kept.version.key_bytes());
    sorted.into_iter().map(|sorted| Arc::clone(sorted.version)).collect()
}

/// Sorts versions whose keys agree in their first `alike` bytes. Keys begin alike for long: the
/// bytes behind that decide, and where these are the same, those that come next.
fn sort(versions: &mut [Sorted<'_>], alike: usize) {
    if versions.len() < 2 {
        return;
    }
    let alike = alike + common_beginning(versions.iter().map(|sorted| sorted.key_from(alike)));
    for sorted in versions.iter_mut() {
        sorted.prefix = key_prefix(sorted.key_from(alike));
    }
    versions.sort_unstable_by_key(|sorted| (sorted.prefix, sorted.age));
    for same in versions.chunk_by_mut(|a, b| a.prefix == b.prefix) {
        if same.iter().all(|sorted| sorted.key_from(alike).len() >= PREFIX_BYTES) {
            sort(same, alike + PREFIX_BYTES);
        } else {
            // One that ends has the prefix of one that goes on with zeros.
            same.sort_unstable_by(|a, b| a.key_from(alike).cmp(b.key_from(alike)).then(a.age.cmp(&b.age)));
        }
    }
}
