//! The table of access paths of "How it works", against EXPLAIN of the sample.

use crate::readme::Outcome;
use crate::readme::page::Page;
use crate::readme::program::run;
use rowkey_base::testing::Scratch;

/// `48000` as `48,000`.
fn with_commas(digits: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    let mut rest = digits;
    while rest.len() > 3 {
        let (more, part) = rest.split_at(rest.len() - 3);
        parts.push(part);
        rest = more;
    }
    parts.push(rest);
    parts.reverse();
    parts.join(",")
}

/// What a line of a plan says behind a name.
fn after<'a>(plan: &'a str, name: &str) -> Outcome<&'a str> {
    let (_, rest) = plan.split_once(name).ok_or_else(|| format!("no \"{name}\" in {plan}"))?;
    Ok(rest.split([',', '\n']).next().unwrap_or_default().trim())
}

#[test]
fn the_table_of_access_paths() -> Outcome<()> {
    let page = Page::read()?;
    let section = page.section("How it works")?;
    let rows = section.table(&["access path", "WHERE", "pages", "rows at most"])?;
    assert_eq!(rows.len(), 4);
    let conditions = rows.iter().map(|row| row[1].split('`').nth(1).ok_or("a condition in backquotes"));
    let conditions = conditions.collect::<Result<Vec<&str>, _>>()?;

    let mut statements = vec!["select count(*), count(distinct partitionkey) from employees".to_owned()];
    statements.extend(conditions.iter().map(|where_| format!("explain select * from employees where {where_}")));
    let scratch = Scratch::new("readme-paths")?;
    std::fs::write(scratch.path().join("statements.sql"), statements.join(";\n"))?;
    let answers = run(scratch.path(), "rowkey sql --sample -f statements.sql")?;
    let (counts, plans) = answers.split_once("QUERY PLAN").ok_or("no plan")?;
    let plans: Vec<&str> = plans.split("QUERY PLAN").collect();

    let counts: Vec<&str> = counts.split(|c: char| !c.is_ascii_digit()).filter(|part| !part.is_empty()).collect();
    let sizes = format!("{} entities in {} partitions", with_commas(counts[0]), counts[1]);
    let text = section.text.join(" ");
    assert!(text.contains(&sizes) && text.contains("`select * from employees where ...`"), "{sizes}: {text}");

    assert_eq!(plans.len(), rows.len(), "{answers}");
    for (row, plan) in rows.iter().zip(plans) {
        let path = after(plan, "access path: ")?.split(' ').next().unwrap_or_default();
        let pages = after(plan, " pages ")?.replace('/', " of ");
        let found = [path.to_owned(), row[1].clone(), pages, with_commas(after(plan, "rows<=")?)];
        assert_eq!(row[..], found, "{plan}");
        let residual = after(plan, "residual filter: ")?;
        match row[1].split_once("residual filter: ") {
            Some((_, column)) => {
                let column = column.split([')', ';']).next().unwrap_or_default();
                assert!(residual.to_lowercase().contains(&format!("\"{column}\"")), "{plan}");
            }
            None => assert_eq!(residual, "none", "{plan}"),
        }
        assert_eq!(row[1].contains("with a hint"), plan.contains("hint: "), "{plan}");
    }
    Ok(())
}
