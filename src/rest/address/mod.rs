//! What a URL names: an account, a resource, and options (specification, section 1.1).

mod keys;
mod options;
mod path;

pub(crate) use options::QueryOptions;
pub(crate) use path::{Address, Resource, Style};
