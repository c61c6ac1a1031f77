use super::*;
use rowkey_model::DateTime;

fn account() -> AccountName {
    AccountName::parse("acme").expect("an account name")
}

fn table(id: u64, name: &str) -> Edit {
    Edit::CreateTable { id, account: "acme".to_owned(), name: name.to_owned(), created_ticks: 0 }
}

fn view(id: u64, name: &str, reads: &[u64]) -> Edit {
    view_in("acme", id, name, reads)
}

fn view_in(account: &str, id: u64, name: &str, reads: &[u64]) -> Edit {
    let column = ViewColumn { name: "n".to_owned(), postgres_type: "int4".to_owned(), source: None };
    Edit::CreateView {
        id,
        account: account.to_owned(),
        name: name.to_owned(),
        sql: format!("SELECT 1 AS n -- {name}"),
        columns: vec![column],
        reads: reads.to_vec(),
        literals: None,
        replaces: false,
    }
}

fn replacing(mut edit: Edit) -> Edit {
    if let Edit::CreateView { replaces, .. } = &mut edit {
        *replaces = true;
    }
    edit
}

fn comment(object: CommentObject, text: Option<&str>) -> Edit {
    Edit::SetComment { account: "acme".to_owned(), object, text: text.map(str::to_owned) }
}

/// Table 1, view 2 on it, view 3 on that.
fn three() -> Catalog {
    let edits = [table(1, "People"), view(2, "adults", &[1]), view(3, "Adult names", &[2])];
    Catalog::default().apply(&edits).expect("applies")
}

#[test]
fn tables_and_views_share_ids_and_names() {
    let catalog = three();
    assert_eq!(catalog.next_table_id(), 4);
    assert_eq!(catalog.view(&account(), "ADULTS").map(|view| view.id), Some(2));
    assert_eq!(catalog.view_by_id(3).map(|view| view.sql.as_str()), Some("SELECT 1 AS n -- Adult names"));
    for (edit, wanted) in [
        (view(3, "other", &[]), "given out before"),
        (view(4, "PEOPLE", &[]), "relation \"PEOPLE\" already exists"),
        (view(4, "Adults", &[]), "relation \"Adults\" already exists"),
        (table(4, "Adults"), "relation \"Adults\" already exists"),
        (table(3, "Others"), "created twice"),
        (view(4, "other", &[9]), "relation 9, which does not exist"),
        (view_in("other1", 4, "other", &[1]), "another account"),
    ] {
        let error = catalog.apply(std::slice::from_ref(&edit)).expect_err(wanted);
        assert!(error.contains(wanted), "{edit:?}: {error}");
    }
    let umlaut = catalog.apply(&[view(4, "Größe", &[])]).expect("applies");
    assert!(umlaut.apply(&[view(5, "GRÖßE", &[])]).is_err(), "case is ignored beyond ASCII");
    assert!(umlaut.apply(&[view_in("other1", 5, "Größe", &[])]).is_ok(), "another account has its own names");
}

#[test]
fn what_a_view_reads_stays_until_the_view_goes() {
    let catalog = three();
    let dependents: Vec<u64> = catalog.dependents(1).iter().map(|view| view.id).collect();
    assert_eq!(dependents, [3, 2], "each before those it reads");
    assert!(catalog.apply(&[Edit::DropTable { id: 1 }]).is_err());
    assert!(catalog.apply(&[Edit::DropView { id: 2 }]).is_err());
    assert!(catalog.apply(&[Edit::DropView { id: 1 }]).is_err(), "a table is no view");
    let cascade = [Edit::DropView { id: 3 }, Edit::DropView { id: 2 }, Edit::DropTable { id: 1 }];
    let dropped = catalog.apply(&cascade).expect("applies");
    assert_eq!((dropped.tables().count(), dropped.views().count(), dropped.next_table_id()), (0, 0, 4));
}

#[test]
fn a_view_is_replaced_in_place_and_never_reads_itself() {
    let catalog = three();
    let replaced = catalog.apply(&[view(4, "more", &[1]), replacing(view(2, "Adults", &[1, 4]))]).expect("applies");
    assert_eq!(
        replaced.view(&account(), "adults").map(|view| (view.id, view.reads.as_slice())),
        Some((2, &[1, 4][..]))
    );
    let dependents: Vec<u64> = replaced.dependents(1).iter().map(|view| view.id).collect();
    assert_eq!(dependents, [3, 2, 4], "also where an older view reads a newer one");
    assert!(catalog.apply(&[replacing(view(2, "adults", &[3]))]).expect_err("a circle").contains("reads itself"));
    assert!(catalog.apply(&[replacing(view(2, "adults", &[2]))]).expect_err("a circle").contains("reads itself"));
    assert!(catalog.apply(&[replacing(view(2, "renamed", &[1]))]).is_err());
    assert!(catalog.apply(&[replacing(view(1, "People", &[]))]).is_err(), "a table is not replaced by a view");
}

