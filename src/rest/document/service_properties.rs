//! Service properties (section 5.2): logging and metrics, which are kept and shown, and CORS.

use super::xml::{Element, bad_value, escaped, not_valid};
use crate::errors::Failure;
use crate::reply::BYTE_ORDER_MARK;

const CORS_RULES_MAX: usize = 5;
const CORS_BYTES_MAX: usize = 2 * 1024;
const CORS_ITEMS_MAX: usize = 64;
/// Of the headers of a list, those that stand for all with a beginning: `x-ms-meta*`.
const CORS_PREFIXES_MAX: usize = 2;
const CORS_ITEM_CHARS_MAX: usize = 256;
const RETENTION_DAYS_MAX: u32 = 365;

/// The sections beside CORS, with the flags that each has to have.
const SECTIONS: [(&str, &[&str]); 3] =
    [("Logging", &["Delete", "Read", "Write"]), ("HourMetrics", &["Enabled"]), ("MinuteMetrics", &["Enabled"])];

/// What was set for an account's service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ServiceProperties {
    /// The sections of `SECTIONS`, as they are shown.
    sections: [String; 3],
    pub cors: Vec<CorsRule>,
}

/// Which pages of other origins may send which requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CorsRule {
    pub origins: Vec<String>,
    pub methods: Vec<String>,
    pub max_age_seconds: u32,
    pub exposed_headers: Vec<String>,
    pub allowed_headers: Vec<String>,
}

/// Of a fresh account: nothing is on (its order and defaults are unconfirmed).
impl Default for ServiceProperties {
    fn default() -> Self {
        let off = "<RetentionPolicy><Enabled>false</Enabled></RetentionPolicy>";
        let metrics = |name: &str| format!("<{name}><Version>1.0</Version><Enabled>false</Enabled>{off}</{name}>");
        let logging = format!(
            "<Logging><Version>1.0</Version><Delete>false</Delete><Read>false</Read><Write>false</Write>{off}</Logging>"
        );
        Self { sections: [logging, metrics("HourMetrics"), metrics("MinuteMetrics")], cors: Vec::new() }
    }
}

impl ServiceProperties {
    /// These with what the body of a PUT says; what it leaves out stays.
    pub(crate) fn changed_by(mut self, body: &[u8]) -> Result<Self, Failure> {
        let root = Element::parse(body)?;
        if root.name != "StorageServiceProperties" {
            return Err(not_valid());
        }
        for child in &root.children {
            match SECTIONS.iter().position(|(name, _)| *name == child.name) {
                Some(at) => self.sections[at] = section(child, SECTIONS[at].1)?,
                None if child.name == "Cors" => self.cors = cors(child)?,
                // Blob and queue services have sections of their own.
                None => return Err(not_valid()),
            }
        }
        Ok(self)
    }

    /// The body of a GET, which is read back as these.
    pub(crate) fn to_xml(&self) -> String {
        let mut xml = format!("{BYTE_ORDER_MARK}<?xml version=\"1.0\" encoding=\"utf-8\"?><StorageServiceProperties>");
        self.sections.iter().for_each(|section| xml.push_str(section));
        if self.cors.is_empty() {
            return xml + "<Cors /></StorageServiceProperties>";
        }
        xml.push_str("<Cors>");
        for rule in &self.cors {
            let list = |items: &[String]| escaped(&items.join(","));
            xml.push_str(&format!(
                "<CorsRule><AllowedOrigins>{}</AllowedOrigins><AllowedMethods>{}</AllowedMethods><MaxAgeInSeconds>{}\
                 </MaxAgeInSeconds><ExposedHeaders>{}</ExposedHeaders><AllowedHeaders>{}</AllowedHeaders></CorsRule>",
                list(&rule.origins),
                list(&rule.methods),
                rule.max_age_seconds,
                list(&rule.exposed_headers),
                list(&rule.allowed_headers)
            ));
        }
        xml + "</Cors></StorageServiceProperties>"
    }
}

