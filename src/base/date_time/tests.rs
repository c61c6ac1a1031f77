use crate::testing::Dice;

use super::*;

fn ticks(text: &str) -> i64 {
    DateTime::parse(text).unwrap_or_else(|rejected| panic!("{rejected}")).ticks()
}

fn rejected(text: &str) -> Rejected {
    match DateTime::parse(text) {
        Ok(at) => panic!("{text:?} was read as {at}"),
        Err(rejected) => rejected,
    }
}

/// Choices of points in time.
struct Random(Dice);

impl Random {
    fn next(&mut self) -> u64 {
        self.0.next_u64()
    }

    fn date_time(&mut self) -> DateTime {
        let range = (DateTime::MAX.ticks() - DateTime::MIN.ticks()) as u64 + 1;
        DateTime::from_ticks(DateTime::MIN.ticks() + (self.next() % range) as i64)
    }
}

#[test]
fn reads_known_instants() {
    assert_eq!(ticks("1970-01-01T00:00:00Z"), 0);
    assert_eq!(ticks("1970-01-01T00:00:00.0000001Z"), 1);
    assert_eq!(ticks("1969-12-31T23:59:59.9999999Z"), -1);
    assert_eq!(ticks("2000-02-29T00:00:00Z"), 951_782_400 * TICKS_PER_SECOND);
    assert_eq!(ticks("2024-05-01T08:00:00.1234567Z"), 1_714_550_400 * TICKS_PER_SECOND + 1_234_567);
    assert_eq!(ticks("2038-01-19T03:14:07Z"), i64::from(i32::MAX) * TICKS_PER_SECOND);
}

#[test]
fn the_range_is_1601_to_9999_inclusive() {
    assert_eq!(DateTime::parse("1601-01-01T00:00:00Z"), Ok(DateTime::MIN));
    assert_eq!(DateTime::parse("9999-12-31T23:59:59.9999999Z"), Ok(DateTime::MAX));
    assert_eq!(DateTime::MIN.to_string(), "1601-01-01T00:00:00Z");
    assert_eq!(DateTime::MAX.to_string(), "9999-12-31T23:59:59.9999999Z");
    for text in ["1600-12-31T23:59:59.9999999Z", "0000-01-01T00:00:00Z", "9999-12-31T23:59:59-00:01"] {
        let rejected = rejected(text);
        assert_eq!(rejected.rule, Rule::DateTimeRange, "{text}");
        assert_eq!(
            rejected.to_string(),
            format!(
                "DateTime \"{text}\" is not allowed: \
                 a DateTime lies between 1601-01-01T00:00:00Z and 9999-12-31T23:59:59.9999999Z"
            )
        );
    }
    let outside = DateTime::parse_unbounded("0001-01-01T01:00:00+01:00").map(|at| at.to_string());
    assert_eq!(outside.as_deref(), Ok("0001-01-01T00:00:00Z"));
    // The limits hold for the instant, not for its local text.
    assert_eq!(DateTime::parse("1600-12-31T22:00:00-02:00"), Ok(DateTime::MIN));
}

#[test]
fn validate_names_the_property() {
    assert_eq!(DateTime::MIN.validate("Born"), Ok(()));
    assert_eq!(DateTime::MAX.validate("Born"), Ok(()));
    for outside in [DateTime::MIN.ticks() - 1, DateTime::MAX.ticks() + 1, i64::MIN, i64::MAX] {
        let rejected = DateTime::from_ticks(outside).validate("Born").expect_err("out of range");
        assert_eq!((rejected.rule, &*rejected.what), (Rule::DateTimeRange, "property Born"));
        assert_eq!(rejected.value, format!("{outside} ticks"));
    }
}

#[test]
fn reads_every_form_exports_have() {
    let at = ticks("2024-05-01T08:00:00.1234567Z");
    for text in [
        "2024-05-01 08:00:00.1234567Z",
        "2024-05-01t08:00:00.1234567z",
        "2024-05-01T08:00:00.1234567",
        "2024-05-01T08:00:00.123456700Z",
        "2024-05-01T08:00:00.1234567000000000000000000000Z",
        "2024-05-01T10:00:00.1234567+02:00",
        "2024-05-01T10:00:00.1234567+0200",
        "2024-05-01T10:00:00.1234567+02",
        "2024-05-01T13:30:00.1234567+05:30",
        "2024-04-30T23:45:00.1234567-08:15",
        "2024-05-01 08:00:00.1234567+00:00",
        "2024-05-01T08:00:00.1234567-00:00",
    ] {
        assert_eq!(ticks(text), at, "{text}");
    }
}

