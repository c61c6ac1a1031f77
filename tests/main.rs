//! Rowkey as a whole, beside the programs that it works with. One binary, since each one links
//! DataFusion.

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
