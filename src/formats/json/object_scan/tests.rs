use super::ObjectScan;
use rowkey_model::rows::generated::Random;

/// The end of an object, byte by byte.
fn end_of(text: &[u8]) -> Option<usize> {
    let (mut depth, mut in_string, mut escaping) = (0, false, false);
    for (at, byte) in text.iter().enumerate() {
        let escaped = std::mem::take(&mut escaping);
        match byte {
            b'\\' => escaping = !escaped,
            b'"' => in_string ^= !escaped,
            b'{' | b'[' if !in_string => depth += 1,
            b'}' | b']' if !in_string => {
                depth -= 1;
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
    }
    None
}

#[test]
fn ends_are_found_in_any_pieces() {
    let mut found = 0;
    for seed in 0..30_000 {
        let mut random = Random::new(seed);
        let bytes = 1 + random.below(400);
        let mut text: Vec<u8> = (0..bytes)
            .map(|_| if random.chance(3) { *random.pick(b"\"\"\"\\{}[]") } else { *random.pick(b"a1:, \xc3\xa9{") })
            .collect();
        text[0] = b'{';
        let expected = end_of(&text);
        found += usize::from(expected.is_some());
        assert_eq!(ObjectScan::default().advance(&text), expected, "seed {seed}: {}", String::from_utf8_lossy(&text));
        let (mut scan, mut at, mut end) = (ObjectScan::default(), 0, None);
        while at < text.len() && end.is_none() {
            let piece = random.below(90).min(text.len() - at);
            end = scan.advance(&text[at..at + piece]).map(|bytes| at + bytes);
            at += piece;
        }
        assert_eq!(end, expected, "seed {seed} in pieces: {}", String::from_utf8_lossy(&text));
    }
    assert!(found > 3000, "{found}");
}
