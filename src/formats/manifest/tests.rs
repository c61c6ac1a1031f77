use super::*;
use rowkey_base::testing::Scratch;
use rowkey_model::EdmType;

const TEXT: &str = r#"{"Version":2,"PayloadFormat":"Csv","Checksum":17293822569102704640,"AccountName":"acct","TableName":"Orders","Timestamp":"2019-03-04T05:06:07.1234567Z","SplitSize":200000,"TotalDataFiles":2}"#;

#[test]
fn the_files_of_a_manifest_are_found_by_its_name() {
    let scratch = Scratch::new("manifest").unwrap();
    let folder = scratch.path();
    let manifest = folder.join("acct_Orders_1.manifest");
    fs::write(&manifest, TEXT).unwrap();
    fs::write(folder.join("acct_Orders_1_0_0_00AB.csv"), "PartitionKey,RowKey,N\n").unwrap();
    fs::write(folder.join("acct_Orders_1_0_0_00AB.schema.csv"), "N,Edm.Int64\nRowKey,String\n").unwrap();
    fs::write(folder.join("acct_Orders_10_0_0_00AB.csv"), "").unwrap();
    let read = Manifest::read(&manifest).unwrap();
    assert_eq!((read.table.as_str(), read.account.as_str()), ("Orders", "acct"));
    assert_eq!((read.sources.len(), read.files.len()), (1, 3));
    let warning = read.warning.unwrap();
    assert_eq!(warning.kind, WarningKind::Truncated);
    assert!(warning.reason.contains("2 data files, 1 were found"), "{}", warning.reason);
    let types = read.sources[0].column_types().unwrap();
    assert_eq!((types.get("N"), types.get("RowKey")), (Some(EdmType::Int64), None));

    fs::write(folder.join("acct_Orders_1_0_1_00AC.csv"), "PartitionKey,RowKey,N\n").unwrap();
    fs::write(folder.join("acct_Orders_1_0_1_00AC.schema.csv"), "PartitionKey,RowKey,N\nString,String,Guid\n").unwrap();
    let read = Manifest::read(&manifest).unwrap();
    assert_eq!((read.sources.len(), read.warning), (2, None));
    assert_eq!(read.sources[1].column_types().unwrap().get("N"), Some(EdmType::Guid));

    fs::write(&manifest, "{}").unwrap();
    assert!(Manifest::read(&manifest).unwrap_err().to_string().contains("no manifest of AzCopy"));
}
