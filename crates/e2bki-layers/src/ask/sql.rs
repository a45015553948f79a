//! Questions as SQL for DuckDB, over views of a map file.

use super::{Comparison, Measure, Place, Question};

/// The primitives of `street.e2bki` that count in beliefs.
pub const PRIMITIVES: &str = "\
CREATE OR REPLACE VIEW primitives AS
SELECT id, x, y, z, class, label, uncertainty::DOUBLE AS u, points, range::DOUBLE AS range, cov_xx, cov_yy, cov_zz, cov_xy, cov_xz, cov_yz
FROM read_parquet('street.e2bki') WHERE NOT muted;";

/// Voxels of half a metre.
pub const VOXELS: &str = "\
CREATE OR REPLACE VIEW voxels AS
WITH part AS (
  SELECT floor(x / 0.5) AS i, floor(y / 0.5) AS j, floor(z / 0.5) AS k, class, label, sum(points) AS points, sum(points * u) AS doubt
  FROM primitives GROUP BY ALL)
SELECT (i + 0.5) * 0.5 AS x, (j + 0.5) * 0.5 AS y, (k + 0.5) * 0.5 AS z, arg_max(class, (points, -label)) AS class,
  max(points) / sum(points) AS share, sum(doubt) / sum(points) AS u, sum(points) AS points
FROM part GROUP BY i, j, k;";

/// Cells of half a metre on the ground.
pub const CELLS: &str = "\
CREATE OR REPLACE VIEW cells AS
SELECT (floor(x / 0.5) + 0.5) * 0.5 AS x, (floor(y / 0.5) + 0.5) * 0.5 AS y, arg_min(class, (z, label, u)) AS class, min(z) AS low,
  max(z) AS high, arg_min(u, (z, label, u)) AS u, sum(points) AS points
FROM primitives GROUP BY ALL;";

/// A text in SQL.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

impl Question {
    /// SQL that DuckDB answers the question by: views of a map file, then one value. `way` is a file as `e2bki plan` writes it.
    pub fn sql(&self, map: &str, way: Option<&str>) -> String {
        let mut views = vec![PRIMITIVES.replace("'street.e2bki'", &quoted(map))];
        let (view, value) = match self.measure {
            Measure::Area => ("cells", "count(*) * 0.25::DOUBLE"),
            Measure::Volume => ("voxels", "count(*) * 0.125::DOUBLE"),
            Measure::Count => ("primitives", "count(*)::DOUBLE"),
            Measure::Length => ("cells", "coalesce(sum(w.metres), 0::DOUBLE)"),
        };
        match self.measure {
            Measure::Area | Measure::Length => views.push(CELLS.into()),
            Measure::Volume => views.push(VOXELS.into()),
            Measure::Count => {}
        }
        if self.needs_way() {
            let file = quoted(way.unwrap_or("way.csv"));
            views.push(format!(
                "CREATE OR REPLACE VIEW way AS SELECT x::DOUBLE AS x, y::DOUBLE AS y FROM read_csv({file});"
            ));
        }
        let mut text = format!("SELECT {value} AS answer FROM {view} t");
        if self.measure == Measure::Length {
            // A piece between two steps is on the ground below its middle.
            text += " JOIN (\n  SELECT (x + lag(x) OVER ()) / 2 AS mx, (y + lag(y) OVER ()) / 2 AS my,\n    \
                     sqrt((x - lag(x) OVER ())^2 + (y - lag(y) OVER ())^2) AS metres FROM way) w\n  \
                     ON t.x = (floor(mx / 0.5) + 0.5) * 0.5 AND t.y = (floor(my / 0.5) + 0.5) * 0.5";
        }
        let mut conditions = Vec::new();
        if !self.classes.is_empty() {
            let names: Vec<String> = self.classes.iter().map(|class| quoted(&self.names[*class])).collect();
            conditions.push(format!("t.class IN ({})", names.join(", ")));
        }
        for condition in &self.conditions {
            let field = match self.measure.fields()[condition.field] {
                "height" => "t.high - t.low".to_string(),
                name => format!("t.{name}"),
            };
            let sign = Comparison::ALL.iter().find(|(_, meaning)| *meaning == condition.comparison);
            conditions.push(format!("{field} {} {:?}::DOUBLE", sign.map_or("<", |(sign, _)| sign), condition.limit));
        }
        if let Some((metres, place)) = &self.within {
            let near = |x: &str, y: &str| format!("({x} - t.x)^2 + ({y} - t.y)^2 <= {metres:?}::DOUBLE^2");
            conditions.push(match place {
                Place::At([x, y]) => near(&format!("{x:?}::DOUBLE"), &format!("{y:?}::DOUBLE")),
                Place::Way => format!("EXISTS (SELECT 1 FROM way n WHERE {})", near("n.x", "n.y")),
                Place::Class(class) => {
                    let name = quoted(&self.names[*class]);
                    format!("EXISTS (SELECT 1 FROM primitives n WHERE n.class = {name} AND {})", near("n.x", "n.y"))
                }
            });
        }
        if !conditions.is_empty() {
            text += &format!("\nWHERE {}", conditions.join("\n  AND "));
        }
        views.push(text + ";");
        views.join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use e2bki::ClassSet;

    #[test]
    fn names_and_files_are_quoted_and_only_what_is_needed_is_there() {
        let classes = ClassSet::from_names(["bird's nest", "tree"]).unwrap();
        let question = Question::parse("count of \"bird's nest\" with z > -2 within 3 m of tree", &classes).unwrap();
        let sql = question.sql("bob's.e2bki", None);
        assert!(sql.contains("IN ('bird''s nest')") && sql.contains("read_parquet('bob''s.e2bki')"), "{sql}");
        assert!(sql.contains("t.z > -2.0::DOUBLE") && sql.contains("<= 3.0::DOUBLE^2"), "{sql}");
        assert!(!sql.contains("VIEW cells") && !sql.contains("VIEW voxels") && !sql.contains("VIEW way"), "{sql}");
        let question = Question::parse("length of anything", &classes).unwrap();
        assert!(question.sql("a", Some("w.csv")).contains("read_csv('w.csv')"));
    }

    #[test]
    fn the_book_has_these_views() {
        let Ok(page) = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/questions.md")) else {
            return;
        };
        for view in [PRIMITIVES, VOXELS, CELLS, super::super::GRAMMAR] {
            assert!(page.contains(view), "docs/questions.md lacks\n{view}");
        }
    }
}
