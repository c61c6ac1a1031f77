//! Permissions: what is in a data folder is for its owner alone.

use std::fs::{self, DirBuilder, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use rustix::fs::{Access, AtFlags, CWD};
use rustix::io::Errno;

use super::paths;

/// Of files in a data folder.
pub(super) const FILE_MODE: u32 = 0o600;
const FOLDER_MODE: u32 = 0o700;
const OTHERS: u32 = 0o077;

/// Whether this process may write in a folder: its user has permission, and the file system is not
/// mounted for reading only. Nothing is made to find out. A folder that is not there may be made.
pub fn may_write(folder: &Path) -> io::Result<bool> {
    match rustix::fs::accessat(CWD, folder, Access::WRITE_OK | Access::EXEC_OK, AtFlags::EACCESS) {
        Ok(()) | Err(Errno::NOENT) => Ok(true),
        Err(Errno::ACCESS | Errno::PERM | Errno::ROFS) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Makes a folder for its owner alone.
pub(super) fn create_folder(folder: &Path) -> io::Result<()> {
    DirBuilder::new().mode(FOLDER_MODE).create(folder)
}

/// Restricts a folder to its owner.
pub(super) fn make_private(folder: &Path) -> io::Result<()> {
    fs::set_permissions(folder, Permissions::from_mode(FOLDER_MODE))
}

/// The same for a data folder that was made with wider permissions, if it is this user's and holds
/// nothing but a database: where there is something else, the permissions may have been meant for
/// that.
pub(super) fn make_data_folder_private(root: &Path) -> io::Result<()> {
    let found = fs::metadata(root)?;
    if found.mode() & OTHERS == 0 {
        return Ok(());
    }
    for entry in fs::read_dir(root)? {
        if !entry?.file_name().to_str().is_some_and(paths::is_top_level) {
            return Ok(());
        }
    }
    // A new file belongs to the effective user of this process.
    let probe = root.join(paths::temporary(paths::LOCK));
    let made = OpenOptions::new().write(true).create_new(true).mode(FILE_MODE).open(&probe)?;
    let user = made.metadata().map(|made| made.uid());
    fs::remove_file(&probe)?;
    if user? == found.uid() {
        fs::set_permissions(root, Permissions::from_mode(found.mode() & !OTHERS & 0o7777))?;
    }
    Ok(())
}