/// Logging or metrics, written anew of what they have to have.
fn section(element: &Element, flags: &[&str]) -> Result<String, Failure> {
    let name = &element.name;
    let version = element.child_text("Version").ok_or_else(not_valid)?;
    if version != "1.0" {
        return Err(bad_value("Version"));
    }
    let mut xml = format!("<{name}><Version>1.0</Version>");
    for flag in flags {
        let value = boolean(element, flag)?;
        xml.push_str(&format!("<{flag}>{value}</{flag}>"));
        // Required where metrics are on, and not taken where they are off.
        if *flag == "Enabled" && value {
            let value = boolean(element, "IncludeAPIs")?;
            xml.push_str(&format!("<IncludeAPIs>{value}</IncludeAPIs>"));
        }
    }
    let retention = element.child("RetentionPolicy").ok_or_else(not_valid)?;
    let is_kept = boolean(retention, "Enabled")?;
    xml.push_str(&format!("<RetentionPolicy><Enabled>{is_kept}</Enabled>"));
    if is_kept {
        let days = retention.child_text("Days").ok_or_else(not_valid)?;
        let days = days.parse::<u32>().ok().filter(|days| (1..=RETENTION_DAYS_MAX).contains(days));
        xml.push_str(&format!("<Days>{}</Days>", days.ok_or_else(|| bad_value("Days"))?));
    }
    Ok(xml + &format!("</RetentionPolicy></{name}>"))
}

fn boolean(element: &Element, name: &str) -> Result<bool, Failure> {
    match element.child_text(name).ok_or_else(not_valid)?.to_ascii_lowercase().as_str() {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => Err(bad_value(name)),
    }
}