#[test]
fn comments_go_with_what_they_are_about() {
    let about = [
        CommentObject::Table(1),
        CommentObject::Column(1, "Name".to_owned()),
        CommentObject::View(3),
        CommentObject::Column(3, "n".to_owned()),
        CommentObject::Schema("public".to_owned()),
        CommentObject::Database,
    ];
    let edits: Vec<Edit> = about.iter().map(|object| comment(object.clone(), Some("said"))).collect();
    let catalog = three().apply(&edits).expect("applies");
    for object in &about {
        assert_eq!(catalog.comment(&account(), object), Some("said"), "{object:?}");
    }
    assert_eq!(catalog.comments(&account()).count(), about.len());
    let other = AccountName::parse("other1").expect("an account name");
    assert_eq!((catalog.comment(&other, &CommentObject::Database), catalog.comments(&other).count()), (None, 0));

    let catalog = catalog.apply(&[Edit::DropView { id: 3 }, comment(CommentObject::Database, None)]).expect("applies");
    let left: Vec<&CommentObject> = catalog.comments(&account()).map(|(object, _)| object).collect();
    assert_eq!(left, [&about[0], &about[1], &about[4]]);
    for object in [CommentObject::Table(2), CommentObject::View(1), CommentObject::Column(9, "n".to_owned())] {
        assert!(catalog.apply(&[comment(object, Some("said"))]).is_err());
    }
}

#[test]
fn a_catalog_of_tables_is_written_as_before_there_were_views_and_read_back_either_way() {
    let tables = Catalog::default().apply(&[table(1, "People")]).expect("applies");
    let text = serde_json::to_string(&tables).expect("serializes");
    assert!(tables.is_of_tables() && !text.contains("views") && !text.contains("comments"), "{text}");
    assert_eq!(serde_json::from_str::<Catalog>(&text).expect("reads"), tables);

    let whole = three().apply(&[comment(CommentObject::Column(1, "Name".to_owned()), Some("said"))]).expect("applies");
    assert!(!whole.is_of_tables());
    let text = serde_json::to_string(&whole).expect("serializes");
    assert_eq!(serde_json::from_str::<Catalog>(&text).expect("reads"), whole);
    assert!(serde_json::from_str::<Catalog>(&text.replace("\"comments\"", "\"novelties\"")).is_err());

    for edit in [view(4, "v", &[1]), replacing(view(2, "adults", &[1])), Edit::DropView { id: 3 }] {
        assert!(!edit.is_of_tables());
        let text = serde_json::to_string(&edit).expect("serializes");
        assert_eq!(serde_json::from_str::<Edit>(&text).expect("reads"), edit);
    }
    assert!(table(4, "Others").is_of_tables());
}

#[test]
fn service_settings_go_with_their_tables() {
    let policy = |id: &str| AccessPolicy {
        id: id.to_owned(),
        start: None,
        expiry: Some(DateTime::from_ticks(7)),
        permissions: Some("raud".to_owned()),
    };
    let set =
        |table, ids: &[&str]| Edit::SetAccessPolicies { table, policies: ids.iter().map(|id| policy(id)).collect() };
    let properties = Edit::SetServiceProperties { account: account().as_str().to_owned(), text: "{}".to_owned() };
    let catalog = three().apply(&[set(1, &["b", "a"]), properties.clone()]).expect("applies");
    assert_eq!(catalog.access_policies(1), [policy("b"), policy("a")]);
    let kept = catalog.service_properties(&account()).map(|text| &**text);
    assert_eq!((catalog.access_policies(2).len(), kept), (0, Some("{}")));
    assert!(catalog.apply(&[set(9, &["a"])]).is_err());
    let text = serde_json::to_string(&catalog).expect("serializes");
    assert_eq!(serde_json::from_str::<Catalog>(&text).expect("reads"), catalog);
    assert!(!set(1, &[]).is_of_tables() && !properties.is_of_tables());

    let keys = |keys: &[&str]| Edit::SetAccountKeys {
        account: "acme".to_owned(),
        keys: keys.iter().map(|key| (*key).to_owned()).collect(),
    };
    assert!(!keys(&[]).is_of_tables());
    let with_keys = catalog.apply(&[keys(&["a", "b"])]).expect("applies");
    assert_eq!(with_keys.account_keys().collect::<Vec<_>>(), [("acme", &["a".to_owned(), "b".to_owned()][..])]);
    let keys_of = |name| with_keys.keys_of(&AccountName::parse(name).expect("a name"));
    assert_eq!((keys_of("acme"), keys_of("other")), (&["a".to_owned(), "b".to_owned()][..], &[][..]));
    let text = serde_json::to_string(&with_keys).expect("serializes");
    assert_eq!(serde_json::from_str::<Catalog>(&text).expect("reads"), with_keys);
    assert_eq!(with_keys.apply(&[keys(&[])]).expect("applies"), catalog);

    let cleared = catalog.apply(&[set(1, &[])]).expect("applies");
    assert!(cleared.access_policies(1).is_empty());
    assert!(!serde_json::to_string(&cleared).expect("serializes").contains("access_policies"));
    // A table that takes the name of one that is gone has none of its policies.
    let edits = [Edit::DropView { id: 3 }, Edit::DropView { id: 2 }, Edit::DropTable { id: 1 }, table(4, "People")];
    let dropped = catalog.apply(&edits).expect("applies");
    assert!(dropped.access_policies(1).is_empty() && dropped.access_policies(4).is_empty());
}
