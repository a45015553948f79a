//! When the scans of a folder were made. What a map keeps of time must not depend on the form of the data: a drive in files
//! has the times that its recording has.

use std::path::Path;

use super::{Entry, Format, Layout};
use crate::error::Flaw;
use crate::files;

const NS: u64 = 1_000_000_000;

/// Gives every frame its time: of its line in `times.txt` beside the poses (KITTI-360: `timestamps.txt` beside the scans),
/// else of its name, or of its image's name as in RELLIS-3D. Frames without one have none.
pub(super) fn assign(format: Format, layout: &mut Layout) {
    let path = match format {
        Format::Bag => return,
        Format::Kitti360 => {
            layout.root.join("data_3d_raw").join(&layout.sequence).join("velodyne_points/timestamps.txt")
        }
        _ => layout.folder.join("times.txt"),
    };
    let lines = read(&path).unwrap_or_else(|flaw| {
        layout.notes.push(format!("{}: frames have no times ({flaw})", path.display()));
        Vec::new()
    });
    // As with poses: fewer frames than lines are found by their numbers.
    let in_order = format == Format::Folder && lines.len() == layout.entries.len();
    for (place, entry) in layout.entries.iter_mut().enumerate() {
        let line = if in_order { Some(place) } else { usize::try_from(entry.id).ok() };
        entry.stamp_ns = line.and_then(|line| lines.get(line).copied()).or_else(|| named(format, entry));
    }
}

/// The times of a file, one a line; none where there is no file.
fn read(path: &Path) -> Result<Vec<u64>, Flaw> {
    if !path.is_file() {
        return Ok(Vec::new());
    }
    let text = files::text(path).map_err(|error| Flaw::new(error.to_string()))?;
    let time = |(line, text): (usize, &str)| {
        parse(text.trim()).ok_or_else(|| Flaw::at_line(line + 1, "seconds, or a date and a time, expected"))
    };
    text.trim_end().lines().enumerate().map(time).collect()
}

/// The time that a file is named by: `1600000000.1.bin`, or an image `frame000104-1581624663_149.jpg`.
fn named(format: Format, entry: &Entry) -> Option<u64> {
    if format == Format::Rellis3d {
        let image = files::stem(entry.image.as_ref()?.path()?);
        let (_, clock) = image.to_str()?.split_once('-')?;
        return decimal(&clock.replace('_', "."));
    }
    entry.name.to_str().filter(|name| name.contains('.')).and_then(decimal)
}

/// Nanoseconds of a line: `1.036224e-01`, `1600000000.100000000` or `2013-05-28 08:46:02.904000000`.
fn parse(line: &str) -> Option<u64> {
    match line.split_once(' ') {
        Some((date, time)) => instant(date, time.trim()),
        None => decimal(line).or_else(|| {
            let ns = line.parse::<f64>().ok()? * NS as f64;
            (ns >= 0.0 && ns < u64::MAX as f64).then_some(ns.round() as u64)
        }),
    }
}

/// Nanoseconds of seconds with up to nine decimals, exactly.
fn decimal(text: &str) -> Option<u64> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(whole) || !(part.is_empty() || digits(part)) {
        return None;
    }
    let part: u64 = format!("{:0<9}", part.get(..part.len().min(9))?).parse().ok()?;
    whole.parse::<u64>().ok()?.checked_mul(NS)?.checked_add(part)
}

/// Nanoseconds since 1970 of a date and a time of its day.
fn instant(date: &str, time: &str) -> Option<u64> {
    let whole = |text: &str| text.parse::<u64>().ok();
    let mut date = date.split('-').map(whole);
    let (year, month, day) = (date.next()??, date.next()??, date.next()??);
    let mut time = time.split(':');
    let (hour, minute, ns) = (whole(time.next()?)?, whole(time.next()?)?, decimal(time.next()?)?);
    let sound = (1970..3000).contains(&year)
        && (1..=12).contains(&month)
        && (1..=31).contains(&day)
        && hour < 24
        && minute < 60
        && ns <= 60 * NS;
    if !sound {
        return None;
    }
    // Years begin in March, so that the day of a leap year is their last.
    let (year, month) = if month < 3 { (year - 1, month + 9) } else { (year, month - 3) };
    let days = year * 365 + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1 - 719_468;
    (((days * 24 + hour) * 60 + minute) * 60).checked_mul(NS)?.checked_add(ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_all_kinds_are_nanoseconds() {
        assert_eq!(parse("0.000000e+00"), Some(0));
        assert_eq!(parse("1.036224e-01"), Some(103_622_400));
        assert_eq!(parse("1600000000.100000001"), Some(1_600_000_000_100_000_001));
        assert_eq!(parse("12"), Some(12 * NS));
        // date -u -d '2013-05-28 08:46:02' +%s, and the same of other days
        assert_eq!(parse("2013-05-28 08:46:02.904000000"), Some(1_369_730_762_904_000_000));
        assert_eq!(parse("2020-02-29 23:59:59"), Some(1_583_020_799 * NS));
        assert_eq!(parse("2000-01-01 00:00:00"), Some(946_684_800 * NS));
        for wrong in
            ["", "soon", "-1.0", "nan", "1e30", "1600000000000000000000", "2013-13-28 08:46:02", "1.2.3", "1 2"]
        {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }
}
