//! Small pieces of HTML.

use super::Legend;

/// Text that cannot become markup.
pub(super) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '"' => out += "&quot;",
            '\'' => out += "&#39;",
            c => out.push(c),
        }
    }
    out
}

/// Whole numbers with a comma between thousands; any other text as it is. Escaped.
pub(super) fn readable(text: &str) -> String {
    if text.len() < 5 || text.starts_with('0') || !text.bytes().all(|b| b.is_ascii_digit()) {
        return escape(text);
    }
    let mut out = String::new();
    for (i, digit) in text.chars().enumerate() {
        if i > 0 && (text.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A bar with its name before and its value behind it; `percent` is its length.
pub(super) fn bar(name: &str, color: [u8; 3], percent: f64, value: &str) -> String {
    format!(
        "<div><span>{}</span><span class=\"track\"><i style=\"width:{percent:.2}%;background:{}\"></i></span>\
         <span class=\"value\">{}</span></div>\n",
        escape(name),
        rgb(color),
        escape(value)
    )
}

fn rgb([r, g, b]: [u8; 3]) -> String {
    format!("rgb({r},{g},{b})")
}

/// What colours mean.
pub(super) fn legend(legend: &Legend) -> String {
    match legend {
        Legend::Classes(classes) => {
            let chip = |(name, color): &(String, [u8; 3])| {
                format!("<span><i style=\"background:{}\"></i>{}</span>", rgb(*color), escape(name))
            };
            format!("<div class=\"legend\">{}</div>", classes.iter().map(chip).collect::<String>())
        }
        Legend::Ramp { colors, low, high } => {
            let stops = colors.iter().map(|c| rgb(*c)).collect::<Vec<_>>().join(",");
            format!(
                "<div class=\"legend\"><span>{}</span><i class=\"ramp\" style=\"background:linear-gradient(90deg,{stops})\">\
                 </i><span>{}</span></div>",
                escape(low),
                escape(high)
            )
        }
    }
}

/// A bar of a round length that takes about a fifth of a picture so many metres wide.
pub(super) fn scale(wide_m: f64) -> String {
    if !(wide_m > 0.0 && wide_m.is_finite()) {
        return String::new();
    }
    let mut length = 1e-3;
    let mut round = [2.0, 2.5, 2.0].iter().cycle();
    while length < wide_m / 6.0 {
        length *= round.next().unwrap_or(&2.0);
    }
    // Steps of 2, 2.5 and 2 leave rounding errors that nobody wants to read.
    let length = (length * 1e6).round() / 1e6;
    format!("<div class=\"scale\" style=\"width:{:.3}%\">{length} m</div>", 100.0 * length / wide_m)
}
