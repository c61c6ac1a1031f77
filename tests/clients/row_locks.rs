//! Rows that two clients read FOR UPDATE: nobody waits, and who commits second is refused.

use super::{Result, Server, connect};

#[tokio::test]
async fn of_two_that_have_locked_a_row_the_second_fails() -> Result {
    let server = Server::start()?;
    let (one, other) = (connect(&server).await?, connect(&server).await?);
    one.batch_execute("CREATE TABLE Locked (n int)").await?;
    one.batch_execute("INSERT INTO locked (partitionkey, rowkey, n) VALUES ('p', 'a', 1), ('p', 'b', 2)").await?;
    for (read, meanwhile, expected) in [
        ("FOR UPDATE", "UPDATE locked SET n = n + 1 WHERE rowkey = 'a'", Some("40001")),
        ("FOR SHARE", "UPDATE locked SET n = n + 1 WHERE rowkey = 'a'", Some("40001")),
        ("FOR UPDATE", "UPDATE locked SET n = n + 1 WHERE rowkey = 'b'", None),
        ("FOR UPDATE", "BEGIN; SELECT n FROM locked WHERE rowkey = 'a' FOR UPDATE; COMMIT", Some("40001")),
        ("FOR SHARE", "BEGIN; SELECT n FROM locked WHERE rowkey = 'a' FOR SHARE; COMMIT", None),
    ] {
        one.batch_execute("BEGIN").await?;
        // By the extended protocol, and with a parameter.
        let text = format!("SELECT n FROM locked WHERE partitionkey = 'p' AND rowkey = $1 {read}");
        let rows = one.query(&text, &[&"a"]).await?;
        assert_eq!((rows.len(), rows[0].len()), (1, 1));
        other.batch_execute(meanwhile).await?;
        let committed = one.batch_execute("COMMIT").await;
        let code = committed.err().and_then(|error| error.code().map(|code| code.code().to_owned()));
        assert_eq!(code.as_deref(), expected, "{read}: {meanwhile}");
    }
    Ok(())
}
