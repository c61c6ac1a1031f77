//! Dates and times. A text is cut into tokens, each token fills in parts of the date, the time or
//! the zone, as PostgreSQL's decoder does.

use super::tokens::{Token, tokens};
use super::{abbreviations, tokens};
use crate::types::calendar::{
    MAX_DAYS, MICROS_PER_DAY, MICROS_PER_SECOND, MIN_DAYS, MIN_MICROS, day_of, days_in_month, days_of_civil,
    month_of_name, weekday_of_name,
};
use crate::types::{DateOrder, Error, SqlState, TextStyle, Zone};

/// A local time, in microseconds since 1970. A zone in the text is read and ignored.
pub(super) fn parse_timestamp(text: &str, style: &TextStyle) -> Result<i64, Error> {
    let parts = Parts::read("timestamp", text, style)?;
    parts.local_micros()
}

/// An instant, in microseconds since 1970; without a zone in the text that of the session counts.
pub(super) fn parse_timestamptz(text: &str, style: &TextStyle) -> Result<i64, Error> {
    let parts = Parts::read("timestamp with time zone", text, style)?;
    if parts.epoch {
        return Ok(0);
    }
    if let Some(now) = parts.now {
        return Ok(now);
    }
    let local = parts.local_micros()?;
    let zone = parts.zone.as_ref().unwrap_or(&style.zone);
    zone.local_to_utc(local).filter(|utc| *utc >= MIN_MICROS).ok_or_else(|| parts.beyond("timestamp"))
}

/// Days since 1970. A time in the text is read and ignored.
pub(super) fn parse_date(text: &str, style: &TextStyle) -> Result<i32, Error> {
    let parts = Parts::read("date", text, style)?;
    let days = parts.days()?;
    i32::try_from(days).ok().filter(|_| (MIN_DAYS..=MAX_DAYS).contains(&days)).ok_or_else(|| parts.beyond("date"))
}

/// Microseconds since midnight. A date and a zone in the text are read and ignored.
pub(super) fn parse_time(text: &str, style: &TextStyle) -> Result<i64, Error> {
    let parts = Parts::read("time", text, style)?;
    parts.time.ok_or_else(|| parts.invalid())
}

/// What has been read of a text.
struct Parts<'a> {
    type_name: &'a str,
    text: &'a str,
    order: DateOrder,
    year: Option<i64>,
    month: Option<i64>,
    day: Option<i64>,
    month_by_name: bool,
    short_year: bool,
    before_christ: Option<bool>,
    time: Option<i64>,
    afternoon: Option<bool>,
    zone: Option<Zone>,
    epoch: bool,
    /// The moment that the text means, if it is `now`.
    now: Option<i64>,
    style: &'a TextStyle,
}

impl<'a> Parts<'a> {
    fn read(type_name: &'a str, text: &'a str, style: &'a TextStyle) -> Result<Self, Error> {
        let mut parts = Parts {
            type_name,
            text,
            order: style.date_style.order,
            year: None,
            month: None,
            day: None,
            month_by_name: false,
            short_year: false,
            before_christ: None,
            time: None,
            afternoon: None,
            zone: None,
            epoch: false,
            now: None,
            style,
        };
        let tokens = tokens(text, is_keyword).ok_or_else(|| parts.invalid())?;
        for token in tokens {
            match token {
                Token::Date(token) if parts.has_date() => parts.read_zone_or_time(&token)?,
                Token::Date(token) => parts.read_date(&token)?,
                Token::Time(token) => parts.read_time(&token)?,
                Token::Number(token) => parts.read_number(&token)?,
                Token::Offset(token) => parts.read_offset(&token)?,
                Token::Word(token) => parts.read_word(&token)?,
            }
        }
        parts.finish()
    }

    fn finish(mut self) -> Result<Self, Error> {
        if let Some(afternoon) = self.afternoon {
            let time = self.time.ok_or_else(|| self.invalid())?;
            const HALF_DAY: i64 = MICROS_PER_DAY / 2;
            if time >= HALF_DAY + 3600 * MICROS_PER_SECOND {
                return Err(self.out_of_range());
            }
            self.time = Some(time % HALF_DAY + if afternoon { HALF_DAY } else { 0 });
        }
        if self.type_name == "time" && self.time.is_none() {
            return Err(self.invalid());
        }
        let any_date = self.year.is_some() || self.month.is_some() || self.day.is_some();
        // A time can do without a date, but not with half of one.
        if self.epoch || (self.type_name == "time" && !any_date) {
            return Ok(self);
        }
        if !self.has_date() {
            return Err(self.invalid());
        }
        self.days()?;
        Ok(self)
    }

