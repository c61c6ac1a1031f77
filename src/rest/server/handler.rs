//! The way of a request: host, account, signature, operation, and the headers of every answer.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use axum::http::request::Parts;
use axum::http::{HeaderName, HeaderValue, StatusCode, Version};
use axum::response::Response;
use bytes::Bytes;
use rowkey_authorization::{AccountKeys, Authority, is_service_version, stored_policies};
use rowkey_base::DateTime;
use rowkey_formats::entity_json::MetadataLevel;
use rowkey_model::AccountName;
use rowkey_sql::engine::{EntityService, Principal};

use super::body;
use super::context::ServerContext;
use super::host::{expect_own, expect_plain, without_port};
use crate::address::{Address, QueryOptions, Resource, Style};
use crate::authorization::{SignedRequest, authenticate};
use crate::dispatch::{dispatch, error_form};
use crate::errors::{ErrorForm, Failure, failure, reply};
use crate::operations::{Call, cors_headers, preflight};
use crate::reply::Reply;
use crate::request::{Headers, OperationRequest, tunnelled};
use crate::version;

/// All a request may take, which is also what `timeout` is at most (specification, section 1.1).
const REQUEST_DURATION_MAX: Duration = Duration::from_secs(30);
/// Longer bodies are read and written apart from sockets.
const SMALL_BODY_BYTES_MAX: usize = 16 << 10;
/// Longest `x-ms-client-request-id` that is echoed (section 1.3).
const CLIENT_REQUEST_ID_CHARS_MAX: usize = 1024;
/// The target of the events that tell of requests.
const REQUEST_LOG: &str = "rowkey::request";
/// The form of errors of requests that name no resource.
const PLAIN: ErrorForm = ErrorForm::Json(MetadataLevel::Minimal);
/// What lies beside the service; no account has such a name.
const OWN_PATHS: &str = "/_rowkey/";

/// Answers a request, whatever it is.
pub(super) async fn handle(context: Arc<ServerContext>, client: SocketAddr, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let headers = headers_of(&parts);
    let host = host_of(&parts, &headers);
    let began = context.database.clock().elapsed();
    let request_id = uuid::Uuid::new_v4().to_string();
    let exchange = Exchange { context: &context, client, host: &host, request_id: &request_id };
    let is_head = parts.method.as_str() == "HEAD";
    if let Some(own) = parts.uri.path().strip_prefix(OWN_PATHS) {
        let expected = expect_plain(&host).and_then(|()| expect_own(&host, context.bound));
        let answered = expected.and_then(|()| own_answer(own, parts.method.as_str()));
        let answered = answered.unwrap_or_else(|failure| exchange.failed(&failure, PLAIN));
        let answered = exchange.with_ids(answered, &headers, &parts);
        return response(if is_head { answered.without_body() } else { answered });
    }
    let answered = exchange.answer(&parts, &headers, body).await;
    // Without the query, which may hold a signature.
    tracing::info!(
        target: REQUEST_LOG,
        request_id,
        client_request_id = headers.get("x-ms-client-request-id"),
        client = %client,
        method = %parts.method,
        path = parts.uri.path(),
        status = answered.status(),
        bytes = answered.body().len(),
        micros = context.database.clock().elapsed().saturating_sub(began).as_micros() as u64,
    );
    response(if is_head { answered.without_body() } else { answered })
}

/// `/_rowkey/health`: the process answers; `/_rowkey/ready`: so does its data, which is open before
/// anything is listened to.
fn own_answer(path: &str, method: &str) -> Result<Reply, Failure> {
    match (path, method) {
        ("health" | "ready", "GET" | "HEAD") => {
            Ok(Reply::new(200).with_body("text/plain; charset=utf-8".to_owned(), "ok\n"))
        }
        ("health" | "ready", _) => Err(Failure::method()),
        _ => Err(Failure::resource_not_found()),
    }
}

/// A request and its answer.
struct Exchange<'a> {
    context: &'a ServerContext,
    client: SocketAddr,
    host: &'a str,
    request_id: &'a str,
}

