//! The memory allocator of the process.

/// A third of a COPY, and a tenth of most queries, was spent in the system's allocator.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Freed memory goes back to the system after so many milliseconds.
#[cfg(unix)]
const PURGE_DELAY: (&str, &str) = ("MIMALLOC_PURGE_DELAY", "10");

/// Starts the process again with the allocator's options, unless it has been.
///
/// Each thread keeps for itself what it frees, for a second unless told otherwise: a server's peak
/// would be what all statements of a second have freed. The allocator reads its options from the
/// environment before `main` begins.
///
/// # Errors
/// The process could not be started again; this one may go on.
#[cfg(unix)]
pub(crate) fn give_back_early() -> std::io::Result<()> {
    use std::os::unix::process::CommandExt;

    let (name, value) = PURGE_DELAY;
    if std::env::var_os(name).is_some() {
        return Ok(());
    }
    let mut arguments = std::env::args_os();
    let program = arguments.next().unwrap_or_default();
    Err(std::process::Command::new(std::env::current_exe()?).arg0(program).args(arguments).env(name, value).exec())
}

#[cfg(not(unix))]
pub(crate) fn give_back_early() -> std::io::Result<()> {
    Ok(())
}