    fn invalid(&self) -> Error {
        let message = format!("invalid input syntax for type {}: \"{}\"", self.type_name, self.text);
        Error::new(SqlState::INVALID_DATETIME_FORMAT, message)
    }

    fn out_of_range(&self) -> Error {
        let message = format!("date/time field value out of range: \"{}\"", self.text);
        Error::new(SqlState::DATETIME_FIELD_OVERFLOW, message)
    }

    fn beyond(&self, what: &str) -> Error {
        Error::new(SqlState::DATETIME_FIELD_OVERFLOW, format!("{what} out of range: \"{}\"", self.text))
    }

    fn has_date(&self) -> bool {
        self.year.is_some() && self.month.is_some() && self.day.is_some()
    }

    fn local_micros(&self) -> Result<i64, Error> {
        let days = self.days()?;
        let midnight = days.checked_mul(MICROS_PER_DAY).ok_or_else(|| self.beyond("timestamp"))?;
        let micros = midnight.checked_add(self.time.unwrap_or(0));
        micros.filter(|micros| *micros >= MIN_MICROS).ok_or_else(|| self.beyond("timestamp"))
    }

    fn days(&self) -> Result<i64, Error> {
        if self.epoch {
            return Ok(0);
        }
        let (Some(year), Some(month), Some(day)) = (self.year, self.month, self.day) else {
            return Err(self.invalid());
        };
        let year = match self.before_christ {
            Some(true) if year > 0 => 1 - year,
            _ if year <= 0 => return Err(self.out_of_range()),
            Some(false) => year,
            _ if self.short_year && year < 70 => year + 2000,
            _ if self.short_year && year < 100 => year + 1900,
            _ => year,
        };
        if !(1..=12).contains(&month) || !(1..=days_in_month(year, month)).contains(&day) {
            return Err(self.out_of_range());
        }
        Ok(days_of_civil(year, month, day))
    }

    /// Three parts between separators, of which one may be a month's name.
    fn read_date(&mut self, token: &str) -> Result<(), Error> {
        let parts: Vec<&str> =
            token.split(|c: char| !c.is_ascii_alphanumeric()).filter(|part| !part.is_empty()).collect();
        let (names, numbers): (Vec<&str>, Vec<&str>) =
            parts.into_iter().partition(|part| part.starts_with(|c: char| c.is_ascii_alphabetic()));
        for name in names {
            self.set_month(month_of_name(name).ok_or_else(|| self.invalid())?)?;
        }
        for number in numbers {
            if self.has_date() {
                return Err(self.invalid());
            }
            self.read_date_number(number)?;
        }
        if self.has_date() { Ok(()) } else { Err(self.invalid()) }
    }

    fn set_month(&mut self, month: i64) -> Result<(), Error> {
        // `1 January` and `January 1` read alike, whatever the order: what was taken for the month
        // is the day.
        if let (Some(number), None, false) = (self.month, self.day, self.month_by_name) {
            self.day = Some(number);
        } else if self.month.is_some() {
            return Err(self.invalid());
        }
        self.month = Some(month);
        self.month_by_name = true;
        Ok(())
    }

    /// A number of at most four digits, or any within a date: which part it is follows from its
    /// length, from what is known and the order.
    fn read_date_number(&mut self, token: &str) -> Result<(), Error> {
        let value = self.integer(token)?;
        let long = token.len() >= 3;
        let year_first = long || self.order == DateOrder::Ymd;
        let had_year = self.year.is_some();
        let slot = match (self.year, self.month, self.day) {
            (None, None, None) if year_first => &mut self.year,
            (None, None, None) if self.order == DateOrder::Dmy => &mut self.day,
            (None, None, None) => &mut self.month,
            (Some(_), None, _) => &mut self.month,
            (None, Some(_), None) if self.month_by_name && year_first => &mut self.year,
            (None, Some(_), None) => &mut self.day,
            (Some(year), Some(_), None) => {
                // `Feb 7 1999` in the order YMD.
                if self.month_by_name && long && self.short_year {
                    self.day = Some(year);
                    self.year = Some(value);
                    self.short_year = false;
                    return Ok(());
                }
                &mut self.day
            }
            (None, None, Some(_)) => &mut self.month,
            (None, Some(_), Some(_)) => &mut self.year,
            (Some(_), Some(_), Some(_)) => return Err(self.invalid()),
        };
        *slot = Some(value);
        if !had_year && self.year.is_some() {
            self.short_year = token.len() <= 2;
        }
        Ok(())
    }

