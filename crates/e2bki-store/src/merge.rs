//! Merging maps of several drives or robots into one.

use std::path::PathBuf;

use e2bki::{ClassSet, Config, Mapper, Pose, PrimitiveState};

use crate::error::{Error, Result};
use crate::file::{Header, save_states};
use crate::folder::open_any;
use crate::transform::transformed;

/// A map to merge.
#[derive(Debug, Clone)]
pub struct Input {
    /// Its file or folder.
    pub path: PathBuf,
    /// Where it lies in the world of the merged map.
    pub world_from_map: Pose,
}

/// How to merge.
#[derive(Debug, Clone, Default)]
pub struct MergeOptions {
    /// Merge even if a drive went into two of the maps: its evidence then counts twice.
    pub allow_duplicates: bool,
    /// Parameters of the merged map; needed where those of the inputs differ.
    pub config: Option<Config>,
}

/// Result of merging.
#[derive(Debug, Clone)]
pub struct Merged {
    /// Header of the merged map.
    pub header: Header,
    /// Primitives of all inputs.
    pub rows_before: usize,
    /// Primitives of the result.
    pub rows: usize,
}

/// One input, read.
struct Part {
    path: PathBuf,
    header: Header,
    states: Vec<PrimitiveState>,
}

/// Merges maps and saves the result. The order in which they are given does not matter: they are merged in the order of
/// their sources' names.
pub fn merge(inputs: &[Input], options: &MergeOptions, out: impl AsRef<std::path::Path>) -> Result<Merged> {
    if inputs.is_empty() {
        return Err(Error::Refused("there is nothing to merge: name at least one map".into()));
    }
    let mut parts = inputs.iter().map(read).collect::<Result<Vec<Part>>>()?;
    parts.sort_by(|a, b| {
        let bits = |part: &Part| part.states.first().map(|state| state.sums.mean().map(f64::to_bits));
        let key = |part: &Part| (part.header.sources.clone(), part.states.len(), part.header.next_id, bits(part));
        key(a).cmp(&key(b))
    });
    if !options.allow_duplicates {
        refuse_duplicates(&parts)?;
    }
    let config = common_config(&parts, options)?;
    let classes = union(&parts)?;
    // Live voxels are derived when the map is loaded; here they would only take time.
    let working = config.clone().with(|c| c.views.live_voxels = false);
    let mut whole: Option<Mapper> = None;
    let rows_before = parts.iter().map(|part| part.states.len()).sum();
    let mut sources = Vec::new();
    for part in parts {
        let names = part.header.classes.names();
        let columns: Vec<Option<usize>> =
            classes.names().iter().map(|name| names.iter().position(|other| other == name)).collect();
        let renamed = |mut state: PrimitiveState| {
            let old = std::mem::take(&mut state.log_evidence);
            state.log_evidence = columns.iter().map(|column| column.map_or(0.0, |c| old[c])).collect();
            state
        };
        let states = part.states.into_iter().map(renamed).collect();
        let Header { frames, next_id, .. } = part.header;
        let map = Mapper::restore(classes.clone(), working.clone(), frames, next_id, states)
            .map_err(Error::contents(&part.path))?;
        sources.extend(part.header.sources);
        match &mut whole {
            None => whole = Some(map),
            Some(whole) => {
                whole.merge(&map)?;
            }
        }
    }
    let whole = whole.ok_or_else(|| Error::Refused("there is nothing to merge".into()))?;
    let header = Header { config, ..Header::of(&whole, &sources) };
    save_states(&header, whole.states().collect(), out.as_ref())?;
    Ok(Merged { header, rows_before, rows: whole.len() })
}

fn read(input: &Input) -> Result<Part> {
    let (header, states) = open_any(&input.path)?;
    let mut states: Vec<PrimitiveState> =
        states.iter().map(|state| transformed(state, &input.world_from_map)).collect();
    states.sort_unstable_by_key(|state| state.id);
    Ok(Part { path: input.path.clone(), header, states })
}

fn refuse_duplicates(parts: &[Part]) -> Result<()> {
    for (i, part) in parts.iter().enumerate() {
        for other in &parts[i + 1..] {
            if let Some(source) = part.header.sources.iter().find(|name| other.header.sources.contains(name)) {
                return Err(Error::Refused(format!(
                    "the drive `{source}` is in both {} and {}: merging would count it twice (--allow-duplicates does)",
                    part.path.display(),
                    other.path.display()
                )));
            }
        }
    }
    Ok(())
}

/// The parameters of all parts; threads and the live view do not matter.
fn common_config(parts: &[Part], options: &MergeOptions) -> Result<Config> {
    if let Some(config) = &options.config {
        return Ok(config.clone());
    }
    let first = &parts[0];
    for other in &parts[1..] {
        for field in
            e2bki::config::fields().iter().filter(|field| !["run.threads", "views.live_voxels"].contains(&field.key))
        {
            let (a, b) = (field.value(&first.header.config), field.value(&other.header.config));
            if a != b {
                return Err(Error::Refused(format!(
                    "`{}` is {a} in {} and {b} in {}: say which parameters the merged map has (--config FILE)",
                    field.key,
                    first.path.display(),
                    other.path.display()
                )));
            }
        }
    }
    Ok(first.header.config.clone())
}

/// All classes by name; the colour is that of the first map that has the class.
fn union(parts: &[Part]) -> Result<ClassSet> {
    let mut classes: Vec<(String, [u8; 3])> = Vec::new();
    for part in parts {
        for (name, color) in part.header.classes.names().iter().zip(part.header.classes.colors()) {
            if !classes.iter().any(|(known, _)| known == name) {
                classes.push((name.clone(), *color));
            }
        }
    }
    Ok(ClassSet::new(classes)?)
}
