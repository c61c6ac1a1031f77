//! Hints for files of the data folder that cannot be read.

use std::error::Error as _;
use std::io;

use super::failure::Failure;
use rowkey_sql::session::Error;

/// EMFILE and ENFILE.
const TOO_MANY_OPEN: [i32; 2] = [24, 23];
/// The hint for any other error.
const SEE_LOG: &str = "the system's log may say why: copy the data folder to a disk that can be read, and run it again";

/// The error of the operating system behind one of ours.
pub(super) fn cause(error: &Error) -> Option<&io::Error> {
    let mut cause = error.source();
    while let Some(inner) = cause {
        if let Some(inner) = inner.downcast_ref() {
            return Some(inner);
        }
        cause = inner.source();
    }
    None
}

/// What to do about an error of the operating system, if that is known.
pub(super) fn remedy(error: &io::Error) -> Option<&'static str> {
    if error.raw_os_error().is_some_and(|number| TOO_MANY_OPEN.contains(&number)) {
        return Some("too many files are open: raise the limit (ulimit -n) and run it again");
    }
    match error.kind() {
        io::ErrorKind::PermissionDenied => {
            Some("give this user access to the data folder and all that is in it, and run it again")
        }
        io::ErrorKind::OutOfMemory => Some("there is too little memory: free some and run it again"),
        _ => None,
    }
}

/// The error of a check or a repair that cannot read the files now.
pub(super) fn failure(error: Error) -> Failure {
    let Some(remedy) = cause(&error).map(|cause| remedy(cause).unwrap_or(SEE_LOG)) else {
        return Failure::Engine(error);
    };
    Failure::plain(error, format!("what cannot be read is not taken for damaged and stays where it is; {remedy}"))
}

/// The same where the metadata of a file or a folder cannot be read.
pub(super) fn not_looked_at(location: &str, error: &io::Error) -> Failure {
    Failure::plain(format!("cannot look at {location}: {error}"), remedy(error).unwrap_or(SEE_LOG))
}
