//! Names of oids and oids of names.

use std::collections::HashMap;
use std::sync::Arc;

use super::column_types::{DOMAINS, namespace_of};
#[cfg(test)]
use super::contents::TIMESTAMP_DEFAULT;
use super::contents::{Contents, Relation, definition, key_name, schemas};
use super::oid::{self, Part};
use super::recorded::{FUNCTIONS, FUNCTIONS_BY_NAME, function_by_oid};
use super::rows::{comment, index_definition, key_constraint_definition, quoted, types};
use super::session_info::FunctionKind;
use rowkey_model::TableName;
use rowkey_postgres::types::{type_by_name, type_by_oid};

/// What is known of a relation by its oid.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RelationFacts {
    pub oid: u32,
    pub schema: &'static str,
    pub name: String,
    /// As `pg_class.relkind`: r, v or i.
    pub kind: char,
    pub rows: u64,
    /// Of its files.
    pub bytes: u64,
    /// Bytes of its indexes; the key needs none beside the table's.
    pub index_bytes: u64,
}

/// A type by its oid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TypeFacts {
    pub oid: u32,
    pub schema: &'static str,
    /// `pg_type.typname`.
    pub name: String,
    /// As `format_type` writes it; none if it goes by schema and name.
    pub sql_name: Option<&'static str>,
    /// The type of its elements, if it is an array; else 0.
    pub element: u32,
}

/// Looks things up in the catalog of one statement.
#[derive(Debug, Clone)]
pub(crate) struct Oids {
    contents: Arc<Contents>,
}

impl Oids {
    pub(super) fn new(contents: Arc<Contents>) -> Self {
        Self { contents }
    }

    pub(crate) fn namespace_oid(&self, schema: &str) -> Option<u32> {
        schemas().find(|known| *known == schema).and_then(namespace_of)
    }

