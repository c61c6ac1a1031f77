//! What tells the type of an entity.

use rowkey_model::EdmType;
use rowkey_storage::Table;

/// Properties that hold nothing else than the type of an entity, in lower case and in the order
/// they are tried.
const TYPE_PROPERTIES: [&str; 6] = ["entitytype", "entity_type", "discriminator", "entitykind", "entityname", "_type"];
/// Properties that hold it in some tables, and something else in others: they count only if every
/// entity has one.
const MAYBE_TYPE_PROPERTIES: [&str; 5] = ["type", "kind", "objecttype", "recordtype", "documenttype"];

/// A prefix of RowKeys: letters, and the separator behind them.
const ROW_KEY_PREFIX: &str = "^[A-Za-z]{1,32}[-_:|.~!,;=+@]";

/// A rule that gives each entity its type, or none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TypeRule {
    /// The value of a property. With `everywhere`, it has to be one that every entity has.
    Property { name: String, everywhere: bool },
    /// The letters that RowKeys begin with, up to a separator.
    RowKeyPrefix,
}

impl TypeRule {
    /// The rules that may fit a table, the likeliest first.
    pub(super) fn candidates(table: &Table) -> Vec<Self> {
        let property = |wanted: &&str, everywhere: bool| {
            let is_text = |types: &[EdmType]| types == [EdmType::String];
            let found =
                table.columns.iter().find(|column| column.name.to_lowercase() == **wanted && is_text(&column.types));
            found.map(|column| TypeRule::Property { name: column.name.to_string(), everywhere })
        };
        let sure = TYPE_PROPERTIES.iter().filter_map(|name| property(name, false));
        let maybe = MAYBE_TYPE_PROPERTIES.iter().filter_map(|name| property(name, true));
        sure.chain(maybe).chain([TypeRule::RowKeyPrefix]).collect()
    }

    /// The type as an expression in SQL, NULL where an entity has none.
    pub(super) fn expression(&self) -> String {
        match self {
            TypeRule::Property { name, .. } => quoted(name),
            TypeRule::RowKeyPrefix => {
                let whole = format!("({ROW_KEY_PREFIX}).*$");
                // The group goes inside the anchor.
                let whole = whole.replacen("(^", "^(", 1);
                format!(
                    "CASE WHEN regexp_like(\"RowKey\", {}) THEN regexp_replace(\"RowKey\", {}, '\\1') END",
                    literal(ROW_KEY_PREFIX),
                    literal(&whole)
                )
            }
        }
    }

    /// The condition that picks the entities of a type, as the expression gives it.
    pub(super) fn condition(&self, entity_type: &str) -> String {
        match self {
            TypeRule::Property { name, .. } => format!("{} = {}", quoted(name), literal(entity_type)),
            TypeRule::RowKeyPrefix => {
                let escaped = entity_type.replace('\\', "\\\\").replace('_', "\\_").replace('%', "\\%");
                format!("\"RowKey\" LIKE {}", literal(&format!("{escaped}%")))
            }
        }
    }

    /// The name of a type, as the expression gives it: a prefix without its separator.
    pub(super) fn name_of<'a>(&self, entity_type: &'a str) -> &'a str {
        match self {
            TypeRule::Property { .. } => entity_type,
            TypeRule::RowKeyPrefix => entity_type.trim_end_matches(|c: char| !c.is_ascii_alphabetic()),
        }
    }

    /// The rule in words.
    pub(super) fn words(&self, entity_type: &str) -> String {
        match self {
            TypeRule::Property { name, .. } => format!("property {name} is {entity_type}"),
            TypeRule::RowKeyPrefix => format!("RowKey begins with {entity_type}"),
        }
    }
}

/// An identifier in double quotes.
pub(super) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// A text in single quotes.
pub(super) fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_written_in_sql() {
        let property = TypeRule::Property { name: "Kind".to_owned(), everywhere: true };
        assert_eq!(property.condition("O'Hara"), "\"Kind\" = 'O''Hara'");
        assert_eq!(property.words("x"), "property Kind is x");
        let prefix = TypeRule::RowKeyPrefix;
        assert_eq!(prefix.condition("emp_"), "\"RowKey\" LIKE 'emp\\_%'");
        assert_eq!(prefix.name_of("emp_"), "emp");
        assert!(prefix.expression().contains("'^([A-Za-z]{1,32}[-_:|.~!,;=+@]).*$'"), "{}", prefix.expression());
    }
}
