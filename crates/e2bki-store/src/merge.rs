//! Merging maps of several drives or robots into one.

use std::path::PathBuf;

use e2bki::submaps::{SubmapRule, Trust, moved_states, moved_sums};
use e2bki::{ClassSet, Config, Mapper, Pose, PrimitiveState};

use crate::error::{Error, Result};
use crate::file::{Header, MapFile, save_under};
use crate::folder::open_any;
use crate::submaps::{has_submaps, list_submaps};

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
    /// How far drives are trusted, by name: factors of their log-evidence (see [`Trust`]).
    pub trust: Vec<(String, f64)>,
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
    /// Submaps of the result; none are kept unless every input has its own, and all have the same classes.
    pub submaps: Option<usize>,
    /// Why none are kept although some input has submaps.
    pub without_submaps: Option<String>,
}

/// One input, read.
struct Part {
    path: PathBuf,
    world_from_map: Pose,
    header: Header,
    has_submaps: bool,
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
        let bits = |part: &Part| {
            part.states.first().map(|state| moved_sums(&state.sums, &part.world_from_map).mean().map(f64::to_bits))
        };
        let key = |part: &Part| (part.header.sources.clone(), part.states.len(), part.header.next_id, bits(part));
        key(a).cmp(&key(b))
    });
    if !options.allow_duplicates {
        refuse_duplicates(&parts)?;
    }
    check_trust(&parts, &options.trust)?;
    let config = common_config(&parts, options)?;
    let classes = union(&parts)?;
    // Live voxels are derived when the map is loaded; here they would only take time.
    let working = config.clone().with(|c| c.views.live_voxels = false);
    let mut whole: Option<Mapper> = None;
    let rows_before = parts.iter().map(|part| part.states.len()).sum();
    let mut sources = Vec::new();
    let names = classes.names().to_vec();
    let without_submaps = without_submaps(&parts, &names);
    let keep = parts.iter().all(|part| part.has_submaps) && without_submaps.is_none();
    for part in parts {
        let map = if keep {
            with_submaps(&part, &working, &options.trust)?
        } else {
            without(&part, &classes, &working, &options.trust)?
        };
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
    save_under(&header, &whole, out.as_ref())?;
    let submaps = whole.submaps().map(|submaps| submaps.len());
    Ok(Merged { header, rows_before, rows: whole.len(), submaps, without_submaps })
}

/// Why the submaps that some parts have cannot be kept, if they cannot.
fn without_submaps(parts: &[Part], names: &[String]) -> Option<String> {
    parts.iter().find(|part| part.has_submaps)?;
    let missing = parts.iter().find(|part| !part.has_submaps).map(|part| format!("{} has none", part.path.display()));
    let differ = parts.iter().find(|part| part.header.classes.names() != names);
    missing.or_else(|| differ.map(|part| format!("{} has other classes than the merged map", part.path.display())))
}

/// A part as a map that keeps its submaps, each moved and trusted by itself.
fn with_submaps(part: &Part, config: &Config, trust: &[(String, f64)]) -> Result<Mapper> {
    let named = Error::contents(&part.path);
    let mut map = MapFile::open(&part.path)?.load_as_kept(config.clone())?;
    let ids = |map: &Mapper, name: &str| {
        let submaps = map.submaps().into_iter().flat_map(|submaps| submaps.iter());
        submaps.filter(|submap| submap.source() == name).map(|submap| submap.id()).collect::<Vec<u32>>()
    };
    for (name, factor) in trust {
        let ids = ids(&map, name);
        if ids.is_empty() && part.header.sources.contains(name) {
            return Err(Error::Refused(format!("{}: no submap is of the drive `{name}`", part.path.display())));
        }
        map.trust_submaps(&ids, Trust::new(*factor)?).map_err(&named)?;
    }
    if part.world_from_map != Pose::IDENTITY {
        map.move_submaps(&part.world_from_map).map_err(&named)?;
    }
    Ok(map)
}

