//! Small text files of the operating system (`/proc`, `/sys`).

use std::path::Path;

/// The text of a file of the system's, such as `/proc/meminfo`; `None` where there is none.
pub fn read_system_text(path: &Path) -> Option<String> {
    std::fs::read_to_string(path).ok()
}
