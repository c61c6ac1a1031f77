//! One export, with the columns that it has.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use rowkey_base::{Error, Result, SqlState};
use rowkey_formats::{Chunk, DecodeOptions, FileVersion, Format, Progress, Source, Survey, decode};
use rowkey_model::EdmType;
use rowkey_model::columns::{BytesLayout, PARTITION_KEY, ROW_KEY, TIMESTAMP, data_type, utc_micros};
use rowkey_model::rows::PropertyNames;
use rowkey_postgres::cancellation::Signals;

use crate::provider::WidenedType;

/// A file of entities. Its columns are PartitionKey, RowKey, Timestamp, and the properties in the
/// order of their names; one of several types is widened as a table's is.
#[derive(Debug)]
pub(crate) struct ExportFile {
    path: PathBuf,
    format: Format,
    version: FileVersion,
    names: Arc<PropertyNames>,
    pub(super) properties: Vec<Property>,
    pub(super) schema: SchemaRef,
    entities: usize,
}

/// A property as a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Property {
    /// Its number among the names of the file.
    pub id: usize,
    pub edm: EdmType,
    /// Where it is in several types.
    pub widened: Option<WidenedType>,
}

impl ExportFile {
    /// Reads a file to find its columns.
    pub(super) fn open(path: &str, signals: &Signals) -> Result<Self> {
        let version = FileVersion::of(Path::new(path)).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => Error::new(SqlState::UNDEFINED_TABLE, format!("file \"{path}\" does not exist"))
                .with_hint("A name in single quotes is the path of an export; tables have none, or double ones."),
            io::ErrorKind::InvalidInput => Error::new(SqlState::WRONG_OBJECT_TYPE, format!("\"{path}\" is no file"))
                .with_hint("name the files in it one by one, or import it"),
            _ => Error::new(SqlState::IO_ERROR, format!("cannot read file \"{path}\": {error}")),
        })?;
        let path = PathBuf::from(path);
        let format = Source::file(&path)?.detect()?;
        if format == Format::AzuriteDatabase {
            return Err(Error::new(
                SqlState::FEATURE_NOT_SUPPORTED,
                format!("\"{}\" is a database of Azurite, which holds several tables", path.display()),
            )
            .with_hint("import it with rowkey import"));
        }
        let names = Arc::new(PropertyNames::new());
        let mut survey = Survey::new(&names);
        let mut file = Self {
            path,
            format,
            version,
            names,
            properties: Vec::new(),
            schema: Arc::new(Schema::empty()),
            entities: 0,
        };
        let mut entities = 0;
        file.decode(&mut |chunk| {
            signals.check()?;
            entities += chunk.rows.len();
            survey.observe(&chunk.rows);
            Ok(())
        })?;
        let mut fields = vec![
            Field::new(PARTITION_KEY, DataType::Utf8View, false),
            Field::new(ROW_KEY, DataType::Utf8View, false),
            Field::new(TIMESTAMP, utc_micros(), true),
        ];
        for property in survey.properties() {
            let (edm, widened) = match property.types.as_slice() {
                [edm] => (*edm, None),
                types => {
                    let to = WidenedType::of(types);
                    (to.edm(), Some(to))
                }
            };
            fields.push(Field::new(property.name.to_string(), data_type(edm, BytesLayout::Views), true));
            file.properties.push(Property { id: property.id.index(), edm, widened });
        }
        (file.schema, file.entities) = (Arc::new(Schema::new(fields)), entities);
        Ok(file)
    }

    /// The names of the columns.
    pub(crate) fn columns(&self) -> Arc<[String]> {
        self.schema.fields().iter().map(|field| field.name().clone()).collect()
    }

    /// Whether the file is the one whose columns these are, as far as its size and time tell.
    pub(super) fn is_unchanged(&self) -> bool {
        FileVersion::of(&self.path).is_ok_and(|version| version == self.version)
    }

    /// Decodes the file; an error of `sink` ends it and is returned, and an entity that breaks a
    /// rule is one.
    fn decode(&self, sink: &mut dyn FnMut(Chunk) -> Result<()>) -> Result<()> {
        let source = Source::file(&self.path)?;
        let mut whole = |chunk: Chunk| match chunk.rejects.first() {
            Some(reject) => Err(Error::new(SqlState::CHECK_VIOLATION, reject.to_string())
                .with_hint("rowkey import --on-error skip leaves out entities that break a rule, and lists them")),
            None => sink(chunk),
        };
        decode(source, self.format, &self.names, &DecodeOptions::default(), &Progress::new(), &mut whole)?;
        Ok(())
    }

    /// Gives the entities of the file as batches of all its columns, to the end or until `sink`
    /// fails.
    pub(super) fn read(&self, sink: &mut dyn FnMut(RecordBatch) -> Result<()>) -> Result<()> {
        let places = self.places();
        self.decode(&mut |chunk| sink(self.batch(&chunk.rows, &places)?))
    }

    pub(super) fn changed(&self) -> Error {
        let message = format!("\"{}\" was changed while it was read", self.path.display());
        Error::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message).with_hint("run the statement again")
    }

    /// Its path.
    pub(super) fn name(&self) -> String {
        self.path.display().to_string()
    }

    pub(super) fn bytes(&self) -> u64 {
        self.version.bytes
    }

    /// How many entities it had when its columns were found.
    pub(super) fn entities(&self) -> usize {
        self.entities
    }
}
