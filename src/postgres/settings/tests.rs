use super::*;

fn settings() -> Settings {
    Settings::new([("TimeZone".to_owned(), "Europe/Berlin".to_owned())]).expect("settings")
}

fn refused(name: &str, value: &str) -> Error {
    settings().set(name, Some(value), false).expect_err(name)
}

#[test]
fn values_are_brought_to_postgresqls_form() {
    let mut settings = settings();
    for (name, value, shown) in [
        ("statement_timeout", "1500", "1500ms"),
        ("statement_timeout", "2s", "2s"),
        ("statement_timeout", "0.5 min", "30s"),
        ("statement_timeout", "0", "0"),
        ("work_mem", "64MB", "64MB"),
        ("application_name", "caf\u{e9}\t1", "caf???1"),
        ("application_name", &"x".repeat(100), &"x".repeat(63)),
        ("work_mem", "1024", "1MB"),
        ("jit", "TRUE", "on"),
        ("jit", "n", "off"),
        ("client_encoding", "utf-8", "UTF8"),
        ("bytea_output", "ESCAPE", "escape"),
        ("default_transaction_isolation", "Serializable", "serializable"),
        ("application_name", "It's me", "It's me"),
    ] {
        settings.set(name, Some(value), false).expect(name);
        assert_eq!(settings.get(name), Some(shown), "{name} = {value}");
    }
    settings.set("statement_timeout", Some("1min"), false).expect("set");
    assert_eq!(settings.duration("statement_timeout"), Some(Duration::from_secs(60)));
}

#[test]
fn what_does_not_fit_is_refused_in_postgresqls_words() {
    assert_eq!(refused("nosuch", "1").to_string(), "unrecognized configuration parameter \"nosuch\"");
    assert_eq!(refused("nosuch", "1").sqlstate(), SqlState::UNDEFINED_OBJECT);
    assert_eq!(refused("jit", "maybe").to_string(), "parameter \"jit\" requires a Boolean value");
    assert_eq!(
        refused("statement_timeout", "soon").to_string(),
        "invalid value for parameter \"statement_timeout\": \"soon\""
    );
    assert!(refused("statement_timeout", "-1").to_string().contains("outside the valid range"));
    assert_eq!(refused("TimeZone", "Nowhere/At_all").sqlstate(), SqlState::INVALID_PARAMETER_VALUE);
    assert_eq!(refused("server_version", "9").to_string(), "parameter \"server_version\" cannot be changed");
    assert_eq!(refused("client_encoding", "latin1").sqlstate(), SqlState::INVALID_PARAMETER_VALUE);
}

#[test]
fn changes_roll_back_with_their_transaction_and_local_ones_end_with_it() {
    let mut settings = settings();
    settings.save();
    settings.set("application_name", Some("a"), false).expect("set");
    settings.set("TimeZone", Some("UTC"), true).expect("set");
    assert_eq!((settings.get("application_name"), settings.get("timezone")), (Some("a"), Some("UTC")));
    settings.save();
    settings.set("application_name", Some("b"), false).expect("set");
    settings.restore(1);
    assert_eq!(settings.get("application_name"), Some("a"));
    settings.forget(0);
    assert_eq!((settings.get("application_name"), settings.get("timezone")), (Some("a"), Some("Europe/Berlin")));
    settings.save();
    settings.set("application_name", Some("c"), false).expect("set");
    settings.restore(0);
    settings.forget(0);
    assert_eq!(settings.get("application_name"), Some("a"));
    settings.set("jit", Some("on"), true).expect("without a transaction it ends at once");
    assert_eq!(settings.get("jit"), Some("off"));
}

#[test]
fn reset_goes_back_to_what_the_connection_began_with() {
    let mut settings = settings();
    settings.set("timezone", Some("UTC"), false).expect("set");
    settings.set("timezone", None, false).expect("reset");
    assert_eq!(settings.get("TimeZone"), Some("Europe/Berlin"));
    settings.set("my.own", Some("x"), false).expect("names with a dot are free");
    assert_eq!(settings.show("MY.OWN").expect("shown"), "x");
    settings.reset_all();
    assert_eq!(settings.get("my.own"), None);
}

