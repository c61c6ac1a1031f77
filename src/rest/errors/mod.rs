//! What goes wrong, as the service says it (specification, section 6).

mod body;
mod failure;
mod mapping;

pub(crate) use body::{ErrorForm, reply};
pub(crate) use failure::Failure;
pub(crate) use mapping::{failure, json_failure};
