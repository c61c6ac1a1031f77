//! Arrays: their bounds, their text, and what makes rows of them.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, Int32Array, Int64Array, ListArray, StructArray, new_empty_array, new_null_array,
};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::{DataType, Field, FieldRef, Fields};
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

use super::datum::{Datum, Returns, build};
use super::function::{ANY, Body, Call, Columns, Definition, arity};
use crate::functions::array_items::first_positions;
use crate::functions::error::{Error, SqlState, fail};
use crate::functions::system::context::FunctionContextExtension;
use crate::types::{POSTGRES_TYPE, TextStyle};

pub(super) static FUNCTIONS: &[Definition] = &[
    Definition::of(
        "array_lower",
        (2, 2),
        Returns::Int4,
        Volatility::Immutable,
        Body::Columns(|columns| of_lengths(columns, |items, first| (items > 0).then_some(first))),
    ),
    Definition::of(
        "array_upper",
        (2, 2),
        Returns::Int4,
        Volatility::Immutable,
        Body::Columns(|columns| of_lengths(columns, |items, first| (items > 0).then_some(first + items - 1))),
    ),
    Definition::of(
        "array_length",
        (2, 2),
        Returns::Int4,
        Volatility::Immutable,
        Body::Columns(|columns| of_lengths(columns, |items, _| (items > 0).then_some(items))),
    ),
    Definition::immutable("array_ndims", (1, 1), Returns::Int4, |call| {
        Ok(if list(call, 0)?.is_empty() { Datum::Null } else { Datum::Int(1) })
    }),
    Definition::immutable("array_dims", (1, 1), Returns::Text, |call| {
        let (items, first) = (list(call, 0)?.len(), usize::from(!call.is_vector(0)));
        Ok(if items == 0 { Datum::Null } else { format!("[{first}:{}]", first + items - 1).into() })
    }),
    Definition::of(
        "cardinality",
        (1, 1),
        Returns::Int4,
        Volatility::Immutable,
        Body::Columns(|columns| of_lengths(columns, |items, _| Some(items))),
    ),
    Definition::immutable("generate_subscripts", (2, 3), Returns::Int4s, |call| {
        let Some((lower, upper)) = bounds(call)? else { return Ok(Datum::List(Vec::new())) };
        let subscripts = (lower..=upper).map(Datum::Int);
        Ok(Datum::List(if call.flag(2)? { subscripts.rev().collect() } else { subscripts.collect() }))
    }),
    Definition::of("array_position", (2, 3), Returns::Int4, Volatility::Immutable, Body::Columns(positions)),
    Definition::immutable("string_to_array", (2, 3), Returns::Texts("text"), |call| {
        let Some(text) = call.text(0) else { return Ok(Datum::Null) };
        let null = call.text(2);
        let items = match call.text(1) {
            None => text.chars().count(),
            Some(separator) if separator.is_empty() => 1,
            Some(separator) => text.matches(separator.as_str()).count() + 1,
        };
        call.reserve(items.saturating_mul(size_of::<Datum>()).saturating_add(text.len()))?;
        let item = |part: String| if Some(&part) == null.as_ref() { Datum::Null } else { part.into() };
        Ok(Datum::List(match call.text(1) {
            _ if text.is_empty() => Vec::new(),
            None => text.chars().map(|c| item(c.to_string())).collect(),
            Some(separator) if separator.is_empty() => vec![item(text)],
            Some(separator) => text.split(&separator).map(|part| item(part.to_owned())).collect(),
        }))
    })
    .with_nulls(),
    Definition::immutable("charin", (1, 1), Returns::Named("char"), |call| Ok(one_byte(&call.string(0)).into())),
];

/// The first byte of a text, or the one that it writes in octal digits, as PostgreSQL shows it:
/// beyond ASCII in octal digits, and a zero as nothing.
fn one_byte(text: &str) -> String {
    let bytes = text.as_bytes();
    let byte = match bytes {
        [b'\\', high @ b'0'..=b'3', middle @ b'0'..=b'7', low @ b'0'..=b'7'] => {
            (high - b'0') << 6 | (middle - b'0') << 3 | (low - b'0')
        }
        [first, ..] => *first,
        [] => 0,
    };
    match byte {
        0 => String::new(),
        1..0x80 => char::from(byte).to_string(),
        _ => format!("\\{byte:03o}"),
    }
}

