use super::*;

fn parse(arguments: &[&str]) -> Command {
    Arguments::try_parse_from([&["rowkey"], arguments].concat()).unwrap().command
}

fn refusal(arguments: &[&str]) -> String {
    Arguments::try_parse_from([&["rowkey"], arguments].concat()).unwrap_err().to_string()
}

fn data(data: Option<&str>) -> DataArguments {
    DataArguments { data: data.map(str::to_owned), spill_dir: None, account: None }
}

#[test]
fn the_definition_is_sound() {
    <Arguments as clap::CommandFactory>::command().debug_assert();
}

#[test]
fn a_query() {
    let Command::Sql(sql) = parse(&["sql", "SELECT 1"]) else { panic!("not sql") };
    assert_eq!((sql.query.as_deref(), sql.file, sql.sample, sql.output), (Some("SELECT 1"), None, false, None));

    let Command::Sql(sql) = parse(&["sql", "--data", "d", "--sample", "--output", "csv", "-f", "a.sql"]) else {
        panic!("not sql")
    };
    assert_eq!((sql.query, sql.file, sql.sample), (None, Some(PathBuf::from("a.sql")), true));
    assert_eq!((sql.output, sql.data.data.as_deref()), (Some(Form::Csv), Some("d")));

    assert!(refusal(&["sql", "-f", "a.sql", "SELECT 1"]).contains("cannot be used with"));
    assert!(
        refusal(&["sql", "--output", "xml", "SELECT 1"])
            .contains("[possible values: table, csv, json, ndjson, tsv, markdown, lines]")
    );
}

#[test]
fn an_import() {
    let Command::Import(import) = parse(&["import", "--table", "Devices", "a.json", "b/*.json", "-"]) else {
        panic!("not import")
    };
    assert_eq!(import.table.as_ref().map(TableName::as_str), Some("Devices"));
    assert_eq!((import.format, import.on_error), (None, None));
    assert_eq!(import.paths, ["a.json", "b/*.json", "-"].map(PathBuf::from));

    let Command::Import(import) =
        parse(&["import", "--format", "parquet", "--on-error", "stop", "--table", "Devices", "x"])
    else {
        panic!("not import")
    };
    assert_eq!((import.format, import.on_error), (Some(Format::Parquet), Some(OnError::Stop)));

    let Command::Import(import) = parse(&["import", "--from-account", "second", "__azurite_db_table__.json"]) else {
        panic!("not import")
    };
    assert_eq!((import.table.is_none(), import.from_account.as_deref()), (true, Some("second")));

    assert!(refusal(&["import", "--table", "Devices"]).contains("<PATH>"));
    assert!(refusal(&["import", "--table", "no-such", "x"]).contains("no-such"));
    assert!(
        refusal(&["import", "--table", "Devices", "--format", "xml", "x"])
            .contains("json, parquet, csv, azurite, az, python")
    );
}

#[test]
fn every_command_that_opens_a_database_takes_a_folder_to_spill_to_and_an_account() {
    for command in [
        &["serve"][..],
        &["sql", "SELECT 1"],
        &["import", "x.json"],
        &["export", "--table", "Devices", "-o", "x.csv"],
        &["check"],
    ] {
        let command = &[command, &["--spill-dir", "s", "--account", "second"]].concat();
        let data = match parse(command) {
            Command::Serve(arguments) => arguments.data,
            Command::Sql(arguments) => arguments.data,
            Command::Import(arguments) => arguments.data,
            Command::Export(arguments) => arguments.data,
            Command::Check(arguments) => arguments.data,
            Command::Account(arguments) => match arguments.command {
                AccountCommand::Add { data, .. }
                | AccountCommand::List { data, .. }
                | AccountCommand::Rotate { data, .. }
                | AccountCommand::Remove { data, .. } => data,
            },
            other @ (Command::Completions(_) | Command::Man) => panic!("{other:?}"),
        };
        let options = data.applied_to(Options::default());
        assert_eq!(options.spill_folder, Some(PathBuf::from("s")), "{command:?}");
        assert_eq!(options.account.as_str(), "second", "{command:?}");
    }
    assert!(refusal(&["sql", "--account", "My_Account", "SELECT 1"]).contains("3 to 24 lower-case letters"));
    let options = data(None).applied_to(Options::default());
    assert_eq!((options.spill_folder, options.account.as_str()), (None, "devstoreaccount1"));
}

#[test]
fn the_prompt_takes_no_statements() {
    let Command::Sql(sql) = parse(&["sql", "--sample", "--prompt"]) else { panic!("not sql") };
    assert!(sql.prompt && sql.sample);
    assert!(refusal(&["sql", "--prompt", "SELECT 1"]).contains("--prompt"));
    assert!(refusal(&["sql", "--prompt", "-f", "a.sql"]).contains("--prompt"));
}

#[test]
fn unknown_commands_are_refused() {
    assert!(refusal(&["chekc"]).contains("check"));
    assert!(Arguments::try_parse_from(["rowkey"]).is_err());
}

#[test]
fn where_the_data_lies() {
    let from = |given: Option<&str>, variable: Option<&str>| data(given).location_within(variable.map(OsString::from));
    assert_eq!(from(None, None).unwrap(), "./rowkey-data");
    assert_eq!(from(None, Some("")).unwrap(), "./rowkey-data");
    assert_eq!(from(None, Some("/data")).unwrap(), "/data");
    assert_eq!(from(Some(":memory:"), Some("/data")).unwrap(), ":memory:");
    assert!(from(Some(""), None).is_err());
    assert_eq!(data(None).location_of_sample(), ":memory:");
    assert_eq!(data(Some("d")).location_of_sample(), "d");
}
