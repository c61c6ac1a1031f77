//! How much memory queries may use.

use std::path::{Path, PathBuf};

use rowkey_model::files::read_system_text;

/// Memory for queries where the machine's is unknown.
const MEMORY_BYTES_DEFAULT: u64 = 1 << 30;

/// What queries may use together, in bytes: what was asked for, or half of what this process may
/// have.
pub fn query_memory_bytes(asked: Option<u64>) -> u64 {
    asked.or_else(|| memory_bytes_available().map(|bytes| bytes / 2)).unwrap_or(MEMORY_BYTES_DEFAULT)
}

/// What this process may have, in bytes: the smallest of the machine's memory and the limits of the
/// control groups that it is in. `None` where neither is known.
pub fn memory_bytes_available() -> Option<u64> {
    memory_bytes(read_system_text)
}

fn memory_bytes(read: impl Fn(&Path) -> Option<String>) -> Option<u64> {
    let total = read(Path::new("/proc/meminfo")).and_then(|text| meminfo_total_bytes(&text));
    let groups = read(Path::new("/proc/self/cgroup")).unwrap_or_default();
    // "max" is no number, and no limit.
    let limit = |path: PathBuf| read(&path)?.trim().parse::<u64>().ok();
    total.into_iter().chain(limit_files(&groups).into_iter().filter_map(limit)).min()
}

/// The files with the memory limits of the groups of a process and of those around them, up to the
/// root: systemd and containers set limits at any of them (cgroups(7)). In a namespace of its own a
/// process sees its group as the root.
fn limit_files(groups: &str) -> Vec<PathBuf> {
    const V2: (&str, &str) = ("/sys/fs/cgroup", "memory.max");
    const V1: (&str, &str) = ("/sys/fs/cgroup/memory", "memory.limit_in_bytes");
    let mut files = vec![Path::new(V2.0).join(V2.1), Path::new(V1.0).join(V1.1)];
    for line in groups.lines() {
        // Hierarchy, controllers, path.
        let mut fields = line.splitn(3, ':');
        let (Some(hierarchy), Some(controllers), Some(group)) = (fields.next(), fields.next(), fields.next()) else {
            continue;
        };
        let (root, file) = match (hierarchy, controllers) {
            ("0", "") => V2,
            (_, controllers) if controllers.split(',').any(|name| name == "memory") => V1,
            _ => continue,
        };
        let group = Path::new(group.trim_start_matches('/'));
        // A group outside of the namespace cannot be seen from here.
        if group.components().all(|part| matches!(part, std::path::Component::Normal(_))) {
            let up = group.ancestors().filter(|group| !group.as_os_str().is_empty());
            files.extend(up.map(|group| Path::new(root).join(group).join(file)));
        }
    }
    files
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

    /// What is found where the system has these files.
    fn found(files: &[(&str, &str)]) -> Option<u64> {
        memory_bytes(|path| {
            let file = files.iter().find(|(name, _)| Path::new(name) == path)?;
            Some(file.1.to_owned())
        })
    }

    #[test]
    fn the_smallest_limit_around_the_process_counts() {
        const MEMORY: (&str, &str) = ("/proc/meminfo", "MemTotal: 1000 kB\n");
        assert_eq!(found(&[]), None);
        assert_eq!(found(&[MEMORY]), Some(1_024_000));
        // In a container with a namespace: its group is the root. The machine's memory is hidden.
        let container = [("/proc/self/cgroup", "0::/\n"), ("/sys/fs/cgroup/memory.max", "700\n")];
        assert_eq!(found(&container), Some(700));
        // A service of systemd; the limit is set at the slice.
        let service = [
            MEMORY,
            ("/proc/self/cgroup", "0::/apps.slice/rowkey.service\n"),
            ("/sys/fs/cgroup/apps.slice/rowkey.service/memory.max", "max\n"),
            ("/sys/fs/cgroup/apps.slice/memory.max", "500000\n"),
        ];
        assert_eq!(found(&service), Some(500_000));
        // Version 1, with its own limit below that of the root.
        let first = [
            MEMORY,
            ("/proc/self/cgroup", "12:cpu,cpuacct:/a\n5:memory:/docker/f00\n0::/\n"),
            ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"),
            ("/sys/fs/cgroup/memory/docker/f00/memory.limit_in_bytes", "300000\n"),
        ];
        assert_eq!(found(&first), Some(300_000));
        // What cannot be seen is no limit, and no path is made of it.
        assert_eq!(found(&[MEMORY, ("/proc/self/cgroup", "0::/../../other\nnonsense\n")]), Some(1_024_000));
    }
}
