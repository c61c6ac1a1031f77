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
    sum.add(&samples);
    let assumed = sum.assumed(&names);
    assert_eq!((assumed.len(), &assumed[0].assumed[..]), (1, &[EdmType::String][..]));
    assumed[0].looks_like
}

#[test]
fn texts_look_like_a_type_when_all_do() {
    let mut late = ["1"; 1000];
    late[999] = "n/a";
    let long = format!("{}==", "ABCD".repeat(10_000) + "AA");
    let cases: [(&[&str], Option<EdmType>, Option<EdmType>); 17] = [
        // Every value counts, wherever it stands.
        (&late, None, None),
        (&["1", "5000000000", "0.5"], Some(EdmType::Double), None),
        // What the type would not hold is no reason to name it.
        (&["0.5", "9007199254740993"], None, None),
        (&["0.5", "9007199254740994"], Some(EdmType::Double), None),
        (&[&long, "AA=="], Some(EdmType::Binary), Some(EdmType::Binary)),
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
    let looks_like = |values: &[ValueRef<'_>]| {
        let names = PropertyNames::new();
        let id = names.intern("P");
        let mut samples = TypeSamples::default();
        for value in values {
            let mut rows = Rows::new();
            let mut builder = rows.builder(&names);
            builder.begin();
            builder.set(id, *value);
            builder.finish("p", "r", None).unwrap();
            drop(builder);
            samples.look_at(&rows, Typing::ByForm, |_| false);
        }
        samples.assumed(&names)[0].looks_like
    };
    let (small, large, half) = (ValueRef::Int32(1), ValueRef::Int64(1 << 60), ValueRef::Double(0.5));
    assert_eq!(looks_like(&[small, large]), Some(EdmType::Int64));
    assert_eq!(looks_like(&[small, large, half]), Some(EdmType::Double));
    assert_eq!(looks_like(&[small, ValueRef::Int64((1 << 60) + 1), half]), None, "a Double does not hold it");
    assert_eq!(looks_like(&[small, large, half, ValueRef::String("x")]), None);
    assert_eq!(looks_like(&[small]), None);
}
