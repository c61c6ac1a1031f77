//! Set operations: all inputs have one type a column, as PostgreSQL finds it.

use std::sync::Arc;

use arrow::datatypes::DataType;
use datafusion::common::{Column, DFSchema, NullEquality, Result};
use datafusion::logical_expr::{Distinct, Expr, Join, JoinType, LogicalPlan, Projection, Union};

use super::common_type::{are_untyped, common_type, unmatched};
use super::error::{SqlState, fail};
use super::kind::{Kind, unknown_text};
use super::numeric_like::type_literals;
use super::resolution::Resolver;
use super::type_names::{TEXT, TYPE_LENGTH, is_character};
use super::typed_texts::as_text_of_type;
use super::zone::Zone;
use crate::types::POSTGRES_TYPE;

/// Inputs of UNION in one type a column, as PostgreSQL finds it.
pub(super) fn union(union: Union, zone: &Zone) -> Result<LogicalPlan> {
    let width = union.schema.fields().len();
    if union.inputs.iter().any(|input| input.schema().fields().len() != width) {
        return Ok(LogicalPlan::Union(union));
    }
    refuse_mixed_characters(&union, width)?;
    let wanted = common_types("UNION", &union.inputs.iter().map(Arc::as_ref).collect::<Vec<_>>())?;
    let types = text_types(&union.inputs, width);
    let inputs = union
        .inputs
        .into_iter()
        .map(|input| projected(Arc::unwrap_or_clone(input), &wanted, zone).map(Arc::new))
        .collect::<Result<Vec<_>>>()?;
    let inputs = typed_alike(inputs, &types)?;
    let schema = union.schema;
    let retyped = Union::try_new_with_loose_types(inputs)?;
    // Names stay those of the union as it was planned.
    let fields: Vec<_> = schema
        .iter()
        .zip(retyped.schema.fields())
        .map(|((qualifier, field), retyped)| {
            (qualifier.cloned(), Arc::new(retyped.as_ref().clone().with_name(field.name())))
        })
        .collect();
    let schema = DFSchema::new_with_metadata(fields, schema.metadata().clone())?;
    Ok(LogicalPlan::Union(Union { inputs: retyped.inputs, schema: Arc::new(schema) }))
}

/// The PostgreSQL type of each column of texts that differ in it: that of the first which has a
/// type, since `varchar` and `text` are cast to one another.
fn text_types(inputs: &[Arc<LogicalPlan>], width: usize) -> Vec<Option<String>> {
    let first = |place: usize| {
        let is_text = |input: &&Arc<LogicalPlan>| Kind::of(input.schema().field(place).data_type()) == Kind::Text;
        let mut texts = inputs.iter().filter(is_text).filter(|input| unknown_column(input, place).is_none());
        let name = |input: &LogicalPlan| input.schema().field(place).metadata().get(POSTGRES_TYPE).cloned();
        let first = name(texts.next()?);
        inputs.iter().any(|input| name(input) != first).then(|| first.unwrap_or_else(|| TEXT.to_owned()))
    };
    (0..width).map(first).collect()
}

/// Inputs whose columns are of these PostgreSQL types.
fn typed_alike(inputs: Vec<Arc<LogicalPlan>>, types: &[Option<String>]) -> Result<Vec<Arc<LogicalPlan>>> {
    if types.iter().all(Option::is_none) {
        return Ok(inputs);
    }
    let named = |input: Arc<LogicalPlan>| {
        let columns = input.schema().columns().into_iter().zip(types).map(|(column, wanted)| match wanted {
            Some(wanted) => {
                let (relation, name) = (column.relation.clone(), column.name.clone());
                as_text_of_type(Expr::Column(column), wanted).alias_qualified(relation, name)
            }
            None => Expr::Column(column),
        });
        Ok(Arc::new(LogicalPlan::Projection(Projection::try_new(columns.collect(), input)?)))
    };
    inputs.into_iter().map(named).collect()
}

/// Beside other texts `character` has no blanks, and beside other lengths those of each value: a
/// column has one type.
fn refuse_mixed_characters(union: &Union, width: usize) -> Result<()> {
    for place in 0..width {
        let fields = union.inputs.iter().map(|input| input.schema().field(place));
        let lengths = fields.filter(|field| !field.data_type().is_null());
        let mut lengths = lengths.map(|field| is_character(field).then(|| field.metadata().get(TYPE_LENGTH)));
        let Some(first) = lengths.next() else { continue };
        if lengths.any(|length| length != first) {
            let message =
                "UNION of character(n) and another type, or another length, is not supported: cast it to text";
            return fail(SqlState::FEATURE_NOT_SUPPORTED, message);
        }
    }
    Ok(())
}