const UNTYPED: &str = "an array in quotes without a type is not supported here";

fn list<'a>(call: &'a Call, index: usize) -> Result<&'a [Datum]> {
    match call.get(index) {
        Datum::List(items) => Ok(items),
        _ => Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, UNTYPED).into()),
    }
}

/// The subscript of the first item of each array that is equal to another value, from a subscript
/// on. Of an `int2vector` they start at 0.
fn positions(columns: &Columns) -> Result<ArrayRef> {
    let (array, item) = (columns.array(0), columns.array(1));
    if array.data_type().is_null() {
        return Ok(new_null_array(&DataType::Int32, columns.rows()));
    }
    if array.as_list_opt::<i32>().is_none() {
        return fail(SqlState::FEATURE_NOT_SUPPORTED, UNTYPED);
    }
    let (first, starts) = (i32::from(!columns.is_vector(0)), columns.integers(2)?);
    first_positions(array, item, first, starts.as_ref(), columns.zone())
}

/// What the number of items of each array and its first subscript give; NULL for a dimension other
/// than the first. The items stay where they are.
fn of_lengths(columns: &Columns, value: fn(i32, i32) -> Option<i32>) -> Result<ArrayRef> {
    let Some(lists) = columns.array(0).as_list_opt::<i32>() else {
        return if columns.array(0).data_type().is_null() {
            Ok(new_null_array(&DataType::Int32, columns.rows()))
        } else {
            fail(SqlState::FEATURE_NOT_SUPPORTED, UNTYPED)
        };
    };
    let dimensions = columns.integers(1)?;
    let first = i32::from(!columns.is_vector(0));
    let of_row = |row: usize| match &dimensions {
        _ if lists.is_null(row) => None,
        Some(dimensions) if dimensions.is_null(row) || dimensions.value(row) != 1 => None,
        _ => value(lists.value_length(row), first),
    };
    Ok(Arc::new((0..columns.rows()).map(of_row).collect::<Int32Array>()))
}

/// The first and last subscript; none of an empty array, nor of a dimension other than the first.
fn bounds(call: &Call) -> Result<Option<(i64, i64)>> {
    let items = list(call, 0)?;
    if items.is_empty() || call.int(1)? != 1 {
        return Ok(None);
    }
    let first = i64::from(!call.is_vector(0));
    Ok(Some((first, first + items.len() as i64 - 1)))
}

/// Functions whose type depends on their arguments'.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Polymorphic {
    /// `_pg_expandarray(anyarray)`: each item (x) with its place from 1 on (n).
    Expand,
    /// An array, or an empty one for NULL.
    OrEmpty,
    /// For arrays side by side: 1 up to the length of the longest.
    Ordinals,
    /// `aclexplode(aclitem[])`
    AclExplode,
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct ArrayFunction {
    kind: Polymorphic,
    signature: Signature,
}

/// Internal name of the function that makes an empty array of NULL.
pub const ARRAY_OR_EMPTY: &str = "array_or_empty";
/// Internal name of the function behind WITH ORDINALITY.
pub const ARRAY_ORDINALS: &str = "array_ordinals";

pub(super) fn polymorphic() -> Vec<Arc<ScalarUDF>> {
    [Polymorphic::Expand, Polymorphic::OrEmpty, Polymorphic::Ordinals, Polymorphic::AclExplode]
        .into_iter()
        .map(|kind| Arc::new(function_of(kind)))
        .collect()
}

fn function_of(kind: Polymorphic) -> ScalarUDF {
    ScalarUDF::new_from_impl(ArrayFunction { kind, signature: Signature::user_defined(Volatility::Immutable) })
}

/// The ordinals of the items of the longest of its arrays, as `bigint[]`.
pub fn array_ordinals() -> ScalarUDF {
    function_of(Polymorphic::Ordinals)
}