    fn read_number(&mut self, token: &str) -> Result<(), Error> {
        let whole = token.split('.').next().unwrap_or_default();
        let is_time = self.type_name == "time" && matches!(whole.len(), 4 | 6);
        if token.contains('.') || whole.len() >= 6 || self.has_date() || is_time {
            return self.read_run(whole, &token[whole.len()..]);
        }
        self.read_date_number(token)
    }

    /// Digits without separators: a date `yyyymmdd`, else a time `hhmmss` or `hhmm`.
    fn read_run(&mut self, digits: &str, fraction: &str) -> Result<(), Error> {
        let no_date = self.year.is_none() && self.month.is_none() && self.day.is_none();
        if no_date && fraction.is_empty() && digits.len() >= if self.type_name == "time" { 7 } else { 6 } {
            let (year, rest) = digits.split_at(digits.len() - 4);
            self.year = Some(self.integer(year)?);
            self.short_year = year.len() <= 2;
            self.month = Some(self.integer(&rest[..2])?);
            self.day = Some(self.integer(&rest[2..])?);
            return Ok(());
        }
        let (hours, minutes, seconds) = match digits.len() {
            6 => (&digits[..2], &digits[2..4], &digits[4..]),
            4 if fraction.is_empty() => (&digits[..2], &digits[2..], "0"),
            _ => return Err(self.invalid()),
        };
        self.set_time(hours, minutes, seconds, fraction)
    }

    fn integer(&self, digits: &str) -> Result<i64, Error> {
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(self.invalid());
        }
        digits.parse().ok().filter(|value| *value <= i64::from(i32::MAX)).ok_or_else(|| self.out_of_range())
    }

    /// `hh:mm`, `hh:mm:ss`, `hh:mm:ss.f`, `mm:ss.f`.
    fn read_time(&mut self, token: &str) -> Result<(), Error> {
        let (clock, fraction) = token.split_at(token.find('.').unwrap_or(token.len()));
        let parts: Vec<&str> = clock.split(':').collect();
        match parts.as_slice() {
            // A colon at the end is forgiven.
            [hours, ""] => self.set_time(hours, "0", "0", fraction),
            [hours, minutes, ""] => self.set_time(hours, minutes, "0", fraction),
            [hours, minutes] if fraction.is_empty() => self.set_time(hours, minutes, "0", ""),
            [minutes, seconds] => self.set_time("0", minutes, seconds, fraction),
            [hours, minutes, seconds] => self.set_time(hours, minutes, seconds, fraction),
            _ => Err(self.invalid()),
        }
    }

    fn set_time(&mut self, hours: &str, minutes: &str, seconds: &str, fraction: &str) -> Result<(), Error> {
        if self.time.is_some() {
            return Err(self.invalid());
        }
        let fraction = tokens::fraction_micros(fraction).ok_or_else(|| self.invalid())?;
        let (hours, minutes, seconds) = (self.integer(hours)?, self.integer(minutes)?, self.integer(seconds)?);
        // A second 60 is the next minute; 24:00:00 is the end of the day.
        if hours > 24 || minutes > 59 || seconds > 60 || (seconds == 60 && fraction > 0) {
            return Err(self.out_of_range());
        }
        if hours == 24 && (minutes > 0 || seconds > 0 || fraction > 0) {
            return Err(self.out_of_range());
        }
        self.time = Some((hours * 3600 + minutes * 60 + seconds) * MICROS_PER_SECOND + fraction);
        Ok(())
    }

    /// What has the form of a date after a date: the name of a zone, or `040506-08`.
    fn read_zone_or_time(&mut self, token: &str) -> Result<(), Error> {
        if token.starts_with(|c: char| c.is_ascii_digit()) {
            let (digits, offset) = token.split_at(token.find('-').ok_or_else(|| self.invalid())?);
            let whole = digits.split('.').next().unwrap_or_default();
            self.read_run(whole, &digits[whole.len()..])?;
            return self.read_offset(offset);
        }
        let zone = match Zone::named(token) {
            Some(zone) => Some(zone),
            None => Zone::posix(token)?,
        };
        let unknown = || Error::new(SqlState::INVALID_PARAMETER_VALUE, format!("time zone \"{token}\" not recognized"));
        self.set_zone(zone.ok_or_else(unknown)?)
    }

    /// `+hh`, `+hhmm`, `+hh:mm`, `+hh:mm:ss`, to the east.
    fn read_offset(&mut self, token: &str) -> Result<(), Error> {
        let (sign, digits) = token.split_at(1);
        let parts: Vec<&str> = digits.split(':').collect();
        let (hours, minutes, seconds) = match parts.as_slice() {
            [run] if run.len() > 2 => {
                let (hours, minutes) = run.split_at(run.len() - 2);
                (hours, minutes, "0")
            }
            [hours] => (*hours, "0", "0"),
            [hours, minutes] => (*hours, *minutes, "0"),
            [hours, minutes, seconds] => (*hours, *minutes, *seconds),
            _ => return Err(self.invalid()),
        };
        let (hours, minutes, seconds) = (self.integer(hours)?, self.integer(minutes)?, self.integer(seconds)?);
        if hours > 15 || minutes > 59 || seconds > 59 {
            let message = format!("time zone displacement out of range: \"{}\"", self.text);
            return Err(Error::new(SqlState::INVALID_TIME_ZONE_DISPLACEMENT, message));
        }
        let size = (hours * 3600 + minutes * 60 + seconds) as i32;
        self.set_zone(Zone::fixed(if sign == "-" { -size } else { size }))
    }

    fn set_zone(&mut self, zone: Zone) -> Result<(), Error> {
        if self.zone.is_some() {
            return Err(self.invalid());
        }
        self.zone = Some(zone);
        Ok(())
    }

    fn read_word(&mut self, word: &str) -> Result<(), Error> {
        if let Some(month) = month_of_name(word) {
            return self.set_month(month);
        }
        if weekday_of_name(word) {
            return Ok(());
        }
        match word {
            "am" | "pm" => set_once(&mut self.afternoon, word == "pm").ok_or_else(|| self.invalid()),
            "bc" | "ad" => set_once(&mut self.before_christ, word == "bc").ok_or_else(|| self.invalid()),
            "at" | "on" => Ok(()),
            // Before a time.
            "t" if self.has_date() && self.time.is_none() => Ok(()),
            "epoch" if self.type_name != "time" && self.year.is_none() => {
                self.epoch = true;
                Ok(())
            }
            "now" | "today" | "tomorrow" | "yesterday" if self.style.now.is_some() => self.read_moment(word),
            "allballs" => {
                set_once(&mut self.time, 0).ok_or_else(|| self.invalid())?;
                self.set_zone(Zone::utc())
            }
            "infinity" | "now" | "today" | "tomorrow" | "yesterday" | "-infinity" | "+infinity" => {
                Err(Error::unsupported(format!("value \"{}\" of type {} is not supported", self.text, self.type_name)))
            }
            _ => match abbreviations::zone_of_abbreviation(word).or_else(|| Zone::named(word)) {
                Some(zone) => self.set_zone(zone),
                None => Err(self.invalid()),
            },
        }
    }
}

