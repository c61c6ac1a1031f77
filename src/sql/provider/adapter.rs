//! From the columns of a table to those of one file, in every expression that is pushed into the
//! scan.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, SchemaRef};
use arrow_schema::extension::ExtensionType;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::config::ConfigOptions;
use datafusion::logical_expr::ScalarUDF;
use datafusion::physical_expr::expressions::{CastExpr, Column, Literal};
use datafusion::physical_expr::{PhysicalExpr, ScalarFunctionExpr};
use datafusion::physical_expr_adapter::{PhysicalExprAdapter, PhysicalExprAdapterFactory};
use parquet::arrow::RowNumber;

use super::columns::{ColumnSource, TableColumns, WidenedType};
use super::exact_time::{ExactTime, ExactTimeOf};
use super::widening::WidenedValue;
use rowkey_model::EdmType;
use rowkey_model::columns::{TIMESTAMP, property_type, tick_name, typed_name};

/// Rewrites column references per file: a property may lie there in one type, in several, or not at
/// all.
#[derive(Debug, Clone)]
pub(super) struct EntityColumnAdapterFactory {
    pub columns: TableColumns,
}

impl PhysicalExprAdapterFactory for EntityColumnAdapterFactory {
    fn create(&self, _logical: SchemaRef, physical: SchemaRef) -> Result<Arc<dyn PhysicalExprAdapter>> {
        Ok(Arc::new(EntityColumnAdapter { columns: self.columns.clone(), file: physical }))
    }
}

#[derive(Debug)]
struct EntityColumnAdapter {
    columns: TableColumns,
    file: SchemaRef,
}

impl PhysicalExprAdapter for EntityColumnAdapter {
    fn rewrite(&self, expr: Arc<dyn PhysicalExpr>) -> Result<Arc<dyn PhysicalExpr>> {
        expr.transform_down(|expr| match expr.downcast_ref::<Column>() {
            // What replaces a column refers to the file's columns and is not looked at again.
            Some(column) => {
                let replaced = self.column(column.name())?;
                Ok(Transformed::new(replaced, true, datafusion::common::tree_node::TreeNodeRecursion::Jump))
            }
            None => Ok(Transformed::no(expr)),
        })
        .data()
    }
}

impl EntityColumnAdapter {
    fn column(&self, name: &str) -> Result<Arc<dyn PhysicalExpr>> {
        let Some((_, field)) = self.columns.schema().column_with_name(name) else {
            // Not of the table, and not in the file either: its rows, counted by the reader.
            if let Some((index, field)) = self.file.column_with_name(name)
                && field.extension_type_name() == Some(RowNumber::NAME)
            {
                return Ok(Arc::new(Column::new(name, index)));
            }
            return internal_err!("column {name} is not one of the table");
        };
        let wanted = field.data_type();
        match self.columns.source(name) {
            Some(ColumnSource::Key | ColumnSource::Other) | None => self.stored(name, wanted),
            Some(ColumnSource::Typed { property, edm }) => match self.find(property, *edm) {
                Some(stored) => self.stored(&stored, wanted),
                None => Ok(Arc::new(Literal::new(ScalarValue::try_from(wanted)?))),
            },
            Some(ColumnSource::Widened { property, types, to, .. }) => self.widened(property, types, *to),
            Some(ColumnSource::Ticks { property }) => self.exact_time(property, ExactTime::Ticks),
            Some(ColumnSource::Etag) => self.exact_time(TIMESTAMP, ExactTime::Etag),
        }
    }

    /// Name of the file's column with the values of one type of a property.
    fn find(&self, property: &str, edm: EdmType) -> Option<String> {
        let typed = typed_name(property, edm);
        if self.file.column_with_name(&typed).is_some() {
            return Some(typed);
        }
        let (_, field) = self.file.column_with_name(property)?;
        (property_type(field.data_type()) == Some(edm)).then(|| property.to_owned())
    }

    /// A column of the file, cast if its representation is another one.
    fn stored(&self, name: &str, wanted: &DataType) -> Result<Arc<dyn PhysicalExpr>> {
        let Some((index, field)) = self.file.column_with_name(name) else {
            return Ok(Arc::new(Literal::new(ScalarValue::try_from(wanted)?)));
        };
        let column: Arc<dyn PhysicalExpr> = Arc::new(Column::new(name, index));
        if field.data_type() == wanted {
            return Ok(column);
        }
        Ok(Arc::new(CastExpr::new(column, wanted.clone(), None)))
    }

    /// What the time of a property is with its 100 ns digit.
    fn exact_time(&self, property: &str, to: ExactTime) -> Result<Arc<dyn PhysicalExpr>> {
        let Some(stored) = self.find(property, EdmType::DateTime) else {
            return Ok(Arc::new(Literal::new(ScalarValue::try_from(&to.data_type())?)));
        };
        let columns = [stored, tick_name(property)];
        let arguments = columns.iter().filter_map(|name| {
            let (index, _) = self.file.column_with_name(name)?;
            Some(Arc::new(Column::new(name, index)) as Arc<dyn PhysicalExpr>)
        });
        let field = Arc::new(Field::new(to.name(), to.data_type(), true));
        Ok(Arc::new(ScalarFunctionExpr::new(
            to.name(),
            Arc::new(ScalarUDF::new_from_impl(ExactTimeOf::new(to))),
            arguments.collect(),
            field,
            Arc::new(ConfigOptions::default()),
        )))
    }

    fn widened(&self, property: &str, types: &[EdmType], to: WidenedType) -> Result<Arc<dyn PhysicalExpr>> {
        let mut arguments: Vec<Arc<dyn PhysicalExpr>> = Vec::new();
        for stored in types.iter().filter_map(|&edm| self.find(property, edm).map(|name| (name, edm))) {
            let (name, edm) = stored;
            let Some((index, field)) = self.file.column_with_name(&name) else { continue };
            if arguments.is_empty() && *field.data_type() == to.data_type() && self.only_type(property, types) {
                return Ok(Arc::new(Column::new(&name, index)));
            }
            arguments.push(Arc::new(Column::new(&name, index)));
            let tick = tick_name(property);
            if let (EdmType::DateTime, Some((index, _))) = (edm, self.file.column_with_name(&tick)) {
                arguments.push(Arc::new(Column::new(&tick, index)));
            }
        }
        if arguments.is_empty() {
            return Ok(Arc::new(Literal::new(ScalarValue::try_from(&to.data_type())?)));
        }
        let function = Arc::new(ScalarUDF::new_from_impl(WidenedValue::new(to)));
        let field = Arc::new(Field::new(property, to.data_type(), true));
        Ok(Arc::new(ScalarFunctionExpr::new(
            "widened_value",
            function,
            arguments,
            field,
            Arc::new(ConfigOptions::default()),
        )))
    }

    fn only_type(&self, property: &str, types: &[EdmType]) -> bool {
        types.iter().filter(|&&edm| self.find(property, edm).is_some()).count() == 1
    }
}
