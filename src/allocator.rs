//! The memory allocator of the process.

/// A third of a COPY, and a tenth of most queries, was spent in the system's allocator, and what a
/// burst of statements had taken stayed with the process.
#[cfg(not(target_env = "msvc"))]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// The allocator's options.
#[cfg(unix)]
const OPTIONS: &str = "_RJEM_MALLOC_CONF";

/// Freed memory goes back to the system at once.
#[cfg(unix)]
const GIVE_BACK: &str = "dirty_decay_ms:0,muzzy_decay_ms:0";

/// Starts the process again such that freed memory goes back at once, unless it has been or the
/// environment says otherwise.
///
/// Otherwise each thread keeps for itself what it frees, for seconds: the peak of a server is what
/// its statements freed meanwhile, which makes some of them faster by half. The allocator reads its
/// options from the environment before `main` begins.
///
/// # Errors
/// The process could not be started again; this one may go on.
#[cfg(unix)]
pub(crate) fn give_back_at_once() -> std::io::Result<()> {
    use std::os::unix::process::CommandExt;

    if std::env::var_os(OPTIONS).is_some() {
        return Ok(());
    }
    let mut arguments = std::env::args_os();
    let program = arguments.next().unwrap_or_default();
    let program_file = std::env::current_exe()?;
    Err(std::process::Command::new(program_file).arg0(program).args(arguments).env(OPTIONS, GIVE_BACK).exec())
}

#[cfg(not(unix))]
pub(crate) fn give_back_at_once() -> std::io::Result<()> {
    Ok(())
}
