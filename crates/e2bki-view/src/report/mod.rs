//! A report of a run: one HTML file with everything in it, to be opened from disk or sent to somebody.

mod html;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use image::{ImageFormat, RgbImage};

use crate::error::{Error, Result};
use html::{escape, readable};

const STYLE: &str = include_str!("style.css");

/// A bar: its name, its colour, and its length from 0 to 100.
#[derive(Debug, Clone, PartialEq)]
pub struct Bar {
    /// Name.
    pub name: String,
    /// Red, green, blue.
    pub color: [u8; 3],
    /// Percent; nothing where nothing could be measured.
    pub percent: Option<f64>,
}

/// What the colours of a picture mean.
#[derive(Debug, Clone, PartialEq)]
pub enum Legend {
    /// Colours of classes.
    Classes(Vec<(String, [u8; 3])>),
    /// Colours of values, from low to high, with what the ends mean.
    Ramp {
        /// Colours at equal distances.
        colors: Vec<[u8; 3]>,
        /// What the first colour means.
        low: String,
        /// What the last colour means.
        high: String,
    },
}

/// A report under way: parts are shown in the order in which they are added.
#[derive(Debug, Clone)]
pub struct Report {
    title: String,
    body: String,
}

impl Report {
    /// A report with a title and a line that says what it is of.
    pub fn new(title: &str, about: &str) -> Self {
        let body = format!("<h1>{}</h1>\n<p class=\"about\">{}</p>\n", escape(title), escape(about));
        Self { title: title.into(), body }
    }

    /// Begins a section.
    pub fn section(&mut self, heading: &str) {
        self.body += &format!("<h2>{}</h2>\n", escape(heading));
    }

    /// A paragraph.
    pub fn text(&mut self, text: &str) {
        self.body += &format!("<p>{}</p>\n", escape(text));
    }

    /// Large numbers side by side: what they are and their values.
    pub fn figures(&mut self, figures: &[(&str, String)]) {
        let figure = |(name, value): &(&str, String)| {
            format!("<div><strong>{}</strong><span>{}</span></div>", readable(value), escape(name))
        };
        self.body += &format!("<div class=\"figures\">{}</div>\n", figures.iter().map(figure).collect::<String>());
    }

    /// A table; the first row is the heading, the first column names the rows.
    pub fn table(&mut self, rows: &[Vec<String>]) {
        self.body += "<div class=\"scroll\"><table>\n";
        for (number, row) in rows.iter().enumerate() {
            let tag = if number == 0 { "th" } else { "td" };
            let cell = |text: &String| format!("<{tag}>{}</{tag}>", readable(text));
            self.body += &format!("<tr>{}</tr>\n", row.iter().map(cell).collect::<String>());
        }
        self.body += "</table></div>\n";
    }

    /// Bars, one below the other; what each heading names stands beside the others where there is room.
    pub fn bars(&mut self, charts: &[(String, Vec<Bar>)]) {
        self.body += "<div class=\"charts\">\n";
        for (heading, bars) in charts {
            self.body += &format!("<div class=\"bars\"><h3>{}</h3>\n", escape(heading));
            for bar in bars {
                let percent = bar.percent.filter(|p| p.is_finite());
                let value = percent.map_or_else(|| "–".into(), |p| format!("{p:.1}"));
                self.body += &html::bar(&bar.name, bar.color, percent.unwrap_or(0.0).clamp(0.0, 100.0), &value);
            }
            self.body += "</div>\n";
        }
        self.body += "</div>\n";
    }

    /// Amounts of one unit as bars, the longest of full length.
    pub fn amounts(&mut self, unit: &str, amounts: &[(String, f64)]) {
        const COLOR: [u8; 3] = [11, 99, 181];
        let most = amounts.iter().map(|(_, v)| *v).filter(|v| v.is_finite()).fold(f64::MIN_POSITIVE, f64::max);
        self.body += &format!("<div class=\"bars amounts\"><h3>{}</h3>\n", escape(unit));
        for (name, amount) in amounts {
            let share = if amount.is_finite() { (100.0 * amount / most).clamp(0.0, 100.0) } else { 0.0 };
            self.body += &html::bar(name, COLOR, share, &format!("{amount:.1}"));
        }
        self.body += "</div>\n";
    }

