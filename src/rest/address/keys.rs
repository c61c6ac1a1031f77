//! What stands in parentheses behind a name: nothing, one key, or PartitionKey and RowKey.

use rowkey_model::Key;

/// The keys of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Keys {
    /// `()`.
    None,
    /// `('x')`, or another number of keys than an entity has.
    Other(Vec<String>),
    /// In either order (that the other one is taken is unconfirmed).
    Entity(Key),
}

/// Reads the text between the parentheses; `None` where it is no list of keys.
pub(crate) fn parse(text: &str) -> Option<Keys> {
    let mut rest = text.trim();
    if rest.is_empty() {
        return Some(Keys::None);
    }
    let (mut partition, mut row, mut others) = (None, None, Vec::new());
    loop {
        let (name, behind) = match rest.strip_prefix('\'') {
            Some(_) => ("", rest),
            None => rest.split_once('=').map(|(name, behind)| (name.trim(), behind.trim_start()))?,
        };
        let (value, behind) = quoted(behind)?;
        match name {
            "PartitionKey" if partition.is_none() => partition = Some(value),
            "RowKey" if row.is_none() => row = Some(value),
            "PartitionKey" | "RowKey" => return None,
            _ => others.push(value),
        }
        rest = behind.trim_start();
        if rest.is_empty() {
            break;
        }
        rest = rest.strip_prefix(',')?.trim_start();
    }
    Some(match (partition, row) {
        (Some(partition), Some(row)) if others.is_empty() => Keys::Entity(Key::new(partition, row)),
        (partition, row) => Keys::Other(others.into_iter().chain(partition).chain(row).collect()),
    })
}

/// A text in quotes, which are doubled inside it, and what is behind it.
fn quoted(text: &str) -> Option<(String, &str)> {
    let mut rest = text.strip_prefix('\'')?;
    let mut value = String::new();
    loop {
        let (part, behind) = rest.split_once('\'')?;
        value.push_str(part);
        match behind.strip_prefix('\'') {
            Some(behind) => {
                value.push('\'');
                rest = behind;
            }
            None => return Some((value, behind)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_entities_and_tables() {
        let entity = |partition: &str, row: &str| Some(Keys::Entity(Key::new(partition, row)));
        assert_eq!(parse("PartitionKey='p',RowKey='r'"), entity("p", "r"));
        assert_eq!(parse(" PartitionKey = 'p' , RowKey='r' "), entity("p", "r"));
        assert_eq!(parse("RowKey='r',PartitionKey='p'"), entity("p", "r"));
        assert_eq!(parse("PartitionKey='O''Brien, ()=',RowKey=''"), entity("O'Brien, ()=", ""));
        assert_eq!(parse("  "), Some(Keys::None));
        assert_eq!(parse("'x'"), Some(Keys::Other(vec!["x".to_owned()])));
        assert_eq!(parse("PartitionKey='p'"), Some(Keys::Other(vec!["p".to_owned()])));
        for bad in [
            "PartitionKey='p' RowKey='r'",
            "PartitionKey=p,RowKey=r",
            "'x",
            "x",
            "'x',",
            "PartitionKey='p',PartitionKey='q'",
        ] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }
}