    pub(crate) fn namespace_name(&self, oid: u32) -> Option<&'static str> {
        schemas().find(|schema| namespace_of(schema) == Some(oid))
    }

    /// A table, view or index. Names ignore case.
    pub(crate) fn relation_oid(&self, schema: &str, name: &str) -> Option<u32> {
        if schema != "public" {
            return definition(schema, name).map(|definition| definition.oid);
        }
        let contents = &self.contents;
        let table =
            TableName::parse(name).ok().and_then(|name| contents.snapshot.catalog.table(&contents.account, &name));
        if let Some(table) = table {
            return oid::of(table.id, Part::Relation);
        }
        if let Some(view) = contents.snapshot.catalog.view(&contents.account, name) {
            return oid::of(view.id, Part::Relation);
        }
        let keyed = self.contents.tables().find(|table| key_name(table).eq_ignore_ascii_case(name))?;
        oid::of(keyed.id, Part::KeyIndex)
    }

    pub(crate) fn relation(&self, oid: u32) -> Option<RelationFacts> {
        self.contents.relation(oid).map(|relation| facts(&relation))
    }

    /// The columns of a relation in their order; their numbers count from 1.
    pub(crate) fn columns(&self, relation: u32) -> Vec<String> {
        let columns = self.contents.relation(relation).map(|relation| relation.columns()).unwrap_or_default();
        columns.into_iter().map(|column| column.name.to_string()).collect()
    }

    /// The number of a column, by its exact name.
    /// The numbers of all columns, by name.
    pub(crate) fn column_numbers(&self, relation: u32) -> HashMap<String, i16> {
        let columns = self.contents.relation(relation).map(|relation| relation.columns()).unwrap_or_default();
        columns.into_iter().map(|column| (column.name.to_string(), column.number)).collect()
    }

    pub(crate) fn column_name(&self, relation: u32, number: i16) -> Option<String> {
        let columns = self.contents.relation(relation)?.columns();
        columns.into_iter().find(|column| column.number == number).map(|column| column.name.to_string())
    }

    /// Every type of `pg_type`, row types and their arrays too.
    pub(crate) fn type_facts(&self, oid: u32) -> Option<TypeFacts> {
        if let Some(ty) = type_by_oid(oid) {
            let element = if ty.category == 'A' { ty.element_oid } else { 0 };
            let name = ty.name.to_owned();
            return Some(TypeFacts { oid, schema: "pg_catalog", name, sql_name: Some(ty.sql_name), element });
        }
        if let Some((id, part)) = oid::part_of(oid) {
            let relation = self.contents.relation(oid::of(id, Part::Relation)?)?;
            let (row_type, _) = relation.types();
            let (name, element) = match part {
                Part::RowType => (relation.name.to_string(), 0),
                Part::ArrayType => (format!("_{}", relation.name), row_type),
                _ => return None,
            };
            return Some(TypeFacts { oid, schema: relation.schema, name, sql_name: None, element });
        }
        let ty = types(&self.contents).find(|ty| ty.oid == oid)?;
        Some(TypeFacts {
            oid,
            schema: self.namespace_name(ty.namespace)?,
            name: ty.name.to_string(),
            sql_name: ty.sql_name(),
            element: ty.array_element(),
        })
    }

    /// A type by its exact name in `pg_type`.
    pub(crate) fn type_oid(&self, schema: &str, name: &str) -> Option<u32> {
        match schema {
            "pg_catalog" if type_by_name(name).is_some_and(|ty| ty.name == name) => type_by_name(name).map(|ty| ty.oid),
            "information_schema" if DOMAINS.iter().any(|domain| domain.name == name) => {
                DOMAINS.iter().find(|domain| domain.name == name).map(|domain| domain.oid)
            }
            _ => {
                let namespace = self.namespace_oid(schema)?;
                types(&self.contents).find(|ty| ty.namespace == namespace && *ty.name == *name).map(|ty| ty.oid)
            }
        }
    }

    pub(crate) fn function_name(&self, oid: u32) -> Option<String> {
        if !oid::FUNCTIONS.contains(&oid) {
            return function_by_oid(oid).map(|function| function.name.to_owned());
        }
        self.contents.functions().by_oid(oid).map(|shown| shown.name.to_string())
    }

    /// The functions of a name, in the order of their oids.
    pub(crate) fn function_oids(&self, name: &str) -> Vec<u32> {
        let functions = self.contents.functions();
        let mut oids: Vec<u32> =
            functions.all().filter(|shown| *shown.name == *name).map(|shown| shown.function.oid).collect();
        if oids.is_empty() {
            // Functions of PostgreSQL that nothing here calls or names still have their oids.
            let places = FUNCTIONS_BY_NAME.get(name).into_iter().flatten();
            oids.extend(places.filter_map(|place| FUNCTIONS.get(*place)).map(|function| function.oid));
        }
        oids
    }

    /// Whether a statement may call a function of this name, and all of them take single values.
    pub(crate) fn is_scalar_function(&self, name: &str) -> bool {
        let names = self.contents.session.function_names();
        let mut kinds = names.iter().filter(|(known, _)| known == name).map(|(_, kind)| *kind).peekable();
        kinds.peek().is_some() && kinds.all(|kind| kind == FunctionKind::Scalar)
    }

    /// The types of a function's arguments, and of its result.
    pub(crate) fn function_types(&self, oid: u32) -> Option<(Vec<u32>, u32)> {
        let functions = self.contents.functions();
        let function = functions.by_oid(oid).map(|shown| &shown.function).or_else(|| function_by_oid(oid))?;
        Some((function.arguments.clone(), function.result))
    }

    pub(crate) fn role_name(&self, oid: u32) -> Option<String> {
        (oid == oid::ROLE).then(|| self.contents.user())
    }

    pub(crate) fn role_oid(&self, name: &str) -> Option<u32> {
        (self.contents.session.user() == name).then_some(oid::ROLE)
    }

    pub(crate) fn database_name(&self, oid: u32) -> Option<String> {
        self.contents.session.databases().into_iter().find(|name| oid::of_database(name) == oid)
    }

    /// Bytes of the files of all tables of an account.
    pub(crate) fn account_bytes(&self, account: &str) -> u64 {
        let tables = self.contents.snapshot.catalog.tables().filter(|table| table.account == account);
        tables.flat_map(|table| table.manifest.files()).map(|file| file.bytes).sum()
    }

    pub(crate) fn database_oid(&self, name: &str) -> Option<u32> {
        self.contents.session.databases().iter().find(|known| *known == name).map(|name| oid::of_database(name))
    }

    /// What `pg_get_constraintdef` says.
    pub(crate) fn constraint_definition(&self, oid: u32) -> Option<String> {
        self.part(oid, Part::KeyConstraint).map(|_| key_constraint_definition())
    }

    /// What `pg_get_indexdef` says: of the whole index for column 0, else the column.
    pub(crate) fn index_definition(&self, oid: u32, column: i32) -> Option<String> {
        let table = self.part(oid, Part::KeyIndex)?;
        if column == 0 {
            return Some(index_definition(&table));
        }
        let name = self.column_name(oid, i16::try_from(column).ok()?)?;
        Some(quoted(&name))
    }

    /// What `pg_get_viewdef` says.
    pub(crate) fn view_definition(&self, oid: u32) -> Option<String> {
        self.contents.relation(oid)?.view_definition()
    }

    /// The default of a column in SQL.
    #[cfg(test)]
    pub(crate) fn column_default(&self, relation: u32, number: i16) -> Option<&'static str> {
        let columns = self.contents.relation(relation)?.columns();
        columns.into_iter().find(|column| column.number == number)?.default
    }

    /// The default that has this oid in `pg_attrdef`.
    #[cfg(test)]
    pub(crate) fn default_expression(&self, oid: u32) -> Option<&'static str> {
        self.part(oid, Part::TimestampDefault).map(|_| TIMESTAMP_DEFAULT)
    }

    /// The comment on an object, or on a column of one by its number, else 0. `class` is the oid of
    /// the relation that lists such objects, such as `pg_class`.
    pub(crate) fn comment(&self, object: u32, class: u32, column: i32) -> Option<String> {
        comment(&self.contents, object, class, column)
    }

    /// The table whose part an oid names.
    fn part(&self, oid: u32, part: Part) -> Option<Arc<rowkey_storage::Table>> {
        let (id, _) = oid::part_of(oid).filter(|(_, found)| *found == part)?;
        let table = self.contents.snapshot.table(id)?;
        (table.account == self.contents.account.as_str()).then(|| Arc::clone(table))
    }
}

fn facts(relation: &Relation) -> RelationFacts {
    RelationFacts {
        oid: relation.oid,
        schema: relation.schema,
        name: relation.name.to_string(),
        kind: relation.kind,
        rows: relation.live_rows(),
        bytes: relation.bytes(),
        index_bytes: 0,
    }
}