impl ArrayFunction {
    fn returns(&self, argument: Option<&FieldRef>) -> Result<FieldRef> {
        let rows = |fields: Vec<Field>| {
            let item = Field::new_list_field(DataType::Struct(Fields::from(fields)), true);
            Arc::new(Field::new(self.name(), DataType::List(Arc::new(item)), true))
        };
        Ok(match self.kind {
            Polymorphic::Expand => {
                let Some(DataType::List(item)) = argument.map(|field| field.data_type()) else {
                    let message = "function _pg_expandarray(unknown) does not exist";
                    return fail(SqlState::UNDEFINED_FUNCTION, message);
                };
                rows(vec![Field::new("x", item.data_type().clone(), true), Field::new("n", DataType::Int32, true)])
            }
            Polymorphic::OrEmpty => match argument {
                Some(field) => Arc::clone(field),
                None => return internal_err!("{ARRAY_OR_EMPTY} without an argument"),
            },
            Polymorphic::Ordinals => {
                let item = Field::new_list_field(DataType::Int64, true);
                Arc::new(Field::new(self.name(), DataType::List(Arc::new(item)), true))
            }
            Polymorphic::AclExplode => rows(acl_fields()),
        })
    }
}

fn acl_fields() -> Vec<Field> {
    let oid = |name: &str| {
        Field::new(name, DataType::UInt32, true).with_metadata([(POSTGRES_TYPE.to_owned(), "oid".to_owned())].into())
    };
    vec![
        oid("grantor"),
        oid("grantee"),
        Field::new("privilege_type", DataType::Utf8View, true),
        Field::new("is_grantable", DataType::Boolean, true),
    ]
}

impl ScalarUDFImpl for ArrayFunction {
    fn name(&self) -> &str {
        match self.kind {
            Polymorphic::Expand => "_pg_expandarray",
            Polymorphic::OrEmpty => ARRAY_OR_EMPTY,
            Polymorphic::Ordinals => ARRAY_ORDINALS,
            Polymorphic::AclExplode => "aclexplode",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        Ok(types.to_vec())
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        let field: Option<FieldRef> = types.first().map(|data_type| Arc::new(Field::new("", data_type.clone(), true)));
        Ok(self.returns(field.as_ref())?.data_type().clone())
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let most = if self.kind == Polymorphic::Ordinals { ANY } else { 1 };
        arity(self.name(), (1, most), args.arg_fields)?;
        self.returns(args.arg_fields.first())
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let context = FunctionContextExtension::of(&args.config_options).ok();
        let is_constant = args.args.iter().all(|value| matches!(value, ColumnarValue::Scalar(_)));
        let rows = if is_constant { 1 } else { args.number_rows };
        let arrays: Vec<ArrayRef> = args.args.into_iter().map(|value| value.into_array(rows)).collect::<Result<_>>()?;
        let Some(first) = arrays.first() else { return internal_err!("{} without an argument", self.name()) };
        let result: ArrayRef = match self.kind {
            Polymorphic::Expand => Arc::new(expand(first.as_list::<i32>())?),
            Polymorphic::OrEmpty => or_empty(first)?,
            Polymorphic::Ordinals => Arc::new(ordinals(&arrays, rows)?),
            Polymorphic::AclExplode => {
                let role = |name: &str| context.and_then(|context| context.role_oid(name)).unwrap_or(0);
                Arc::new(explode(first, &role)?)
            }
        };
        match is_constant {
            true => Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&result, 0)?)),
            false => Ok(ColumnarValue::Array(result)),
        }
    }
}

/// The items of the rows that are not NULL, and how many each row has.
fn items_of(array: &ListArray) -> Result<(ArrayRef, Vec<usize>)> {
    let lengths: Vec<_> =
        (0..array.len()).map(|row| if array.is_null(row) { 0 } else { array.value_length(row) as usize }).collect();
    let parts: Vec<_> = (0..array.len()).filter(|row| !array.is_null(*row)).map(|row| array.value(row)).collect();
    let parts: Vec<&dyn Array> = parts.iter().map(|part| part.as_ref()).collect();
    let items = if parts.is_empty() { new_empty_array(&array.value_type()) } else { arrow::compute::concat(&parts)? };
    Ok((items, lengths))
}

fn expand(array: &ListArray) -> Result<ListArray> {
    let (items, lengths) = items_of(array)?;
    let places: Int32Array = lengths.iter().flat_map(|length| (1i32..).take(*length)).collect();
    let fields = Fields::from(vec![Field::new("x", array.value_type(), true), Field::new("n", DataType::Int32, true)]);
    let rows = StructArray::try_new(fields.clone(), vec![items, Arc::new(places)], None)?;
    let item = Field::new_list_field(DataType::Struct(fields), true);
    Ok(ListArray::try_new(Arc::new(item), OffsetBuffer::from_lengths(lengths), Arc::new(rows), None)?)
}

