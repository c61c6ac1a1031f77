//! `$select` (specification, section 2.8).

use crate::errors::Failure;

const NAMES_MAX: usize = 255;

/// Which properties an answer has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Select {
    pub names: Vec<String>,
    /// What stands behind the context of the answer.
    pub suffix: String,
}

impl Select {
    /// Reads the option; none where all properties are wanted: it is empty or has a `*`
    /// (unconfirmed).
    pub(super) fn parse(text: Option<&str>) -> Result<Option<Self>, Failure> {
        let text = text.unwrap_or_default();
        let (mut names, mut is_all): (Vec<String>, _) = (Vec::new(), true);
        for name in text.split(',').map(str::trim).filter(|name| !name.is_empty()) {
            if name == "*" {
                return Ok(None);
            }
            is_all = false;
            // JSON has a member once, and the level decides on annotations.
            if !is_annotation(name) && !names.iter().any(|other| other == name) {
                names.push(name.to_owned());
            }
        }
        if names.len() > NAMES_MAX {
            return Err(Failure::not_valid());
        }
        let suffix = format!("&$select={}", text.replace(' ', "%20"));
        Ok(if is_all { None } else { Some(Self { names, suffix }) })
    }
}

/// A name that no property has (section 1.2).
fn is_annotation(name: &str) -> bool {
    name.starts_with("odata.") || name.contains("@odata.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_keep_their_order_and_the_context_their_text() {
        let select = Select::parse(Some("age, sex,age")).unwrap().unwrap();
        assert_eq!(
            (select.names, select.suffix.as_str()),
            (vec!["age".to_owned(), "sex".to_owned()], "&$select=age,%20sex,age")
        );
        for all in [None, Some(""), Some("*"), Some("a,*"), Some(" , ")] {
            assert_eq!(Select::parse(all), Ok(None), "{all:?}");
        }
        let annotations = Select::parse(Some("odata.etag,age,age@odata.type,Timestamp")).unwrap().unwrap();
        assert_eq!(annotations.names, ["age", "Timestamp"]);
        assert!(Select::parse(Some("odata.etag")).unwrap().unwrap().names.is_empty());
        let many: Vec<String> = (0..300).map(|at| format!("n{at}")).collect();
        assert!(Select::parse(Some(&many.join(","))).is_err());
    }
}