impl Exchange<'_> {
    async fn answer(&self, parts: &Parts, headers: &Headers, body: Body) -> Reply {
        let path = parts.uri.path();
        let read = expect_plain(self.host)
            .and_then(|()| expect_own(self.host, self.context.bound))
            .and_then(|()| Address::parse(without_port(self.host), path))
            .and_then(|address| Ok((address, QueryOptions::parse(parts.uri.query().unwrap_or_default())?)))
            .and_then(|(address, options)| {
                let duration_max = duration_max(&options)?;
                Ok((address, options, tunnelled(parts.method.as_str(), headers)?, duration_max))
            });
        let (address, options, method, duration_max) = match read {
            Ok(read) => read,
            Err(failure) => {
                body::discard(body).await;
                return self.with_ids(self.failed(&failure, PLAIN), headers, parts);
            }
        };
        let resource = address.resource.clone();
        let mut request = OperationRequest { method, resource, options, headers: headers.clone(), body: Bytes::new() };
        let form = error_form(&request);
        let account = self.account(&address);
        let run = self.run(parts, &address, account.as_ref(), &mut request, body);
        let limited = tokio::time::timeout(duration_max, run).await;
        let outcome = limited.unwrap_or_else(|_| Err(Failure::timed_out(500)));
        let reply = outcome.unwrap_or_else(|failure| self.failed(&failure, form));
        let reply = self.with_ids(reply, headers, parts);
        match account {
            Some((owner, _)) if parts.method.as_str() != "OPTIONS" => {
                let (rules, origin) = (self.context.cors_rules.of(&owner), headers.get("origin"));
                cors_headers(&rules, parts.method.as_str(), origin, reply)
            }
            _ => reply,
        }
    }

    async fn run(
        &self,
        parts: &Parts,
        address: &Address,
        account: Option<&(EntityService, AccountKeys)>,
        request: &mut OperationRequest,
        body: Body,
    ) -> Result<Reply, Failure> {
        if request.method == "OPTIONS" {
            let rules = account.map(|(owner, _)| self.context.cors_rules.of(owner)).unwrap_or_default();
            return preflight(&rules, &request.headers);
        }
        let now = self.context.database.clock().now();
        let known = expect_versions(request).and_then(|()| account.ok_or_else(Failure::authentication));
        let admitted = known.and_then(|(owner, keys)| {
            let authority = self.authority(parts, request, owner, keys, now)?;
            let permit = self.context.requests.try_acquire().map_err(|_| Failure::busy())?;
            Ok((owner, authority, permit))
        });
        let (owner, authority, _permit) = match admitted {
            Ok(admitted) => admitted,
            Err(failure) => {
                // So that the client comes to read the answer; those who are not let in take the
                // place of nobody.
                body::discard(body).await;
                return Err(failure);
            }
        };
        expect_length(parts)?;
        let (body, _memory) = body::read(body, &self.context.bodies).await?;
        request.body = body;
        body::verify(&request.body, request.headers.get("content-md5"))?;
        let call = Call {
            service: owner.for_principal(authority.principal(owner.account().as_str())),
            account_url: self.account_url(address),
        };
        if is_small(&call, request) {
            return dispatch(&call, &authority, address, request, self.request_id, now).await;
        }
        let (address, request, id) = (address.clone(), request.clone(), self.request_id.to_owned());
        let work = async move { dispatch(&call, &authority, &address, &request, &id, now).await };
        self.context.database.run_apart(work).await.map_err(|error| failure(&error))?
    }

    /// What the request may do.
    fn authority(
        &self,
        parts: &Parts,
        request: &OperationRequest,
        owner: &EntityService,
        keys: &AccountKeys,
        now: DateTime,
    ) -> Result<Authority, Failure> {
        let headers = |name: &str| request.headers.get(name);
        let signed = SignedRequest {
            method: parts.method.as_str(),
            path: parts.uri.path(),
            options: &request.options,
            headers: &headers,
            account: owner.account().as_str(),
            client: self.client.ip(),
            is_https: self.context.is_https,
        };
        authenticate(&signed, keys, &stored_policies(owner), now)
    }

    /// The account's service for its owner, and its keys, if there is such an account.
    fn account(&self, address: &Address) -> Option<(EntityService, AccountKeys)> {
        let account = AccountName::parse(&address.account).ok()?;
        let owner = self.context.database.entities_of(&account, &Principal::new(account.as_str()));
        let keys = self.context.accounts.keys_of(&owner)?;
        Some((owner, keys))
    }

    /// The account's URL as the client wrote it.
    fn account_url(&self, address: &Address) -> String {
        let suffix = if address.is_secondary { "-secondary" } else { "" };
        let scheme = if self.context.is_https { "https" } else { "http" };
        match address.style {
            Style::Host => format!("{scheme}://{}", self.host),
            Style::Path => format!("{scheme}://{}/{}{suffix}", self.host, address.account),
        }
    }

    fn failed(&self, failure: &Failure, form: ErrorForm) -> Reply {
        reply(failure, form, self.request_id, self.context.database.clock().now())
    }

    /// Adds the headers of every answer (section 2.1).
    fn with_ids(&self, reply: Reply, headers: &Headers, parts: &Parts) -> Reply {
        let own = headers.get("x-ms-version").filter(|version| is_service_version(version)).map(str::to_owned);
        let version = own.or_else(|| {
            let options = QueryOptions::parse(parts.uri.query().unwrap_or_default()).ok()?;
            let named = options.given("api-version").or_else(|| options.given("sv"))?;
            is_service_version(named).then(|| named.to_owned())
        });
        let version = version.unwrap_or_else(|| version::DEFAULT.to_owned());
        let mut reply = reply.with("x-ms-request-id", self.request_id).with("x-ms-version", version);
        let client_id = headers.get("x-ms-client-request-id");
        if let Some(id) = client_id.filter(|id| {
            id.len() <= CLIENT_REQUEST_ID_CHARS_MAX && id.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' ')
        }) {
            reply = reply.with("x-ms-client-request-id", id);
        }
        reply.with("Server", "Windows-Azure-Table/1.0 Rowkey")
    }
}

