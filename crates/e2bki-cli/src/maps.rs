//! Helpers shared by the commands on map files.

use std::path::Path;

use anyhow::{Context, Result, bail};
use e2bki::Mapper;
use e2bki_store::{Folder, MapFile, is_folder};

/// A map without its live voxels, from a file or a folder; of a file only what beliefs in the box depend on.
pub(crate) fn load(path: &Path, region: Option<([f64; 3], [f64; 3])>) -> Result<Mapper> {
    let plain = |header: &e2bki_store::Header| header.config.clone().with(|c| c.views.live_voxels = false);
    if is_folder(path) {
        let folder = Folder::open(path)?;
        let config = plain(folder.header());
        return Ok(folder.load_as(config)?);
    }
    let mut file = MapFile::open(path)?;
    let config = plain(file.header());
    Ok(file.load_as(config, |tile| region.is_none_or(|(low, high)| tile.matters_in(low, high)))?)
}

/// Exactly N numbers, separated by commas or spaces.
pub(crate) fn numbers<const N: usize>(text: &str, what: &str) -> Result<[f64; N]> {
    let all = text
        .split([',', ' ', '\t', '\n', '\r', ';'])
        .filter(|part| !part.is_empty())
        .map(|part| part.parse::<f64>().with_context(|| format!("{what}: `{part}` is not a number")))
        .collect::<Result<Vec<f64>>>()?;
    if all.iter().any(|number| number.is_nan()) {
        bail!("{what}: NaN is not a number");
    }
    match all.try_into() {
        Ok(numbers) => Ok(numbers),
        Err(all) => bail!("{what} takes {N} numbers; got {}", all.len()),
    }
}

/// A rectangle: x0,y0,x1,y1, the smaller numbers first.
pub(crate) fn rectangle(text: &str, what: &str) -> Result<[f64; 4]> {
    let [x0, y0, x1, y1] = numbers(text, what)?;
    if x0 > x1 || y0 > y1 {
        let (low, high) = ([x0.min(x1), y0.min(y1)], [x0.max(x1), y0.max(y1)]);
        bail!(
            "{what} {text}: the corners are in the wrong order; it takes the lower x and y first, then the higher: {},{},{},{}",
            low[0],
            low[1],
            high[0],
            high[1]
        );
    }
    Ok([x0, y0, x1, y1])
}

/// Bytes for people.
pub(crate) fn megabytes(bytes: u64) -> String {
    if bytes < 1_000_000 { format!("{:.1} kB", bytes as f64 / 1e3) } else { format!("{:.1} MB", bytes as f64 / 1e6) }
}