/// A part as a map of the classes of all.
fn without(part: &Part, classes: &ClassSet, config: &Config, trust: &[(String, f64)]) -> Result<Mapper> {
    let names = part.header.classes.names();
    let columns: Vec<Option<usize>> =
        classes.names().iter().map(|name| names.iter().position(|other| other == name)).collect();
    let renamed = |state: &PrimitiveState| {
        let log_evidence = columns.iter().map(|column| column.map_or(0, |c| state.log_evidence[c])).collect();
        PrimitiveState { log_evidence, ..state.clone() }
    };
    let Header { frames, mut next_id, .. } = part.header;
    let mut states: Vec<PrimitiveState> =
        part.states.iter().flat_map(|state| moved_states(&renamed(state), &part.world_from_map, config)).collect();
    if states.len() > part.states.len() {
        // Cut where it was moved: the pieces of a primitive cannot all have its number.
        states.iter_mut().zip(0..).for_each(|(state, id)| state.id = id);
        next_id = next_id.max(states.len() as u64);
    }
    let named = Error::contents(&part.path);
    let mut map = Mapper::restore(classes.clone(), config.clone(), frames, next_id, states).map_err(&named)?;
    match part.header.free_space().transpose()? {
        Some(counters) => map.set_free_space(counters.moved(&part.world_from_map).map_err(&named)?),
        None if config.free_space.enabled && !part.header.config.free_space.enabled && frames > 0 => {
            return Err(Error::Refused(format!(
                "{} was made without free space: what it hit is not known, and would be called gone; merge with \
                 `free_space.enabled = false` (--config FILE)",
                part.path.display()
            )));
        }
        None => {}
    }
    for (name, factor) in trust.iter().filter(|(name, _)| part.header.sources.contains(name)) {
        if part.header.sources.len() > 1 {
            return Err(Error::Refused(format!(
                "{} holds other drives besides `{name}`, which cannot be told apart in a map without submaps: trust \
                 the drive before it is merged, or map with --submaps",
                part.path.display()
            )));
        }
        map.keep_submaps(SubmapRule::Called, name).map_err(&named)?;
        map.trust_submaps(&[0], Trust::new(*factor)?).map_err(&named)?;
        map.forget_submaps();
    }
    Ok(map)
}

/// Refuses trust in a drive that is in none of the maps.
fn check_trust(parts: &[Part], trust: &[(String, f64)]) -> Result<()> {
    for (name, factor) in trust {
        Trust::new(*factor)?;
        if !parts.iter().any(|part| part.header.sources.contains(name)) {
            let mut known: Vec<&str> = parts.iter().flat_map(|part| &part.header.sources).map(String::as_str).collect();
            known.sort_unstable();
            let known = known.join(", ");
            return Err(Error::Refused(format!("no map is of the drive `{name}`; the drives are {known}")));
        }
    }
    Ok(())
}

fn read(input: &Input) -> Result<Part> {
    let (header, states) = open_any(&input.path)?;
    let mut states: Vec<PrimitiveState> = states;
    states.sort_unstable_by_key(|state| state.id);
    let file = MapFile::open(&input.path).ok().filter(|file| has_submaps(&input.path, file));
    let has_submaps = file.is_some();
    if has_submaps {
        // Says what is wrong with them before anything is read.
        list_submaps(&input.path)?;
    }
    Ok(Part { path: input.path.clone(), world_from_map: input.world_from_map, header, states, has_submaps })
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

/// All classes by name; colour and cost are those of the first map that has them, and what can move in one can move.
fn union(parts: &[Part]) -> Result<ClassSet> {
    let mut classes: Vec<(String, [u8; 3])> = Vec::new();
    for part in parts {
        for (name, color) in part.header.classes.names().iter().zip(part.header.classes.colors()) {
            if !classes.iter().any(|(known, _)| known == name) {
                classes.push((name.clone(), *color));
            }
        }
    }
    let movable = |part: &Part| {
        let classes = &part.header.classes;
        (0..classes.len())
            .filter(|c| classes.is_movable(*c))
            .map(|c| classes.names()[c].clone())
            .collect::<Vec<String>>()
    };
    let movable: Vec<String> = parts.iter().flat_map(movable).collect();
    // Later ones replace earlier ones: the first map comes last.
    let costs = parts.iter().rev().flat_map(|part| {
        let classes = &part.header.classes;
        let cost = |(class, name): (usize, &String)| Some((name.clone(), classes.cost(class)?));
        classes.names().iter().enumerate().filter_map(cost).collect::<Vec<(String, u8)>>()
    });
    Ok(ClassSet::new(classes)?.with_movable(&movable)?.with_costs(costs)?)
}
