//! The types of the catalog itself in casts: `oid`, `regclass`, `name`, `"char"`, `int2vector` and
//! their like.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::Result;
use datafusion::logical_expr::planner::TypePlanner;
use datafusion::sql::sqlparser::ast::{ArrayElemTypeDef, DataType as SqlType};

use super::ast::last_word;
use crate::functions::system::REGISTERED_TYPES;
use crate::types::POSTGRES_TYPE;

/// Plans these types, and leaves the others to the planner behind it.
#[derive(Debug)]
pub(crate) struct CatalogTypes {
    pub others: Option<Arc<dyn TypePlanner>>,
}

impl TypePlanner for CatalogTypes {
    fn plan_type_field(&self, sql_type: &SqlType) -> Result<Option<FieldRef>> {
        match (catalog_type(sql_type), &self.others) {
            (Some(field), _) => Ok(Some(field)),
            (None, Some(others)) => others.plan_type_field(sql_type),
            (None, None) => Ok(None),
        }
    }
}

/// The field of a type of the catalog: its Arrow type, with its name in the metadata.
pub(super) fn catalog_type(sql_type: &SqlType) -> Option<FieldRef> {
    match sql_type {
        SqlType::Regclass => named("regclass"),
        SqlType::Custom(name, _) => named(&last_word(name)),
        SqlType::Array(ArrayElemTypeDef::SquareBracket(item, _)) => {
            let item = catalog_type(item)?;
            let name = format!("_{}", item.metadata().get(POSTGRES_TYPE)?);
            Some(field(DataType::new_list(item.data_type().clone(), true), &name))
        }
        _ => None,
    }
}

fn named(name: &str) -> Option<FieldRef> {
    let data_type = match name {
        "oid" | "xid" | "cid" => DataType::UInt32,
        name if REGISTERED_TYPES.contains(&name) => DataType::UInt32,
        "name" | "char" | "aclitem" | "pg_node_tree" | "unknown" | "bpchar" | "cstring" => DataType::Utf8View,
        "int2vector" => DataType::new_list(DataType::Int16, true),
        "oidvector" => DataType::new_list(DataType::UInt32, true),
        "_text" => return Some(Arc::new(Field::new("", DataType::new_list(DataType::Utf8View, true), true))),
        _ => return None,
    };
    Some(field(data_type, name))
}

fn field(data_type: DataType, name: &str) -> FieldRef {
    Arc::new(Field::new("", data_type, true).with_metadata([(POSTGRES_TYPE.to_owned(), name.to_owned())].into()))
}