fn cors(element: &Element) -> Result<Vec<CorsRule>, Failure> {
    if element.children.len() > CORS_RULES_MAX {
        return Err(not_valid());
    }
    let mut bytes = 0;
    let mut rules = Vec::new();
    for rule in &element.children {
        if rule.name != "CorsRule" {
            return Err(not_valid());
        }
        bytes += rule.children.iter().map(|child| child.text.len()).sum::<usize>();
        let list = |name: &str| -> Result<Vec<String>, Failure> {
            let text = rule.child(name).ok_or_else(not_valid)?.text.trim();
            let items: Vec<String> =
                text.split(',').map(str::trim).filter(|item| !item.is_empty()).map(str::to_owned).collect();
            let is_long = items.iter().any(|item| item.chars().count() > CORS_ITEM_CHARS_MAX);
            if items.len() > CORS_ITEMS_MAX || is_long { Err(bad_value(name)) } else { Ok(items) }
        };
        // A single star stands for all, and is no beginning.
        let headers = |name: &str| {
            let items = list(name)?;
            let prefixes = items.iter().filter(|item| item.ends_with('*') && *item != "*").count();
            let is_inside = |item: &String| item.trim_end_matches('*').contains('*') || item.ends_with("**");
            if prefixes > CORS_PREFIXES_MAX || items.iter().any(is_inside) { Err(bad_value(name)) } else { Ok(items) }
        };
        let (origins, methods) = (list("AllowedOrigins")?, list("AllowedMethods")?);
        let known = ["DELETE", "GET", "HEAD", "MERGE", "POST", "PATCH", "OPTIONS", "PUT"];
        if origins.is_empty() {
            return Err(bad_value("AllowedOrigins"));
        }
        if methods.is_empty() || !methods.iter().all(|method| known.contains(&method.as_str())) {
            return Err(bad_value("AllowedMethods"));
        }
        let max_age = rule.child_text("MaxAgeInSeconds").ok_or_else(not_valid)?;
        rules.push(CorsRule {
            origins,
            methods,
            max_age_seconds: max_age.parse().map_err(|_| bad_value("MaxAgeInSeconds"))?,
            exposed_headers: headers("ExposedHeaders")?,
            allowed_headers: headers("AllowedHeaders")?,
        });
    }
    if bytes > CORS_BYTES_MAX { Err(not_valid()) } else { Ok(rules) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(body: &str) -> Result<ServiceProperties, Failure> {
        let body = format!("<StorageServiceProperties>{body}</StorageServiceProperties>");
        ServiceProperties::default().changed_by(body.as_bytes())
    }

    const RULE: &str = "<CorsRule><AllowedOrigins>http://a, http://b</AllowedOrigins><AllowedMethods>GET,PUT</AllowedMethods>\
        <MaxAgeInSeconds>500</MaxAgeInSeconds><ExposedHeaders>x-ms-meta*</ExposedHeaders><AllowedHeaders/></CorsRule>";

    #[test]
    fn properties_read_back_and_absent_sections_stay() {
        let fresh = ServiceProperties::default();
        assert_eq!(ServiceProperties::default().changed_by(fresh.to_xml().as_bytes()), Ok(fresh.clone()));
        let with_rule = changed(&format!("<Cors>{RULE}</Cors>")).unwrap();
        assert_eq!((with_rule.cors[0].origins.len(), with_rule.cors[0].max_age_seconds), (2, 500));
        assert_eq!(with_rule.sections, fresh.sections);
        let metrics = "<HourMetrics><Version>1.0</Version><Enabled>true</Enabled><IncludeAPIs>true</IncludeAPIs>\
            <RetentionPolicy><Enabled>true</Enabled><Days>5</Days></RetentionPolicy></HourMetrics>";
        let both = with_rule
            .clone()
            .changed_by(format!("<StorageServiceProperties>{metrics}</StorageServiceProperties>").as_bytes());
        let both = both.unwrap();
        assert_eq!((both.sections[1].as_str(), &both.cors), (metrics, &with_rule.cors));
        assert_eq!(ServiceProperties::default().changed_by(both.to_xml().as_bytes()), Ok(both.clone()));
        assert!(
            both.changed_by(b"<StorageServiceProperties><Cors/></StorageServiceProperties>").unwrap().cors.is_empty()
        );
    }

    #[test]
    fn limits_and_forms() {
        let code = |body: &str| changed(body).unwrap_err().code();
        assert_eq!(code(&format!("<Cors>{}</Cors>", RULE.repeat(6))), "InvalidXmlDocument");
        assert_eq!(code(&format!("<Cors>{}</Cors>", RULE.replace("GET", "GOT"))), "InvalidXmlNodeValue");
        assert_eq!(code(&format!("<Cors>{}</Cors>", RULE.replace("500", "-1"))), "InvalidXmlNodeValue");
        for (headers, wanted) in [
            ("*", None),
            ("x-ms-meta-*,x-ms-data*,content-type", None),
            ("a*,b*,*", None),
            ("a*,b*,c*", Some("InvalidXmlNodeValue")),
            ("a*b", Some("InvalidXmlNodeValue")),
            ("a**", Some("InvalidXmlNodeValue")),
        ] {
            let allowed = RULE.replace("<AllowedHeaders/>", &format!("<AllowedHeaders>{headers}</AllowedHeaders>"));
            let exposed = RULE.replace("x-ms-meta*", headers);
            for rule in [allowed, exposed] {
                let changed = changed(&format!("<Cors>{rule}</Cors>"));
                assert_eq!(changed.map_err(|failure| failure.code()).err(), wanted, "{headers}");
            }
        }
        let many = (0..65).map(|n| format!("h{n}")).collect::<Vec<_>>().join(",");
        assert_eq!(code(&format!("<Cors>{}</Cors>", RULE.replace("x-ms-meta*", &many))), "InvalidXmlNodeValue");
        assert_eq!(code("<Logging><Version>1.0</Version></Logging>"), "InvalidXmlDocument");
        assert_eq!(code("<Other/>"), "InvalidXmlDocument");
    }
}
