//! `map --submaps`: which stretches of the drive are kept apart.

use std::path::Path;

use anyhow::{Context, Result, bail};
use e2bki::Mapper;
use e2bki::submaps::SubmapRule;
use e2bki_data::LoadedFrame;

use super::method::Map;

/// A rule such as `20` (metres), `10s` or `50f` (frames).
pub(crate) fn rule(text: &str) -> Result<SubmapRule, String> {
    let wrong = || format!("`{text}` is no length of submaps; write metres (20), seconds (10s) or frames (50f)");
    let number = |text: &str| text.parse::<f64>().map_err(|_| wrong());
    if let Some(seconds) = text.strip_suffix('s') {
        return Ok(SubmapRule::Seconds(number(seconds)?));
    }
    if let Some(frames) = text.strip_suffix('f') {
        return Ok(SubmapRule::Frames(frames.parse().map_err(|_| wrong())?));
    }
    Ok(SubmapRule::Metres(number(text.strip_suffix('m').unwrap_or(text))?))
}

/// Lets a map keep its submaps, if that is asked for or it does already; `places` are the file that it goes to and the one
/// that it goes on with.
pub(crate) fn begin(
    map: &mut Map,
    rule: Option<SubmapRule>,
    source: &str,
    places: Option<(&Path, Option<&Path>)>,
) -> Result<()> {
    const HINT: &str = "--submaps (--set RECORD.NAME=VALUE changes a parameter)";
    match (map, places) {
        (Map::Primitives(map), _) => {
            if let Some(rule) = rule.or_else(|| map.submaps().map(|_| SubmapRule::Called)) {
                map.keep_submaps(rule, source).context(HINT)?;
            }
        }
        (Map::Budgeted(map), Some((out, onto))) => map.keep_submaps(rule, source, out, onto).context(HINT)?,
        _ if rule.is_some() => bail!("--submaps keeps sums of E2-BKI; remove --method"),
        _ => {}
    }
    Ok(())
}

/// Says which frame comes next, and when it was seen where the data has it.
pub(crate) fn name_frame(map: &mut Map, frame: &LoadedFrame) -> Result<()> {
    let time = frame.stamp_ns.map(|stamp| stamp as f64 * 1e-9);
    let submaps = map.primitives().and_then(Mapper::submaps);
    if time.is_none() && submaps.is_some_and(|submaps| matches!(submaps.rule(), SubmapRule::Seconds(_))) {
        bail!(
            "--submaps in seconds needs frames with times (times.txt, or files named by their times); give metres (20) or frames (50f)"
        );
    }
    match map {
        Map::Primitives(map) => map.name_next_frame(frame.id, time),
        Map::Budgeted(map) => map.name_next_frame(frame.id, time),
        Map::Voxels(_) => {}
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_have_units() {
        assert_eq!(rule("20"), Ok(SubmapRule::Metres(20.0)));
        assert_eq!(rule("7.5m"), Ok(SubmapRule::Metres(7.5)));
        assert_eq!(rule("10s"), Ok(SubmapRule::Seconds(10.0)));
        assert_eq!(rule("50f"), Ok(SubmapRule::Frames(50)));
        for wrong in ["", "s", "1.5f", "ten", "10 km", "-3f"] {
            assert!(rule(wrong).unwrap_err().contains("write metres"), "{wrong}");
        }
    }
}
