//! Numbers and columns of text for people to read.

const TAB_COLUMNS: usize = 8;

/// Digits in groups of three: `1,234,567`.
pub(super) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number and what it counts.
pub(super) fn counted(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", grouped(number), if number == 1 { one } else { many })
}

/// Columns that text takes on a terminal: none for what combines with the character before, two for
/// wide East Asian characters and emoji. By block, which is near enough to line up columns.
pub(super) fn width(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { text.chars().map(char_width).sum() }
}

fn char_width(char: char) -> usize {
    match char as u32 {
        0x0300..=0x036f | 0x200b..=0x200f | 0x20d0..=0x20ff | 0xfe00..=0xfe0f | 0xfe20..=0xfe2f => 0,
        0x1100..=0x115f
        | 0x2e80..=0x303e
        | 0x3041..=0xa4cf
        | 0xac00..=0xd7a3
        | 0xf900..=0xfaff
        | 0xfe30..=0xfe6f
        | 0xff00..=0xff60
        | 0xffe0..=0xffe6
        | 0x1f300..=0x1f64f
        | 0x1f680..=0x1f6ff
        | 0x1f900..=0x1f9ff
        | 0x20000..=0x3fffd => 2,
        _ => 1,
    }
}

/// The text without what would move the cursor or change the terminal; line breaks stay.
pub(super) fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut line_begin = 0;
    for char in text.chars() {
        match char {
            '\n' => {
                shown.push(char);
                line_begin = shown.len();
            }
            '\t' => {
                let columns = TAB_COLUMNS - width(&shown[line_begin..]) % TAB_COLUMNS;
                shown.extend(std::iter::repeat_n(' ', columns));
            }
            '\r' => shown.push_str("\\r"),
            _ if char.is_ascii_control() => shown.push_str(&format!("\\x{:02X}", char as u32)),
            _ if char.is_control() || is_direction(char) => shown.push_str(&format!("\\u{:04X}", char as u32)),
            _ => shown.push(char),
        }
    }
    shown
}

/// Characters that turn the direction of the text after them, also of other columns.
fn is_direction(char: char) -> bool {
    matches!(char, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Breaks text into lines of at most `columns`, at spaces where there are any.
pub(super) fn wrapped(text: &str, columns: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in text.split_whitespace() {
        if !line.is_empty() && width(&line) + 1 + width(word) > columns {
            lines.push(std::mem::take(&mut line));
        }
        if !line.is_empty() {
            line.push(' ');
        }
        for char in word.chars() {
            if !line.is_empty() && width(&line) + char_width(char) > columns {
                lines.push(std::mem::take(&mut line));
            }
            line.push(char);
        }
    }
    if !line.is_empty() || lines.is_empty() {
        lines.push(line);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        let numbers = [0, 999, 1000, 123_456, 1_234_567, u64::MAX];
        let expected = ["0", "999", "1,000", "123,456", "1,234,567", "18,446,744,073,709,551,615"];
        assert_eq!(numbers.map(grouped), expected);
        assert_eq!(counted(1, "row", "rows"), "1 row");
        assert_eq!(counted(0, "row", "rows"), "0 rows");
    }

    #[test]
    fn widths() {
        let texts = ["", "abc", "Zürich", "e\u{301}", "日本", "한", "🙂"];
        assert_eq!(texts.map(width), [0, 3, 6, 1, 4, 2, 2]);
    }

    #[test]
    fn control_characters_are_shown() {
        assert_eq!(visible("a\tb\n\tc\r\u{1b}[0m\u{9b}\u{202e}é"), "a       b\n        c\\r\\x1B[0m\\u009B\\u202Eé");
    }

    #[test]
    fn long_text_is_broken_at_spaces() {
        assert_eq!(wrapped("RowKey >= 'a' AND RowKey < 'b'", 12), ["RowKey >=", "'a' AND", "RowKey < 'b'"]);
        assert_eq!(wrapped("abcdefgh ij", 3), ["abc", "def", "gh", "ij"]);
        assert_eq!(wrapped("日本語", 4), ["日本", "語"]);
        assert_eq!(wrapped("", 5), [""]);
    }
}