#[test]
fn reads_fractions_of_any_length_up_to_seven_digits() {
    let second = ticks("2024-05-01T08:00:00Z");
    let mut text = "2024-05-01T08:00:00.".to_owned();
    let expected = [9_000_000, 9_800_000, 9_870_000, 9_876_000, 9_876_500, 9_876_540, 9_876_543];
    for (digit, fraction) in "9876543".chars().zip(expected) {
        text.push(digit);
        assert_eq!(ticks(&text) - second, fraction, "{text}");
    }
    assert_eq!(ticks("2024-05-01T08:00:00.0Z"), second);
    text.push('1');
    assert!(rejected(&text).limit.contains("at most seven digits"), "{text}");
}

#[test]
fn refuses_what_is_no_date() {
    for text in [
        "",
        "2024",
        "2024-05-01",
        "2024-05-01T08:00",
        "2024-05-01T08:00:0Z",
        "2024-05-01T08:00:00.Z",
        "2024-05-01T08:00:00.",
        "2024-05-01T08:00:00,5Z",
        "2024-05-01T08:00:00 Z",
        "2024-05-01T08:00:00ZZ",
        "2024-05-01T08:00:00+",
        "2024-05-01T08:00:00+2",
        "2024-05-01T08:00:00+02:",
        "2024-05-01T08:00:00+24:00",
        "2024-05-01T08:00:00+02:60",
        "2024-05-01T08:00:00*02:00",
        "2024-05-01T08:00:00+0a:00",
        "2024-05-01T08:00:00.12x4Z",
        "2024-05-01_08:00:00Z",
        "2024/05/01T08:00:00Z",
        "2024-05-01T08.00.00Z",
        "+024-05-01T08:00:00Z",
        "2024-5-01T08:00:00ZZ",
        "2024-00-01T08:00:00Z",
        "2024-13-01T08:00:00Z",
        "2024-05-00T08:00:00Z",
        "2024-05-32T08:00:00Z",
        "2024-04-31T08:00:00Z",
        "2023-02-29T08:00:00Z",
        "1900-02-29T08:00:00Z",
        "2024-02-30T08:00:00Z",
        "2024-05-01T24:00:00Z",
        "2024-05-01T08:60:00Z",
        "2024-06-30T23:59:60Z",
        "2024-05-01T08:00:00Ⅷ",
        "２０２４-05-01T08:00:00Z",
        " 2024-05-01T08:00:00Z",
        "2024-05-01T08:00:00Z ",
        "10000-01-01T00:00:00Z",
    ] {
        let rejected = rejected(text);
        assert_eq!((rejected.rule, &*rejected.value), (Rule::Unreadable, text));
    }
    assert_eq!(
        rejected("2023-02-29T08:00:00Z").to_string(),
        "DateTime \"2023-02-29T08:00:00Z\" is not allowed: there is no such day in the calendar"
    );
}

#[test]
fn shows_the_fraction_without_trailing_zeros() {
    for text in [
        "2020-06-22T15:16:13.377335Z",
        "2020-06-22T15:16:00Z",
        "2020-06-22T15:16:00.0000001Z",
        "2020-06-22T15:16:00.1Z",
        "1969-12-31T23:59:59.9999999Z",
        "1600-02-29T00:00:00Z",
        "0000-03-01T00:00:00Z",
    ] {
        let at = DateTime::parse(text).or_else(|_| Ok::<_, Rejected>(outside_range(text))).expect("never fails");
        assert_eq!(at.to_string(), text);
    }
    assert_eq!(format!("[{:>22}]", DateTime::MIN), "[  1601-01-01T00:00:00Z]");
}

/// An instant that `parse` refuses for its range alone.
fn outside_range(text: &str) -> DateTime {
    let civil = text.as_bytes().first_chunk::<19>().expect("long enough");
    DateTime(civil_seconds(civil).expect("well-formed") * TICKS_PER_SECOND)
}

#[test]
fn shows_instants_outside_the_range_too() {
    assert_eq!(DateTime::from_ticks(DateTime::MAX.ticks() + 1).to_string(), "+10000-01-01T00:00:00.0000000Z");
    assert_eq!(DateTime::from_ticks(i64::MAX).to_string(), "+31197-09-14T02:48:05.4775807Z");
    assert_eq!(DateTime::from_ticks(i64::MIN).to_string(), "-27258-04-19T21:11:54.5224192Z");
}

#[test]
fn micros_and_tick_make_up_the_ticks() {
    for (ticks, micros, tick) in [(0, 0, 0), (19, 1, 9), (-1, -1, 9), (-10, -1, 0), (-11, -2, 9)] {
        let at = DateTime::from_ticks(ticks);
        assert_eq!((at.micros(), at.tick()), (micros, tick), "{ticks} ticks");
        assert_eq!(DateTime::from_micros(micros, tick), at);
    }
    assert_eq!(DateTime::from_micros(i64::MAX, 9).ticks(), i64::MAX);
    assert_eq!(DateTime::from_micros(i64::MIN, 0).ticks(), i64::MIN);
}

