//! How much memory queries may use.

use std::path::Path;

/// What this process may have, in bytes: the smallest of the machine's memory and the limits of the
/// control groups that it is in. `None` where neither is known.
pub fn memory_bytes_available() -> Option<u64> {
    let total =
        rowkey_model::files::read_system_text(Path::new("/proc/meminfo")).and_then(|text| meminfo_total_bytes(&text));
    let limits = ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"]
        .iter()
        .filter_map(|path| rowkey_model::files::read_system_text(Path::new(path))?.trim().parse::<u64>().ok());
    total.into_iter().chain(limits).min()
}

fn meminfo_total_bytes(text: &str) -> Option<u64> {
    let line = text.lines().find(|line| line.starts_with("MemTotal:"))?;
    let kibibytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    kibibytes.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn total_memory_is_read_in_kibibytes() {
        assert_eq!(meminfo_total_bytes("MemFree: 1 kB\nMemTotal:   24105600 kB\n"), Some(24_105_600 * 1024));
        assert_eq!(meminfo_total_bytes("MemTotal: much\n"), None);
    }
}