/// Whether a request takes some microseconds, so that it may run beside sockets: it reads or writes
/// one entity, which is not large.
fn is_small(call: &Call, request: &OperationRequest) -> bool {
    let (table, partition) = match &request.resource {
        Resource::Entity(table, key) => (table, Some(key.partition.as_str())),
        Resource::Entities(table) if request.method == "POST" => (table, None),
        _ => return false,
    };
    let reads_little = |partition| {
        let table = call.service.table_id(table);
        // Where there is none, that is the answer.
        table.map_or(true, |table| call.service.reads_little(table, partition))
    };
    request.body.len() <= SMALL_BODY_BYTES_MAX && partition.is_none_or(reads_little)
}

/// Refuses a request without a body where one belongs, and without the header that says so.
fn expect_length(parts: &Parts) -> Result<(), Failure> {
    let has_body = matches!(parts.method.as_str(), "POST" | "PUT" | "PATCH" | "MERGE");
    let is_told = ["content-length", "transfer-encoding"].iter().any(|name| parts.headers.contains_key(*name));
    if has_body && !is_told && parts.version <= Version::HTTP_11 {
        let text = "The Content-Length header was not specified.";
        return Err(Failure::new(411, "MissingContentLengthHeader", text));
    }
    Ok(())
}

/// What a request may take: `timeout` in seconds, of which the service takes no more than 30. That
/// 0 is as good as none is unconfirmed.
fn duration_max(options: &QueryOptions) -> Result<Duration, Failure> {
    let Some(text) = options.given("timeout") else { return Ok(REQUEST_DURATION_MAX) };
    match text.parse() {
        Ok(0) => Ok(REQUEST_DURATION_MAX),
        Ok(seconds) => Ok(Duration::from_secs(seconds).min(REQUEST_DURATION_MAX)),
        Err(_) => Err(Failure::query_parameter("timeout")),
    }
}

/// Refuses what is no version of the service. One that is not known yet is as good as the newest.
fn expect_versions(request: &OperationRequest) -> Result<(), Failure> {
    let mut versions = request.headers.all("x-ms-version");
    if versions.next().is_some_and(|version| !is_service_version(version)) || versions.next().is_some() {
        return Err(Failure::header_value("x-ms-version"));
    }
    match request.options.get("api-version") {
        Some(version) if !is_service_version(version) => Err(Failure::query_parameter("api-version")),
        _ => Ok(()),
    }
}

fn headers_of(parts: &Parts) -> Headers {
    let mut headers = Headers::default();
    for (name, value) in &parts.headers {
        headers.add(name.as_str(), &String::from_utf8_lossy(value.as_bytes()));
    }
    headers
}

/// The host of the request's URL, where it is a proxy's, or of its header.
fn host_of(parts: &Parts, headers: &Headers) -> String {
    let authority = parts.uri.authority().map(|authority| authority.as_str().to_owned());
    authority.or_else(|| headers.get("host").map(str::to_owned)).unwrap_or_default()
}

fn response(reply: Reply) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::from_u16(reply.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    for (name, value) in reply.headers() {
        // What is not ASCII was encoded where it came from a client.
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(*name), HeaderValue::from_str(value)) {
            response.headers_mut().append(name, value);
        }
    }
    *response.body_mut() = Body::from(reply.into_body());
    response
}
