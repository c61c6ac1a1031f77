use super::*;

fn micros(year: i64, month: i64, day: i64, hour: i64, minute: i64) -> i64 {
    days_of_civil(year, month, day) * MICROS_PER_DAY + (hour * 60 + minute) * 60 * MICROS_PER_SECOND
}

#[test]
fn names_as_postgres_shows_them() {
    let shown = [
        ("utc", "UTC", 0),
        ("europe/BERLIN", "Europe/Berlin", 3600),
        ("est5edt", "EST5EDT", -18000),
        ("-5", "<-05>+05", -18000),
        ("+02", "<+02>-02", 7200),
        (" 5", "<+05>-05", 18000),
        ("5.5", "<+05:30>-05:30", 19800),
        ("-3.75", "<-03:45>+03:45", -13500),
        ("UTC+3", "UTC+3", -10800),
        ("foo5", "FOO5", -18000),
        ("-05:30", "-05:30", 19800),
        ("+05:30", "+05:30", -19800),
        ("<+0330>-03:30", "<+0330>-03:30", 12600),
    ];
    for (text, name, offset) in shown {
        let zone = Zone::parse(text).unwrap();
        assert_eq!((zone.to_string().as_str(), zone.offset_at(micros(2020, 1, 1, 0, 0))), (name, offset), "{text}");
    }
    for text in ["Z", "", "nowhere", "200", "-168", "UTC+200", "PST", "nan", "inf", "5x", "<a", "Europe/", "ÄÖ5:"] {
        let error = Zone::parse(text).unwrap_err();
        assert_eq!(error.message, format!("invalid value for parameter \"TimeZone\": \"{text}\""));
        assert_eq!(error.sqlstate, SqlState::INVALID_PARAMETER_VALUE);
    }
    assert_eq!(Zone::parse("foo5bar").unwrap_err().sqlstate, SqlState::FEATURE_NOT_SUPPORTED);
    assert!(Zone::parse("UTC-05:30:15").unwrap_err().message.ends_with("appears to use leap seconds"));
}

#[test]
fn offsets_from_1601_to_9999() {
    let berlin = Zone::parse("Europe/Berlin").unwrap();
    assert_eq!(berlin.offset_at(micros(1601, 1, 1, 0, 0)), 53 * 60 + 28);
    assert_eq!(berlin.offset_at(micros(9999, 7, 1, 0, 0)), 7200);
    assert_eq!(berlin.offset_at(micros(9999, 12, 31, 23, 59)), 3600);
    assert_eq!(berlin.abbreviation_at(micros(2500, 7, 1, 0, 0)), "CEST");
    // The last Sunday of March 3000 is the 30th.
    assert_eq!(berlin.offset_at(micros(3000, 3, 30, 0, 59)), 3600);
    assert_eq!(berlin.offset_at(micros(3000, 3, 30, 1, 0)), 7200);
    let casablanca = Zone::parse("Africa/Casablanca").unwrap();
    for month in 1..=12 {
        assert_eq!(casablanca.offset_at(micros(2500, month, 1, 0, 0)), 3600, "no rules after 2087");
    }
    assert_eq!(Zone::parse("Asia/Dubai").unwrap().abbreviation_at(0), "+04");
    assert_eq!(Zone::utc().offset_at(i64::MIN), 0);
    assert_eq!(berlin.offset_at(i64::MIN), 53 * 60 + 28);
    assert_eq!(berlin.offset_at(i64::MAX - 2 * MICROS_PER_DAY).abs(), 3600);
}

#[test]
fn gaps_and_overlaps() {
    for (name, local, offset) in [
        ("Europe/Berlin", micros(2021, 3, 28, 2, 30), 3600),
        ("Europe/Berlin", micros(2021, 10, 31, 2, 30), 3600),
        ("Europe/Berlin", micros(2021, 10, 31, 1, 59), 7200),
        ("Europe/Berlin", micros(2021, 10, 31, 3, 0), 3600),
        ("America/New_York", micros(2021, 3, 14, 2, 30), -18000),
        ("America/New_York", micros(2021, 11, 7, 1, 30), -18000),
        ("America/New_York", micros(2021, 11, 7, 0, 59), -14400),
    ] {
        let utc = Zone::parse(name).unwrap().local_to_utc(local).unwrap();
        assert_eq!((local - utc) / MICROS_PER_SECOND, offset, "{name} {local}");
    }
}