impl Parts<'_> {
    /// The date of a word, as clocks of the session show it; of `now` the time as well.
    fn read_moment(&mut self, word: &str) -> Result<(), Error> {
        let Some(now) = self.style.now else { return Err(self.invalid()) };
        let has_any = self.year.is_some() || self.month.is_some() || self.day.is_some();
        // To the time of another day there is no date.
        if has_any || (self.type_name == "time" && word != "now") {
            return Err(self.invalid());
        }
        let local = now.saturating_add(i64::from(self.style.zone.offset_at(now)) * MICROS_PER_SECOND);
        let days = local.div_euclid(MICROS_PER_DAY);
        if word == "now" {
            set_once(&mut self.time, local.rem_euclid(MICROS_PER_DAY)).ok_or_else(|| self.invalid())?;
            self.now = Some(now);
        }
        let day = day_of(match word {
            "tomorrow" => days + 1,
            "yesterday" => days - 1,
            _ => days,
        });
        (self.year, self.month, self.day) = (Some(day.year), Some(i64::from(day.month)), Some(i64::from(day.day)));
        Ok(())
    }
}

fn set_once<T>(slot: &mut Option<T>, value: T) -> Option<()> {
    if slot.is_some() {
        return None;
    }
    *slot = Some(value);
    Some(())
}

/// Words that end before a digit or a plus, where other words go on as the name of a zone (`utc+3`,
/// `est5edt`).
fn is_keyword(word: &str) -> bool {
    month_of_name(word).is_some()
        || weekday_of_name(word)
        || matches!(
            word,
            "am" | "pm" | "bc" | "ad" | "at" | "on" | "t" | "epoch" | "infinity" | "now" | "today" | "allballs"
        )
}
