use super::create_view::query_text;

#[test]
fn the_text_of_a_view_is_what_stands_behind_its_as() {
    for (text, wanted) in [
        ("CREATE VIEW v AS SELECT 1", "SELECT 1"),
        ("create or replace view \"as\" (a, \"AS\")\nas\n  SELECT 1 AS x -- why\n", "SELECT 1 AS x -- why"),
        ("CREATE VIEW v /* AS */ AS(SELECT 'é; AS' AS \"é\")  ;  ", "(SELECT 'é; AS' AS \"é\")"),
        ("-- first\nCREATE VIEW é AS WITH a AS (SELECT 1) SELECT * FROM a;", "WITH a AS (SELECT 1) SELECT * FROM a"),
    ] {
        assert_eq!(query_text(text).expect(text), wanted);
    }
    assert!(query_text("CREATE VIEW v (a)").is_err());
}
