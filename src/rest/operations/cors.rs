//! Cross-origin requests (specification, section 5.4).

use crate::document::CorsRule;
use crate::errors::Failure;
use crate::reply::Reply;
use crate::request::Headers;

/// Answers a preflight request, which is never authenticated.
pub(crate) fn preflight(rules: &[CorsRule], headers: &Headers) -> Result<Reply, Failure> {
    let header = |name: &str| headers.get(name).filter(|value| !value.is_empty());
    let missing = || Failure::header_value("Origin, Access-Control-Request-Method");
    let origin = header("origin").ok_or_else(missing)?;
    let method = header("access-control-request-method").ok_or_else(missing)?;
    let asked = headers.get("access-control-request-headers").unwrap_or_default();
    let refused = || {
        let text = "CORS not enabled or no matching rule found for this request.";
        Failure::new(403, "CorsPreflightFailure", text)
    };
    // The first rule for origin and method decides; its headers are not looked for in others.
    let rule = matching(rules, origin, method).ok_or_else(refused)?;
    let mut names = asked.split(',').map(str::trim).filter(|name| !name.is_empty());
    if !names.all(|name| rule.allowed_headers.iter().any(|allowed| is_header(allowed, name))) {
        return Err(refused());
    }
    let mut reply = Reply::new(200).with("Access-Control-Allow-Origin", origin_of(rule, origin));
    reply = reply.with("Access-Control-Allow-Methods", method);
    if !asked.is_empty() {
        reply = reply.with("Access-Control-Allow-Headers", asked);
    }
    reply = reply.with("Access-Control-Max-Age", rule.max_age_seconds.to_string());
    Ok(reply.with("Access-Control-Allow-Credentials", "true"))
}

/// What is added to the answer of a request.
pub(crate) fn cors_headers(rules: &[CorsRule], method: &str, origin: Option<&str>, reply: Reply) -> Reply {
    if rules.is_empty() {
        return reply;
    }
    let rule = origin.and_then(|origin| Some((origin, matching(rules, origin, method)?)));
    let is_any = rule.is_some_and(|(_, rule)| allows_any(rule));
    let mut answered = reply;
    if let Some((origin, rule)) = rule {
        let names: Vec<&str> = answered.headers().iter().map(|(name, _)| *name).collect();
        let exposed = names.into_iter().filter(|name| rule.exposed_headers.iter().any(|item| is_header(item, name)));
        let exposed: Vec<&str> = exposed.collect();
        answered = answered.with("Access-Control-Allow-Origin", origin_of(rule, origin));
        if !exposed.is_empty() {
            answered = answered.with("Access-Control-Expose-Headers", exposed.join(","));
        }
        if !is_any {
            answered = answered.with("Access-Control-Allow-Credentials", "true");
        }
    }
    if matches!(method, "GET" | "HEAD") && !is_any { answered.with("Vary", "Origin") } else { answered }
}

fn matching<'r>(rules: &'r [CorsRule], origin: &str, method: &str) -> Option<&'r CorsRule> {
    rules.iter().find(|rule| {
        rule.origins.iter().any(|allowed| is_origin(allowed, origin)) && rule.methods.iter().any(|name| name == method)
    })
}

/// Exactly, by `*`, or a subdomain: `https://*.contoso.com`.
fn is_origin(allowed: &str, origin: &str) -> bool {
    match allowed.split_once('*') {
        None => allowed == origin,
        Some(("", "")) => true,
        Some((before, after)) => {
            let inside = origin.strip_prefix(before).and_then(|rest| rest.strip_suffix(after));
            inside.is_some_and(|inside| !inside.is_empty() && !inside.contains('/'))
        }
    }
}

/// Exactly, or by what it begins with: `x-ms-meta*`.
fn is_header(allowed: &str, name: &str) -> bool {
    match allowed.strip_suffix('*') {
        None => allowed.eq_ignore_ascii_case(name),
        Some(prefix) => name.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix)),
    }
}

