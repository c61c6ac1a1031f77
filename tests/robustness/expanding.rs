//! Small files that hold much: a value that stands in them once is in every row.

use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use arrow::array::{ArrayRef, DictionaryArray, Int32Array, RecordBatch, StringArray};
use arrow::datatypes::Int32Type;
use datafusion::parquet::arrow::ArrowWriter;
use datafusion::parquet::basic::Compression;
use datafusion::parquet::file::properties::WriterProperties;

use crate::robustness::server::Server;
use rowkey_base::testing::Scratch;

const ROWS: usize = 8000;
/// For an import on a few threads; the rows of a batch would be more.
const MIBIBYTES_MAX: u64 = 512;
const PATIENCE: Duration = Duration::from_secs(600);

/// A file in which one text is the value of two properties in all rows.
fn write(path: &Path, text: &str) {
    let texts = || -> ArrayRef {
        let values: ArrayRef = Arc::new(StringArray::from(vec![text]));
        Arc::new(DictionaryArray::<Int32Type>::new(Int32Array::from(vec![0; ROWS]), values))
    };
    let columns: [(&str, ArrayRef); 4] = [
        ("PartitionKey", Arc::new(StringArray::from(vec!["p"; ROWS]))),
        ("RowKey", Arc::new(StringArray::from_iter_values((0..ROWS).map(|row| format!("{row:06}"))))),
        ("One", texts()),
        ("Other", texts()),
    ];
    let batch = RecordBatch::try_from_iter(columns).expect("a batch");
    let zstd = Compression::ZSTD(Default::default());
    let properties = WriterProperties::builder().set_compression(zstd).set_dictionary_page_size_limit(1 << 30).build();
    let file = File::create(path).expect("a file");
    let mut writer = ArrowWriter::try_new(file, batch.schema(), Some(properties)).expect("a writer");
    writer.write(&batch).expect("written");
    writer.close().expect("written");
    let bytes = fs::metadata(path).expect("a file").len();
    assert!(bytes < 100_000, "{bytes} bytes");
}

#[test]
fn an_import_has_no_more_in_memory_than_without_it() {
    let scratch = Scratch::new("expanding").expect("a folder");
    let (data, file) = (scratch.path().join("data"), scratch.path().join("small.parquet"));
    let (data, file_text) = (data.to_str().expect("text"), file.to_str().expect("text"));
    let import = ["import", "--data", data, "--table", "Small", file_text];
    // Half a gigabyte of two texts of the greatest length, nearly.
    write(&file, &"x".repeat(32_000));
    let (ended, mibibytes) = Server::run_measured(&import, PATIENCE);
    assert!(ended.status.success(), "{}", ended.said);
    assert!(mibibytes < MIBIBYTES_MAX, "{mibibytes} MiB");
    let counted = Server::run(
        &["sql", "--data", data, "select 1 / (count(*) = 8000 and min(length(one)) = 32000)::int from small"],
        PATIENCE,
    );
    assert!(counted.status.success(), "{}", counted.said);
    // A batch is some of the rows, not 8,192 of them.
    for query in [
        "select count(*) from small where one like '%y%' or other like '%y%'",
        "select max(one || 'y'), min(length(other)) from small",
        "select partitionkey, rowkey, one, other from small order by rowkey desc limit 3",
    ] {
        let (ended, mibibytes) = Server::run_measured(&["sql", "--data", data, query], PATIENCE);
        assert!(ended.status.success(), "{}", ended.said);
        assert!(mibibytes < MIBIBYTES_MAX, "{mibibytes} MiB: {query}");
    }
    // Sixteen gigabytes of texts that no property may have.
    write(&file, &"x".repeat(1_000_000));
    let (ended, mibibytes) = Server::run_measured(&import, PATIENCE);
    assert_eq!(ended.status.code(), Some(3), "{}", ended.said);
    assert!(ended.said.contains("8,000") || ended.said.contains("8000"), "{}", ended.said);
    assert!(mibibytes < MIBIBYTES_MAX, "{mibibytes} MiB");
}
