//! Numbers as people read them: aligned by whoever prints them, or as Markdown.

/// Placeholder for a missing number.
pub const DASH: &str = "–";

/// A number with one decimal, or a dash.
pub fn percent(value: Option<f64>) -> String {
    decimals(value, 1)
}

/// A number with so many decimals, or a dash where there is none or it is not finite.
pub fn decimals(value: Option<f64>, digits: usize) -> String {
    value.filter(|v| v.is_finite()).map_or_else(|| DASH.into(), |v| format!("{v:.digits$}"))
}

/// Rows of cells under a heading.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Table {
    /// The heading and the rows; every row should have as many cells as the heading.
    pub rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with a heading only.
    pub fn new<S: Into<String>>(heading: impl IntoIterator<Item = S>) -> Self {
        Self { rows: vec![heading.into_iter().map(Into::into).collect()] }
    }

    /// Adds a row.
    pub fn row<S: Into<String>>(&mut self, cells: impl IntoIterator<Item = S>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }

    /// The table in Markdown, numbers to the right.
    pub fn to_markdown(&self) -> String {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let mut text = String::new();
        for (number, row) in self.rows.iter().enumerate() {
            let cell = |c: usize| row.get(c).map_or_else(String::new, |cell| cell.replace('|', "\\|"));
            text += &format!("| {} |\n", (0..columns).map(cell).collect::<Vec<_>>().join(" | "));
            if number == 0 {
                let rule = (0..columns).map(|c| if c == 0 { "---" } else { "---:" });
                text += &format!("|{}|\n", rule.collect::<Vec<_>>().join("|"));
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_a_dash_and_never_a_zero() {
        assert_eq!(percent(None), "–");
        assert_eq!(percent(Some(f64::NAN)), "–");
        assert_eq!(percent(Some(0.04)), "0.0");
        assert_eq!(decimals(Some(1.25), 2), "1.25");
    }

    #[test]
    fn markdown_has_a_rule_under_the_heading_and_full_rows() {
        let mut table = Table::new(["method", "mIoU"]);
        table.row(["a|b", "1.0"]);
        table.row(["c"]);
        assert_eq!(table.to_markdown(), "| method | mIoU |\n|---|---:|\n| a\\|b | 1.0 |\n| c |  |\n");
    }
}
