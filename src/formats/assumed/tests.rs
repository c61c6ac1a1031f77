use super::*;

fn looks_like(texts: &[&str], typing: Typing) -> Option<EdmType> {
    let names = PropertyNames::new();
    let id = names.intern("P");
    let mut rows = Rows::new();
    let mut builder = rows.builder(&names);
    for (row, text) in texts.iter().enumerate() {
        builder.begin();
        builder.set(id, ValueRef::String(text));
        builder.finish("p", &row.to_string(), None).unwrap();
    }
    drop(builder);
    let (mut samples, mut sum) = (TypeSamples::default(), TypeSamples::default());
    samples.look_at(&rows, typing, |_| false);
    sum.add(&samples);
    let assumed = sum.assumed(&names);
    assert_eq!((assumed.len(), &assumed[0].assumed[..]), (1, &[EdmType::String][..]));
    assumed[0].looks_like
}

#[test]
fn texts_look_like_a_type_when_all_do() {
    let cases: [(&[&str], Option<EdmType>, Option<EdmType>); 12] = [
        (&["1", "-20", ""], Some(EdmType::Int32), Some(EdmType::Int64)),
        (&["1", "5000000000"], Some(EdmType::Int64), Some(EdmType::Int64)),
        (&["1", "0.5"], Some(EdmType::Double), None),
        (&["007", "12"], None, None),
        (&["true", "False"], Some(EdmType::Boolean), None),
        (&["true", "1"], None, None),
        (&["0f8fad5b-d9cb-469f-a165-70867728950e"], Some(EdmType::Guid), Some(EdmType::Guid)),
        (&["2024-05-01T08:00:00Z", "2024-05-01 08:00:00+00:00"], Some(EdmType::DateTime), Some(EdmType::DateTime)),
        (&["AAH+/w==", "abcd"], Some(EdmType::Binary), Some(EdmType::Binary)),
        (&["b'\\x00'"], Some(EdmType::Binary), Some(EdmType::Binary)),
        (&["abcd", "efgh"], None, None),
        (&["", ""], None, None),
    ];
    for (texts, text_only, by_form) in cases {
        assert_eq!(looks_like(texts, Typing::TextOnly), text_only, "{texts:?}");
        assert_eq!(looks_like(texts, Typing::ByForm), by_form, "{texts:?}");
    }
}

#[test]
fn numbers_of_several_types_look_like_the_widest() {
    let mut sample = Sample { assumed: 1 << EdmType::Int32 as u8 | 1 << EdmType::Int64 as u8, ..Sample::default() };
    assert_eq!(sample.looks_like(), Some(EdmType::Int64));
    sample.assumed |= 1 << EdmType::Double as u8;
    assert_eq!(sample.looks_like(), Some(EdmType::Double));
    sample.assumed |= 1 << EdmType::String as u8;
    assert_eq!(sample.looks_like(), None);
}