#[test]
fn a_local_default_is_the_default_until_the_transaction_ends() {
    let mut settings = settings();
    settings.set("work_mem", Some("1MB"), false).expect("set");
    settings.save();
    settings.set("work_mem", None, true).expect("reset");
    assert_eq!(settings.get("work_mem"), Some("4MB"));
    settings.forget(0);
    assert_eq!(settings.get("work_mem"), Some("1MB"));
}

#[test]
fn the_search_path_is_a_list_of_names() {
    let mut settings = settings();
    assert_eq!(settings.search_path(), ["public"]);
    settings.set("search_path", Some("pg_catalog, \"My Own\", Public"), false).expect("set");
    assert_eq!(settings.search_path(), ["pg_catalog", "My Own", "public"]);
}

#[test]
fn settings_of_postgresql_are_known_by_name_type_and_range() {
    let names: Vec<String> = DEFINITIONS.iter().map(|definition| definition.name.to_ascii_lowercase()).collect();
    assert!(names.windows(2).all(|pair| pair[0] < pair[1]), "each once, in order");
    for definition in DEFINITIONS.iter() {
        assert_eq!(super::definition(definition.name).map(|found| found.name), Some(definition.name));
        // `port` and others that the server tells have no value yet.
        if definition.access == Access::Anyone && !definition.default.is_empty() {
            let kept = Settings::canonical(definition, definition.default).expect(definition.name);
            assert_eq!(kept, definition.default, "{}", definition.name);
        }
    }
    for (name, value, shown) in [
        ("enable_seqscan", "0", "off"),
        ("random_page_cost", "1.1", "1.1"),
        ("effective_cache_size", "8GB", "8GB"),
        ("effective_cache_size", "3", "24kB"),
        ("plan_cache_mode", "FORCE_CUSTOM_PLAN", "force_custom_plan"),
        ("vacuum_cost_delay", "5ms", "5ms"),
        ("vacuum_cost_delay", "0.5", "0.5ms"),
        ("jit_above_cost", "-1", "-1"),
        ("array_nulls", "on", "on"),
    ] {
        let mut settings = Settings::new([]).expect("settings");
        settings.set(name, Some(value), false).expect(name);
        assert_eq!(settings.get(name), Some(shown), "{name} = {value}");
        assert_eq!(settings.given_without_effect().len(), usize::from(shown != "on"), "{name}");
    }
    for (name, value) in [
        ("random_page_cost", "-1"),
        ("default_statistics_target", "10001"),
        ("geqo_selection_bias", "3"),
        ("plan_cache_mode", "x"),
        ("vacuum_cost_delay", "1kB"),
        ("array_nulls", "off"),
    ] {
        let error = Settings::new([]).expect("settings").set(name, Some(value), false).expect_err(name);
        assert_eq!(error.sqlstate(), SqlState::INVALID_PARAMETER_VALUE, "{name} = {value}");
    }
    let error = Settings::new([]).expect("settings").set("no_such_setting", Some("1"), false).expect_err("unknown");
    assert_eq!(error.sqlstate(), SqlState::UNDEFINED_OBJECT);
}

#[test]
fn settings_of_a_session_have_a_size() {
    let mut settings = settings();
    let half = "x".repeat(super::SETTINGS_BYTES_MAX / 2);
    settings.set("my.first", Some(&half), false).expect("fits");
    let error = settings.set("my.second", Some(&half), false).expect_err("does not fit");
    assert_eq!(error.sqlstate(), SqlState::PROGRAM_LIMIT_EXCEEDED);
    assert!(error.to_string().contains("my.second"), "{error}");
    settings.set("my.first", None, false).expect("is reset");
    settings.set("my.second", Some(&half), false).expect("fits now");
}
