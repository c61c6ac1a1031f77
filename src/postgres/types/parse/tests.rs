use rowkey_base::testing::Dice;

use bytes::BytesMut;

use crate::types::*;

/// Inputs with the answers of a PostgreSQL 15.
const RECORDED: &str = include_str!("recorded.tsv");

fn encode(ty: &'static PostgresType, value: &SqlValue, format: Format, style: &TextStyle) -> Result<BytesMut, Error> {
    let array = value.to_array(ty)?;
    let mut out = BytesMut::new();
    ColumnEncoder::with_type(ty, &array, format, style)?.write(0, &mut out)?;
    Ok(out)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn values_recorded_from_postgres() {
    let mut compared = 0;
    for line in RECORDED.lines().filter(|line| !line.starts_with('#')) {
        let cells: Vec<&str> = line.split('\t').collect();
        let [type_name, zone, date_style, interval_style, digits, bytea, input, output, binary] = cells[..] else {
            panic!("{line}")
        };
        let style = TextStyle {
            zone: Zone::parse(zone).unwrap(),
            date_style: DateStyle::parse(date_style, TextStyle::default().date_style).unwrap(),
            interval_style: interval_style.parse().unwrap(),
            bytea_output: bytea.parse().unwrap(),
            extra_float_digits: digits.parse().unwrap(),
            now: None,
        };
        let ty = type_by_sql_name(type_name).unwrap();
        let value = match parse_text(ty, input, &style) {
            Ok(value) => value,
            Err(error) => {
                assert_eq!(format!("ERROR {} {}", error.sqlstate.code(), error.message), output, "{line}");
                compared += 1;
                continue;
            }
        };
        let text = encode(ty, &value, Format::Text, &style).unwrap();
        assert_eq!(std::str::from_utf8(&text).unwrap(), output, "{line}");
        let bytes = encode(ty, &value, Format::Binary, &style).unwrap();
        assert_eq!(hex(&bytes), binary, "{line}");
        // NaN differs from itself.
        let back = parse_binary(ty, &bytes).unwrap();
        assert_eq!(format!("{back:?}"), format!("{value:?}"), "{line}");
        compared += 1;
    }
    assert!(compared > 700, "{compared}");
}

/// Choices of values; every failure prints the seed.
struct Random(Dice);

impl Random {
    fn next(&mut self) -> u64 {
        self.0.next_u64()
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    fn text(&mut self) -> String {
        const ALPHABET: [char; 12] = ['a', 'N', 'u', 'l', '"', '\\', '{', '}', ',', ' ', 'ä', '\n'];
        (0..self.below(8)).map(|_| ALPHABET[self.below(12) as usize]).collect()
    }

    fn value(&mut self, ty: &PostgresType) -> SqlValue {
        // 1601-01-01 to 9999-12-31.
        let micros = -11_644_473_600_000_000 + self.below(265_046_774_400_000_000) as i64;
        match ty.oid {
            oid::BOOL => SqlValue::Bool(self.below(2) == 0),
            oid::INT2 => SqlValue::Int2(self.next() as i16),
            oid::INT4 => SqlValue::Int4(self.next() as i32),
            oid::INT8 => SqlValue::Int8(self.next() as i64 >> self.below(64)),
            oid::FLOAT4 => {
                SqlValue::Float4(Some(f32::from_bits(self.next() as u32)).filter(|v| !v.is_nan()).unwrap_or(0.5))
            }
            oid::FLOAT8 => SqlValue::Float8(Some(f64::from_bits(self.next())).filter(|v| !v.is_nan()).unwrap_or(0.5)),
            oid::TEXT => SqlValue::Text(self.text()),
            oid::BYTEA => SqlValue::Bytes((0..self.below(40)).map(|_| self.next() as u8).collect()),
            oid::UUID => SqlValue::Uuid((u128::from(self.next()) << 64 | u128::from(self.next())).to_be_bytes()),
            oid::TIMESTAMP => SqlValue::Timestamp(micros),
            oid::TIMESTAMPTZ => SqlValue::TimestampTz(micros),
            oid::DATE => SqlValue::Date((micros / 86_400_000_000) as i32),
            oid::TIME => SqlValue::Time(self.below(86_400_000_001) as i64),
            oid::OID => SqlValue::Oid(self.next() as u32),
            oid::INTERVAL => SqlValue::Interval(Interval {
                months: self.below(2000) as i32 - 1000,
                days: self.below(2000) as i32 - 1000,
                micros: (self.next() as i64) >> 20,
            }),
            oid::NUMERIC => {
                let unscaled = (i128::from(self.next() as i64) * i128::from(self.next() >> 4)) >> self.below(120);
                SqlValue::Numeric { unscaled: unscaled.into(), scale: self.below(38) as i8 }
            }
            _ => {
                let element = ty.element().unwrap();
                let one = |random: &mut Self| if random.below(4) == 0 { SqlValue::Null } else { random.value(element) };
                SqlValue::Array((0..self.below(5)).map(|_| one(self)).collect())
            }
        }
    }
}

/// Offsets change twice a year in this zone, so an hour of each autumn is ambiguous as a local
/// time; its text has the offset.
#[test]
fn text_and_binary_read_back() {
    let names = [
        "bool",
        "int2",
        "int4",
        "int8",
        "float4",
        "float8",
        "text",
        "bytea",
        "uuid",
        "timestamp",
        "timestamptz",
        "date",
        "time",
        "oid",
        "interval",
        "numeric",
        "_text",
        "_int4",
        "_timestamptz",
        "_bytea",
        "_uuid",
        "_interval",
    ];
    for seed in 1..=300_u64 {
        let mut random = Random(Dice(seed));
        for name in names {
            let ty = type_by_name(name).unwrap();
            let value = random.value(ty);
            let style = TextStyle {
                zone: Zone::parse(["UTC", "Europe/Berlin", "America/St_Johns", "-5"][random.below(4) as usize])
                    .unwrap(),
                interval_style: ["postgres", "postgres_verbose", "sql_standard", "iso_8601"][random.below(4) as usize]
                    .parse()
                    .unwrap(),
                bytea_output: ["hex", "escape"][random.below(2) as usize].parse().unwrap(),
                ..TextStyle::default()
            };
            let text = encode(ty, &value, Format::Text, &style).unwrap();
            let text = std::str::from_utf8(&text).unwrap();
            assert_eq!(parse_text(ty, text, &style).as_ref(), Ok(&value), "seed {seed} {name} {text} {style:?}");
            let bytes = encode(ty, &value, Format::Binary, &style).unwrap();
            assert_eq!(parse_binary(ty, &bytes).as_ref(), Ok(&value), "seed {seed} {name} {}", hex(&bytes));
        }
    }
}

#[test]
fn any_bytes_are_refused_or_read() {
    for seed in 1..=3000_u64 {
        let mut random = Random(Dice(seed));
        for ty in TYPES.iter() {
            let mut bytes: Vec<u8> = (0..random.below(24)).map(|_| random.next() as u8 >> random.below(8)).collect();
            if ty.element().is_some() && bytes.len() > 12 {
                bytes[..12].copy_from_slice(&[0, 0, 0, (seed % 3) as u8, 0, 0, 0, 0, 0, 0, 0, 0]);
                bytes[8..12].copy_from_slice(&ty.element_oid.to_be_bytes());
            }
            // Neither may panic, whatever the answer.
            let _ = parse_binary(ty, &bytes);
            let _ = parse_text(ty, &String::from_utf8_lossy(&bytes), &TextStyle::default());
        }
    }
}

#[test]
fn what_cannot_be_held_is_refused() {
    for (name, text) in [
        ("timestamptz", "infinity"),
        ("date", "-infinity"),
        ("timestamp", "now"),
        ("numeric", "NaN"),
        ("point", "(1,2)"),
    ] {
        let error = parse_text(type_by_name(name).unwrap(), text, &TextStyle::default()).unwrap_err();
        assert_eq!(error.sqlstate, SqlState::FEATURE_NOT_SUPPORTED, "{name} {text}");
    }
    let infinite = parse_binary(type_by_name("timestamptz").unwrap(), &i64::MAX.to_be_bytes()).unwrap_err();
    assert_eq!(infinite.sqlstate, SqlState::FEATURE_NOT_SUPPORTED);
    let short = parse_binary(type_by_name("int4").unwrap(), &[0; 3]).unwrap_err();
    assert_eq!(short.sqlstate, SqlState::PROTOCOL_VIOLATION);
}
