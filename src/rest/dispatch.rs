//! From a request to its operation.

use rowkey_authorization::{Action, Authority};
use rowkey_base::DateTime;

use crate::address::{Address, Resource};
use crate::batch;
use crate::errors::{ErrorForm, Failure, reply};
use crate::operations::{
    Call, create_table, delete_table, get_entity, get_policies, get_properties, get_statistics, get_table,
    put_policies, put_properties, query_entities, query_tables, read_write, run_write,
};
use crate::reply::Reply;
use crate::request::{OperationRequest, is_read};
use rowkey_formats::entity_json::EntityDecoder;

/// What a request is for, beside its resource: `comp` and `restype`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Component {
    None,
    AccessPolicies,
    ServiceProperties,
    Statistics,
    Unknown,
}

impl Component {
    fn of(request: &OperationRequest) -> Self {
        let option = |name| request.options.given(name).map(str::to_ascii_lowercase);
        match (option("restype").as_deref(), option("comp").as_deref()) {
            (None, None) => Self::None,
            (None, Some("acl")) => Self::AccessPolicies,
            (Some("service"), Some("properties")) => Self::ServiceProperties,
            (Some("service"), Some("stats")) => Self::Statistics,
            _ => Self::Unknown,
        }
    }
}

/// In which form the client of a request expects errors.
pub(crate) fn error_form(request: &OperationRequest) -> ErrorForm {
    match (Component::of(request), &request.resource) {
        (Component::None, resource) if *resource != Resource::Service => ErrorForm::Json(request.level_or_minimal()),
        _ => ErrorForm::Xml,
    }
}

/// Does what a request asks for.
pub(crate) async fn dispatch(
    call: &Call,
    authority: &Authority,
    address: &Address,
    request: &OperationRequest,
    request_id: &str,
    now: DateTime,
) -> Result<Reply, Failure> {
    let method = request.method.as_str();
    let component = Component::of(request);
    // A batch may be a read, which its parts tell.
    if address.is_secondary && !is_read(method) && request.resource != Resource::Batch {
        return Err(Failure::secondary());
    }
    match (component, &request.resource) {
        (Component::None, Resource::Tables) => {
            authority.expect(Action::Tables)?;
            match method {
                "GET" | "HEAD" => query_tables(call, request),
                "POST" => create_table(call, request).await,
                _ => Err(Failure::method()),
            }
        }
        (Component::None, Resource::Table(name)) => {
            authority.expect(Action::Tables)?;
            match method {
                "GET" | "HEAD" => get_table(call, request, name),
                "DELETE" => delete_table(call, name).await,
                _ => Err(Failure::method()),
            }
        }
        (Component::None, Resource::Entities(table)) => {
            authority.expect(Action::Entities)?;
            match method {
                "GET" | "HEAD" => query_entities(call, request, table).await,
                _ => write(call, request).await,
            }
        }
        (Component::None, Resource::Entity(table, key)) => {
            authority.expect(Action::Entities)?;
            match method {
                "GET" | "HEAD" => get_entity(call, request, table, key).await,
                _ => write(call, request).await,
            }
        }
        (Component::None, Resource::Batch) => {
            authority.expect(Action::Entities)?;
            if method != "POST" {
                return Err(Failure::method());
            }
            let form = ErrorForm::Json(request.level_or_minimal());
            let told = |failure: &Failure| reply(failure, form, request_id, now);
            batch::run(call, request, address, request_id, told).await
        }
        (Component::AccessPolicies, Resource::Entities(table)) => {
            authority.expect(Action::AccessPolicies)?;
            match method {
                "GET" | "HEAD" => get_policies(call, table),
                "PUT" => put_policies(call, request, table).await,
                _ => Err(Failure::method()),
            }
        }
        (Component::ServiceProperties, Resource::Service) => match method {
            "GET" | "HEAD" => {
                authority.expect(Action::ReadService)?;
                Ok(get_properties(call))
            }
            "PUT" => {
                authority.expect(Action::WriteService)?;
                put_properties(call, request).await
            }
            _ => Err(Failure::method()),
        },
        (Component::Statistics, Resource::Service) => {
            authority.expect(Action::ReadService)?;
            match method {
                "GET" | "HEAD" => get_statistics(address.is_secondary, now),
                _ => Err(Failure::method()),
            }
        }
        _ => Err(Failure::invalid_uri()),
    }
}

async fn write(call: &Call, request: &OperationRequest) -> Result<Reply, Failure> {
    let write = read_write(request, &mut EntityDecoder::for_requests())?;
    run_write(call, &write).await
}