fn allows_any(rule: &CorsRule) -> bool {
    rule.origins.iter().any(|origin| origin == "*")
}

fn origin_of(rule: &CorsRule, origin: &str) -> String {
    if allows_any(rule) { "*".to_owned() } else { origin.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(origins: &[&str], methods: &[&str], allowed: &[&str]) -> CorsRule {
        let owned = |items: &[&str]| items.iter().map(|item| (*item).to_owned()).collect();
        CorsRule {
            origins: owned(origins),
            methods: owned(methods),
            max_age_seconds: 5,
            exposed_headers: owned(&["x-ms-*", "ETag"]),
            allowed_headers: owned(allowed),
        }
    }

    fn asked(origin: &str, method: &str, names: &str) -> Headers {
        let mut headers = Headers::default();
        for (name, value) in
            [("Origin", origin), ("Access-Control-Request-Method", method), ("Access-Control-Request-Headers", names)]
        {
            headers.add(name, value);
        }
        headers
    }

    fn value<'r>(reply: &'r Reply, name: &str) -> Option<&'r str> {
        reply.headers().iter().find(|(other, _)| *other == name).map(|(_, value)| value.as_str())
    }

    #[test]
    fn preflights_are_answered_by_the_first_rule() {
        let rules = [
            rule(&["http://a"], &["PUT"], &["x-ms-meta*", "content-type"]),
            rule(&["*"], &["PUT", "GET"], &["*"]),
            rule(&["https://*.contoso.com"], &["DELETE"], &[]),
        ];
        let answered = |origin, method, names| preflight(&rules, &asked(origin, method, names)).map_err(|f| f.status());
        let reply = answered("http://a", "PUT", "X-MS-Meta-1, Content-Type").unwrap();
        assert_eq!(value(&reply, "Access-Control-Allow-Origin"), Some("http://a"));
        assert_eq!(value(&reply, "Access-Control-Allow-Headers"), Some("X-MS-Meta-1, Content-Type"));
        assert_eq!(answered("http://a", "PUT", "other"), Err(403));
        let reply = answered("http://b", "GET", "anything").unwrap();
        assert_eq!(value(&reply, "Access-Control-Allow-Origin"), Some("*"));
        assert!(answered("https://www.contoso.com", "DELETE", "").is_ok());
        assert_eq!(answered("https://contoso.com.evil", "DELETE", ""), Err(403));
        assert_eq!((answered("", "GET", ""), answered("http://a", "", "")), (Err(400), Err(400)));
        assert_eq!(preflight(&[], &asked("http://a", "PUT", "")).map_err(|f| f.code()), Err("CorsPreflightFailure"));
    }

    #[test]
    fn answers_say_who_may_read_them() {
        let rules = [rule(&["http://a"], &["GET"], &[])];
        let reply = || Reply::new(200).with("x-ms-version", "v").with("ETag", "e").with("Other", "o");
        let to_a = cors_headers(&rules, "GET", Some("http://a"), reply());
        assert_eq!(value(&to_a, "Access-Control-Expose-Headers"), Some("x-ms-version,ETag"));
        assert_eq!(
            (value(&to_a, "Vary"), value(&to_a, "Access-Control-Allow-Credentials")),
            (Some("Origin"), Some("true"))
        );
        let to_b = cors_headers(&rules, "GET", Some("http://b"), reply());
        assert_eq!((value(&to_b, "Access-Control-Allow-Origin"), value(&to_b, "Vary")), (None, Some("Origin")));
        assert_eq!(value(&cors_headers(&rules, "GET", None, reply()), "Vary"), Some("Origin"));
        let any = cors_headers(&[rule(&["*"], &["GET"], &[])], "GET", Some("http://b"), reply());
        assert_eq!((value(&any, "Access-Control-Allow-Origin"), value(&any, "Vary")), (Some("*"), None));
        assert_eq!(cors_headers(&[], "GET", Some("http://a"), reply()), reply());
    }
}