/// The type of each column of a set operation over inputs of as many columns.
fn common_types(operation: &str, inputs: &[&LogicalPlan]) -> Result<Vec<Option<DataType>>> {
    let width = inputs.first().map_or(0, |input| input.schema().fields().len());
    let common = |place: usize| {
        let mut types: Vec<DataType> =
            inputs.iter().map(|input| input.schema().field(place).data_type().clone()).collect();
        let literals: Vec<Option<&Expr>> = inputs.iter().map(|input| unknown_column(input, place)).collect();
        let given = types.clone();
        let unknown = type_literals(&literals, &mut types);
        match common_type(&types, &unknown) {
            Ok(None) if types != given => Ok(types.first().cloned()),
            Ok(None) if are_untyped(&types, &unknown) || are_texts_of_two_forms(&types) => Ok(Some(DataType::Utf8View)),
            Ok(wanted) => Ok(wanted),
            Err((left, right)) => unmatched(operation, left, right),
        }
    };
    (0..width).map(common).collect()
}

/// Whether texts that have been literals in quotes stand beside others. The engine would bring them
/// to one form when the types of a recursive query are settled.
fn are_texts_of_two_forms(types: &[DataType]) -> bool {
    types.windows(2).any(|pair| pair[0] != pair[1]) && types.iter().all(|one| Kind::of(one) == Kind::Text)
}

/// A text literal in the select list.
fn unknown_column(plan: &LogicalPlan, place: usize) -> Option<&Expr> {
    match plan {
        LogicalPlan::Projection(projection) => projection.expr.get(place).filter(|expr| unknown_text(expr).is_some()),
        LogicalPlan::SubqueryAlias(alias) => unknown_column(&alias.input, place),
        LogicalPlan::Distinct(Distinct::All(input)) => unknown_column(input, place),
        _ => None,
    }
}

/// INTERSECT and EXCEPT are joins by all columns, in which NULLs are alike: both sides in one type
/// a column, as in a UNION.
pub(super) fn intersected(mut join: Join, zone: &Zone) -> Result<Join> {
    let operation = match join.join_type {
        JoinType::LeftSemi => "INTERSECT",
        JoinType::LeftAnti => "EXCEPT",
        _ => return Ok(join),
    };
    let width = join.left.schema().fields().len();
    let is_by_all = join.null_equality == NullEquality::NullEqualsNull && join.filter.is_none();
    if !is_by_all || join.on.len() != width || join.right.schema().fields().len() != width {
        return Ok(join);
    }
    let wanted = common_types(operation, &[&join.left, &join.right])?;
    join.left = Arc::new(projected(Arc::unwrap_or_clone(join.left), &wanted, zone)?);
    join.right = Arc::new(projected(Arc::unwrap_or_clone(join.right), &wanted, zone)?);
    Ok(join)
}

/// The plan with columns cast to the types wanted.
pub(super) fn projected(plan: LogicalPlan, wanted: &[Option<DataType>], zone: &Zone) -> Result<LogicalPlan> {
    let differs = |place: usize| {
        let have = plan.schema().field(place).data_type();
        wanted.get(place).and_then(Option::as_ref).is_some_and(|wanted| wanted != have)
    };
    if !(0..plan.schema().fields().len()).any(differs) {
        return Ok(plan);
    }
    // Literals are cast where they stand, so that a text becomes what it is read as.
    if let LogicalPlan::Projection(projection) = plan {
        let schema = Arc::clone(projection.input.schema());
        let resolver = Resolver::over(&schema, Some(zone));
        let exprs = cast_all(projection.expr, wanted, &projection.schema, &resolver)?;
        return Ok(LogicalPlan::Projection(Projection::try_new(exprs, projection.input)?));
    }
    let schema = Arc::clone(plan.schema());
    let resolver = Resolver::over(&schema, Some(zone));
    let columns = schema.iter().map(|(qualifier, field)| Expr::Column(Column::new(qualifier.cloned(), field.name())));
    let exprs = cast_all(columns.collect(), wanted, &schema, &resolver)?;
    Ok(LogicalPlan::Projection(Projection::try_new(exprs, Arc::new(plan))?))
}

fn cast_all(
    exprs: Vec<Expr>,
    wanted: &[Option<DataType>],
    schema: &DFSchema,
    resolver: &Resolver,
) -> Result<Vec<Expr>> {
    exprs
        .into_iter()
        .enumerate()
        .map(|(place, expr)| {
            let (qualifier, field) = schema.qualified_field(place);
            match wanted.get(place).and_then(Option::as_ref) {
                Some(wanted) if wanted != field.data_type() => {
                    let cast = resolver.to(expr.unalias(), field.data_type(), wanted)?;
                    Ok(cast.alias_qualified(qualifier.cloned(), field.name()))
                }
                _ => Ok(expr),
            }
        })
        .collect()
}
