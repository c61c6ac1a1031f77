//! Rowkey as a whole, beside the programs that it works with. One binary, since each one links
//! DataFusion.

/// That of the program: what a step of a session takes is measured in this process.
#[cfg(not(target_env = "msvc"))]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

mod clients;
mod differential;
mod durability;
mod exports;
mod formats;
mod interop;
mod peers;
mod postgres;
mod prompt;
mod protocol;
mod readme;
mod robustness;
mod server_process;
mod shared_access;
