//! Names of columns of bytes.
//!
//! DataFusion's Parquet scan takes a column of bytes for text where the table has text of its name,
//! as it has for a property of several types. So such a column carries its type in its name in
//! every file; older files have it so where they hold the property in several types.

use std::sync::Arc;

use arrow::datatypes::Schema;
use parquet::arrow::ARROW_SCHEMA_META_KEY;
use parquet::errors::ParquetError;
use parquet::file::metadata::{FileMetaData, ParquetMetaData, ParquetMetaDataBuilder};
use parquet::schema::types::{SchemaDescriptor, Type};

use rowkey_model::EdmType;
use rowkey_model::columns::typed_name;

/// The footer of a file with the names that `schema` has for its columns of bytes.
pub(super) fn with_typed_names(metadata: ParquetMetaData, schema: &Schema) -> Result<ParquetMetaData, ParquetError> {
    let file = metadata.file_metadata();
    let root = file.schema_descr().root_schema();
    let is_older = |field: &Type, wanted: &str| wanted == typed_name(field.name(), EdmType::Binary);
    let mut wanted = schema.fields().iter();
    if !root.get_fields().iter().zip(wanted.clone()).any(|(field, wanted)| is_older(field, wanted.name())) {
        return Ok(metadata);
    }
    let mut fields = Vec::with_capacity(root.get_fields().len());
    for field in root.get_fields() {
        let renamed = match wanted.next() {
            Some(wanted) if is_older(field, wanted.name()) => {
                let column = Type::primitive_type_builder(wanted.name(), field.get_physical_type());
                Arc::new(column.with_repetition(field.get_basic_info().repetition()).build()?)
            }
            _ => Arc::clone(field),
        };
        fields.push(renamed);
    }
    let root = Type::group_type_builder(root.name()).with_fields(fields).build()?;
    // The schema of Arrow has the older names.
    let others = file
        .key_value_metadata()
        .map(|pairs| pairs.iter().filter(|pair| pair.key != ARROW_SCHEMA_META_KEY).cloned().collect::<Vec<_>>());
    let renamed = FileMetaData::new(
        file.version(),
        file.num_rows(),
        file.created_by().map(str::to_owned),
        others,
        Arc::new(SchemaDescriptor::new(Arc::new(root))),
        file.column_orders().cloned(),
    );
    Ok(ParquetMetaDataBuilder::new(renamed)
        .set_row_groups(metadata.row_groups().to_vec())
        .set_column_index(metadata.column_index().cloned())
        .set_offset_index(metadata.offset_index().cloned())
        .build())
}

#[cfg(test)]
mod tests {
    use arrow::array::{ArrayRef, BinaryArray, RecordBatch, StringArray};
    use bytes::Bytes;
    use parquet::arrow::ArrowWriter;
    use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder};

    use super::*;

    #[test]
    fn bytes_of_older_files_are_named_by_their_type() {
        let bytes: ArrayRef = Arc::new(BinaryArray::from_opt_vec(vec![Some(b"\xff"), None]));
        let texts: ArrayRef = Arc::new(StringArray::from(vec!["a", "b"]));
        let batch = |name: &str| {
            RecordBatch::try_from_iter_with_nullable([("P", texts.clone(), false), (name, bytes.clone(), true)])
        };
        let older = batch("Two").expect("a batch");
        let mut file = Vec::new();
        let mut writer = ArrowWriter::try_new(&mut file, older.schema(), None).expect("a writer");
        writer.write(&older).expect("rows");
        writer.close().expect("a file");
        let file = Bytes::from(file);
        let found = ArrowReaderMetadata::load(&file, ArrowReaderOptions::new()).expect("a footer");

        let wanted = batch("Two:Binary").expect("a batch");
        let same = with_typed_names(found.metadata().as_ref().clone(), &older.schema()).expect("a footer");
        assert_eq!(same, **found.metadata());
        let renamed = with_typed_names(same, &wanted.schema()).expect("a footer");
        let renamed = ArrowReaderMetadata::try_new(Arc::new(renamed), ArrowReaderOptions::new()).expect("a schema");
        let mut rows = ParquetRecordBatchReaderBuilder::new_with_metadata(file, renamed).build().expect("a reader");
        let read = rows.next().expect("rows").expect("a batch");
        assert_eq!((read.columns(), read.schema().field(1).name().as_str()), (wanted.columns(), "Two:Binary"));
    }
}