fn or_empty(array: &ArrayRef) -> Result<ArrayRef> {
    let Some(list) = array.as_list_opt::<i32>() else { return Ok(Arc::clone(array)) };
    let DataType::List(item) = list.data_type() else { return Ok(Arc::clone(array)) };
    if list.null_count() == 0 {
        return Ok(Arc::clone(array));
    }
    let (items, lengths) = items_of(list)?;
    Ok(Arc::new(ListArray::try_new(Arc::clone(item), OffsetBuffer::from_lengths(lengths), items, None)?))
}

fn ordinals(arrays: &[ArrayRef], rows: usize) -> Result<ListArray> {
    let lists: Vec<_> = arrays.iter().filter_map(|array| array.as_list_opt::<i32>()).collect();
    let length = |list: &&ListArray, row| if list.is_null(row) { 0 } else { list.value_length(row) as usize };
    let lengths: Vec<usize> =
        (0..rows).map(|row| lists.iter().map(|list| length(list, row)).max().unwrap_or(0)).collect();
    let places: Int64Array = lengths.iter().flat_map(|length| (1i64..).take(*length)).collect();
    let item = Field::new_list_field(DataType::Int64, true);
    Ok(ListArray::try_new(Arc::new(item), OffsetBuffer::from_lengths(lengths), Arc::new(places), None)?)
}

/// The letters of an `aclitem`.
const ACL_LETTERS: &[(char, &str)] = &[
    ('a', "INSERT"),
    ('r', "SELECT"),
    ('w', "UPDATE"),
    ('d', "DELETE"),
    ('D', "TRUNCATE"),
    ('x', "REFERENCES"),
    ('t', "TRIGGER"),
    ('X', "EXECUTE"),
    ('U', "USAGE"),
    ('C', "CREATE"),
    ('T', "TEMPORARY"),
    ('c', "CONNECT"),
    ('s', "SET"),
    ('A', "ALTER SYSTEM"),
];

/// `grantee=letters/grantor`, where a star behind a letter means that it may be passed on; nobody
/// is everybody, oid 0.
fn explode(array: &ArrayRef, role: &dyn Fn(&str) -> u32) -> Result<ListArray> {
    let (mut grantors, mut grantees, mut kinds, mut grantable) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut lengths = Vec::with_capacity(array.len());
    let style = TextStyle::default();
    for row in 0..array.len() {
        let before = kinds.len();
        if let Datum::List(items) = Datum::read(array, row, &style)? {
            for item in items.iter().filter_map(Datum::text) {
                let malformed = || {
                    let message = format!("invalid input syntax for type aclitem: \"{item}\"");
                    Error::new(SqlState::INVALID_TEXT_REPRESENTATION, message)
                };
                let (grantee, rest) = item.split_once('=').ok_or_else(malformed)?;
                let (letters, grantor) = rest.split_once('/').ok_or_else(malformed)?;
                let oid = |name: &str| Datum::from(if name.is_empty() { 0 } else { role(name.trim_matches('"')) });
                let mut letters = letters.chars().peekable();
                while let Some(letter) = letters.next() {
                    let (_, kind) = ACL_LETTERS.iter().find(|(known, _)| *known == letter).ok_or_else(malformed)?;
                    grantors.push(oid(grantor));
                    grantees.push(oid(grantee));
                    kinds.push(Datum::from(*kind));
                    grantable.push(Datum::Bool(letters.next_if_eq(&'*').is_some()));
                }
            }
        }
        lengths.push(kinds.len() - before);
    }
    let fields = Fields::from(acl_fields());
    let columns = [grantors, grantees, kinds, grantable];
    let columns = fields
        .iter()
        .zip(&columns)
        .map(|(field, values)| build(field.data_type(), values))
        .collect::<Result<Vec<_>>>()?;
    let rows = StructArray::try_new(fields.clone(), columns, None)?;
    let item = Field::new_list_field(DataType::Struct(fields), true);
    Ok(ListArray::try_new(Arc::new(item), OffsetBuffer::from_lengths(lengths), Arc::new(rows), None)?)
}
