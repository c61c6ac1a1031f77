//! The example of "Embed": the lines of README are the lines of [`example`], which runs.

use std::process::Command;

use crate::readme::Outcome;
use crate::readme::page::Page;
use rowkey_base::testing::Scratch;

/// Lines as in README, which has no room for more.
#[rustfmt::skip]
async fn example() -> Outcome<()> {
    let db = rowkey::Database::open("./rowkey-data").await?;               // ":memory:" keeps nothing
    let export = rowkey::formats::Source::file(std::path::Path::new("employees.ndjson"))?;
    db.import("Employees", vec![export], &rowkey::ImportOptions::default()).await?;
    let one = db.table("Employees")?.get("Sales", "000123").await?;        // by key, without a plan
    let batches = db.sql("SELECT max(age) FROM employees").await?.collect().await?;   // Arrow record batches
    assert!(one.is_some_and(|entity| entity.get("Age") == Some(&41.into())));
    assert_eq!(batches.iter().map(|batch| batch.num_rows()).sum::<usize>(), 1);
    Ok(())
}

/// Not a test by itself: runs in a process whose working folder may be written to.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "the process that the example runs in"]
async fn child() -> Outcome<()> {
    example().await
}

#[test]
fn the_example() -> Outcome<()> {
    let page = Page::read()?;
    let lines = page.section("Embed")?.block("rust")?;
    let code = include_str!("embed.rs");
    let body = code.split_once("async fn example() -> Outcome<()> {\n").ok_or("the example")?.1;
    let compiled: Vec<&str> = body.lines().take(lines.len()).map(str::trim_start).collect();
    assert_eq!(lines, compiled);

    let scratch = Scratch::new("readme-embed")?;
    let entity = r#"{"PartitionKey":"Sales","RowKey":"000123","Age":41}"#;
    std::fs::write(scratch.path().join("employees.ndjson"), entity)?;
    let ran = Command::new(std::env::current_exe()?)
        .args(["--exact", "readme::embed::child", "--ignored", "--test-threads=1"])
        .current_dir(scratch.path())
        .output()?;
    let said = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success() && said.contains("1 passed"), "{said}{}", String::from_utf8_lossy(&ran.stderr));
    assert!(scratch.path().join("rowkey-data").is_dir());
    Ok(())
}