#[test]
fn every_day_of_the_range_follows_the_one_before() {
    let (mut year, mut month, mut day) = (1601, 1, 1);
    let days = (DateTime::MAX.ticks() - DateTime::MIN.ticks()) / TICKS_PER_SECOND / SECONDS_PER_DAY;
    let first = DateTime::MIN.ticks() / TICKS_PER_SECOND / SECONDS_PER_DAY;
    for number in first..=first + days {
        assert_eq!(civil_of_days(number), (year, month, day), "day {number}");
        assert_eq!(days_of_civil(year, month, day), number, "{year}-{month}-{day}");
        day += 1;
        if day > days_in_month(year, month) {
            (month, day) = (month + 1, 1);
        }
        if month > 12 {
            (year, month) = (year + 1, 1);
        }
    }
    assert_eq!((year, month, day), (10_000, 1, 1));
}

#[test]
fn what_is_shown_reads_back() {
    let seed = 0x5eed_0001;
    let mut random = Random(Dice(seed));
    for round in 0..100_000 {
        let mut at = random.date_time();
        if round % 2 == 1 {
            // Short fractions, which a random tick hardly ever has.
            let unit = 10_i64.pow((random.next() % 8) as u32);
            at = DateTime(at.ticks().div_euclid(unit) * unit);
        }
        let text = at.to_string();
        assert_eq!(
            DateTime::parse(&text).map(DateTime::ticks),
            Ok(at.ticks()),
            "seed {seed:#x}, round {round}: {text}"
        );
        assert_eq!(DateTime::from_micros(at.micros(), at.tick()), at, "seed {seed:#x}, round {round}: {text}");
    }
}

#[test]
fn text_orders_as_instants_do() {
    let seed = 0x5eed_0002;
    let mut random = Random(Dice(seed));
    let sortable =
        |at: DateTime| format!("{:0<28}", at.to_string().trim_end_matches('Z').replace('.', "")).replace('Z', "");
    for round in 0..20_000 {
        let (a, b) = (random.date_time(), random.date_time());
        assert_eq!(a.cmp(&b), sortable(a).cmp(&sortable(b)), "seed {seed:#x}, round {round}: {a} and {b}");
    }
}

#[test]
fn an_offset_moves_the_instant_by_itself() {
    let seed = 0x5eed_0003;
    let mut random = Random(Dice(seed));
    for round in 0..20_000 {
        let local = random.date_time();
        let minutes = (random.next() % (2 * 1439 + 1)) as i64 - 1439;
        let sign = if minutes < 0 { '-' } else { '+' };
        let (hour, minute) = (minutes.abs() / 60, minutes.abs() % 60);
        let text = format!("{}{sign}{hour:02}:{minute:02}", local.to_string().trim_end_matches('Z'));
        let expected = DateTime::from_ticks(local.ticks() - minutes * 60 * TICKS_PER_SECOND);
        match DateTime::parse(&text) {
            Ok(at) => assert_eq!(at, expected, "seed {seed:#x}, round {round}: {text}"),
            Err(rejected) => assert!(expected.validate("").is_err(), "seed {seed:#x}, round {round}: {rejected}"),
        }
    }
}

#[test]
fn no_text_panics() {
    let seed = 0x5eed_0004;
    let mut random = Random(Dice(seed));
    let alphabet: Vec<char> = "0123456789-:TZ+. é\u{0}".chars().collect();
    let mut read = 0;
    for _ in 0..50_000 {
        let mut text: Vec<char> = "2024-05-01T08:00:00.1234567Z".chars().collect();
        for _ in 0..=random.next() % 2 {
            let at = (random.next() % text.len() as u64) as usize;
            text[at] = alphabet[(random.next() % alphabet.len() as u64) as usize];
        }
        let text: String = text.into_iter().collect();
        if let Ok(at) = DateTime::parse(&text) {
            read += 1;
            assert_eq!(DateTime::parse(&at.to_string()), Ok(at), "seed {seed:#x}: {text}");
        }
    }
    assert!(read > 1_000, "only {read} of the mutated texts were dates");
}

#[test]
fn seconds_may_be_missing_where_odata_has_them_so() {
    let read = |text: &str| DateTime::parse_odata(text).map(|at| at.to_string());
    for (text, whole) in [
        ("2020-02-29", "2020-02-29T00:00:00Z"),
        ("2020-02-29T12:34", "2020-02-29T12:34:00Z"),
        ("2020-02-29T12:34Z", "2020-02-29T12:34:00Z"),
        ("2020-02-29T12:34+01:00", "2020-02-29T11:34:00Z"),
        ("2020-02-29T12:34:56.1234567Z", "2020-02-29T12:34:56.1234567Z"),
    ] {
        assert_eq!(read(text).as_deref().ok(), Some(whole), "{text}");
    }
    for text in
        ["2020-02-30", "2020-02-29T12", "2020-02-29T12:3", "2020-02-29T12:34:5", "1600-12-31", "2020-02-29T12:34x"]
    {
        assert!(read(text).is_err(), "{text}");
    }
    assert!(DateTime::parse_odata_unbounded("0001-01-01").is_ok());
}
