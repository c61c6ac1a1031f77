//! The XML of access policies, service properties and statistics (specification, section 5).

mod access_policies;
mod service_properties;
mod xml;

pub(crate) use access_policies::{read_policies, write_policies};
pub(crate) use service_properties::{CorsRule, ServiceProperties};