    /// A picture with what it shows, its colours, and how many metres it is wide (for a scale).
    pub fn picture(
        &mut self,
        name: &str,
        picture: &RgbImage,
        legend: Option<&Legend>,
        wide_m: Option<f64>,
    ) -> Result<()> {
        let mut bytes = std::io::Cursor::new(Vec::new());
        picture
            .write_to(&mut bytes, ImageFormat::Png)
            .map_err(|source| Error::Picture { name: name.into(), source })?;
        let data = STANDARD.encode(bytes.get_ref());
        let (width, height) = picture.dimensions();
        self.body += &format!(
            "<figure{5}><figcaption>{0}</figcaption><div class=\"picture\" style=\"max-width:{1}px\">\
             <img alt=\"{0}\" width=\"{2}\" height=\"{height}\" src=\"data:image/png;base64,{data}\">{3}</div>{4}</figure>\n",
            escape(name),
            width.max(700),
            width,
            wide_m.map_or_else(String::new, html::scale),
            legend.map_or_else(String::new, html::legend),
            // Maps of the same ground are compared: they stand side by side.
            if wide_m.is_some() { " class=\"map\"" } else { "" },
        );
        Ok(())
    }

    /// A drawing that this program made (it is not escaped).
    pub fn drawing(&mut self, svg: &str) {
        self.body += &format!("<div class=\"drawing\">{svg}</div>\n");
    }

    /// Text as it is typed, open or to be opened.
    pub fn code(&mut self, name: &str, text: &str, open: bool) {
        let open = if open { " open" } else { "" };
        self.body +=
            &format!("<details{open}><summary>{}</summary><pre>{}</pre></details>\n", escape(name), escape(text));
    }

    /// The file.
    pub fn to_html(&self) -> String {
        format!(
            "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <title>{}</title>\n<style>{STYLE}</style></head>\n<body><main>\n{}\
             <footer>written by e2bki {}; this file needs no network</footer>\n</main></body></html>\n",
            escape(&self.title),
            self.body,
            env!("CARGO_PKG_VERSION"),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_users_named_cannot_become_markup() {
        let mut report = Report::new("<script>alert(1)</script>", "a & b");
        report.table(&[vec!["<b>".into()], vec!["\"quoted\"".into()]]);
        let bars = vec![Bar { name: "<i>".into(), color: [1, 2, 3], percent: Some(f64::NAN) }];
        report.bars(&[("<b>".into(), bars)]);
        report.amounts("<b>", &[("<b>".into(), f64::INFINITY), ("x".into(), -1.0)]);
        report.code("config", "x = \"</pre>\"", true);
        let html = report.to_html();
        assert!(!html.contains("<script>") && !html.contains("<b>") && !html.contains("</pre>\""));
        assert!(html.contains("&lt;script&gt;") && html.contains("a &amp; b") && html.contains("–"));
    }

    #[test]
    fn whole_numbers_are_grouped_and_nothing_else() {
        for (text, shown) in [
            ("1234", "1234"),
            ("12345", "12,345"),
            ("1234567", "1,234,567"),
            ("12345.5", "12345.5"),
            ("-12345", "-12345"),
            ("0012345", "0012345"),
            ("seq 00001", "seq 00001"),
        ] {
            assert_eq!(readable(text), shown);
        }
    }

    #[test]
    fn a_picture_is_part_of_the_file() {
        let mut report = Report::new("map", "");
        let legend = Legend::Classes(vec![("road".into(), [128, 64, 128])]);
        report.picture("from above", &RgbImage::new(4, 2), Some(&legend), Some(40.0)).unwrap();
        let html = report.to_html();
        assert!(html.contains("data:image/png;base64,iVBOR"));
        assert!(html.contains("10 m") && html.contains("road"));
        for outside in ["http://", "https://", "src=\"/", "href=", "@import", "url("] {
            assert!(!html.contains(outside), "{outside}");
        }
    }
}
