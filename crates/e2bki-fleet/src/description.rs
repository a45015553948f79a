//! What all runs of a fleet have in common.

use e2bki::{ClassSet, Config};
use e2bki_store::Header;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::objects::Objects;

const NAME: &str = "fleet.json";
/// Under which a store is tried.
pub(crate) const PROBES: &str = "probe";
const FORMAT: &str = "e2bki fleet";
const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
struct Class {
    name: String,
    color: [u8; 3],
    movable: bool,
    /// What driving on it costs, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cost: Option<u8>,
}

#[derive(Serialize, Deserialize)]
struct Text {
    format: String,
    version: u32,
    tile_m: u32,
    cell_m: f64,
    classes: Vec<Class>,
    config: String,
}

/// A fleet: its store, and what its maps have in common.
#[derive(Debug, Clone)]
pub struct Fleet {
    /// Where everything is.
    pub objects: Objects,
    /// The classes of every run.
    pub classes: ClassSet,
    /// The parameters of every run; threads and live voxels are everybody's own affair.
    pub config: Config,
}

/// Makes a store a fleet's: writes its description, and finds out whether the store keeps what the rest is built on, that
/// of two who create an object one is refused. A store that is a fleet of the same description already is left as it is.
pub fn init(place: &str, classes: &ClassSet, config: &Config) -> Result<Fleet> {
    init_on(Objects::open(place)?, classes, config)
}

/// As [`init`], on a store that is open already.
pub fn init_on(objects: Objects, classes: &ClassSet, config: &Config) -> Result<Fleet> {
    let config = common(config);
    check_config(&config)?;
    probe(&objects)?;
    let class = |(number, (name, color)): (usize, (&String, &[u8; 3]))| Class {
        name: name.clone(),
        color: *color,
        movable: classes.is_movable(number),
        cost: classes.cost(number),
    };
    let text = Text {
        format: FORMAT.into(),
        version: VERSION,
        tile_m: e2bki::TILE_M as u32,
        cell_m: config.clustering.cell_size,
        classes: classes.names().iter().zip(classes.colors()).enumerate().map(class).collect(),
        config: config.to_toml(),
    };
    let bytes =
        serde_json::to_vec_pretty(&text).map_err(|e| Error::Refused(format!("cannot write the description: {e}")))?;
    if !objects.create(NAME, bytes)? {
        let there = Fleet::on(objects.clone())?;
        if there.classes != *classes || there.config != config {
            let place = objects.name();
            return Err(Error::Refused(format!("{place} is a fleet already, with other classes or parameters")));
        }
    }
    Ok(Fleet { objects, classes: classes.clone(), config })
}

impl Fleet {
    /// Opens the store of a fleet.
    pub fn open(place: &str) -> Result<Self> {
        Self::on(Objects::open(place)?)
    }

    /// The fleet of a store that is open already.
    pub fn on(objects: Objects) -> Result<Self> {
        let place = objects.name();
        let bytes = objects.get(NAME)?.ok_or_else(|| {
            Error::Refused(format!(
                "{place} is not a fleet's store: make it one with `e2bki fleet init {place} --like MAP.e2bki`"
            ))
        })?;
        let damaged = |what: String| Error::Damaged { store: place.into(), object: NAME.into(), what };
        let text: Text = serde_json::from_slice(&bytes).map_err(|e| damaged(e.to_string()))?;
        if text.format != FORMAT || text.version != VERSION {
            return Err(damaged(format!("it says {:?} version {}", text.format, text.version)));
        }
        if text.tile_m != e2bki::TILE_M as u32 {
            return Err(damaged(format!("tiles of {} m; this program has {} m", text.tile_m, e2bki::TILE_M)));
        }
        let movable: Vec<&str> = text.classes.iter().filter(|c| c.movable).map(|c| c.name.as_str()).collect();
        let classes = ClassSet::new(text.classes.iter().map(|class| (class.name.clone(), class.color)))
            .and_then(|classes| classes.with_movable(&movable))
            .and_then(|classes| classes.with_costs(text.classes.iter().filter_map(|c| Some((&c.name, c.cost?)))))
            .map_err(|e| damaged(e.to_string()))?;
        let config = common(&Config::from_toml(&text.config).map_err(|e| damaged(e.to_string()))?);
        check_config(&config)?;
        Ok(Self { objects, classes, config })
    }

    /// Refuses a map that is not of this fleet; `name` stands for it.
    pub(crate) fn check(&self, header: &Header, name: &str) -> Result<()> {
        self.check_as(header, &self.config, name)
    }

    /// As [`Self::check`], of a map with other parameters than the fleet's.
    pub(crate) fn check_as(&self, header: &Header, config: &Config, name: &str) -> Result<()> {
        if header.classes != self.classes && header.classes.names() == self.classes.names() {
            return Err(Error::Refused(format!(
                "{name} has the fleet's classes with other colours, costs or things that can move: map it with the \
                 fleet's class table"
            )));
        }
        if header.classes != self.classes {
            return Err(Error::Refused(format!(
                "{name} has the classes {}, the fleet {}",
                header.classes.names().join(", "),
                self.classes.names().join(", ")
            )));
        }
        let theirs = common(&header.config);
        for field in e2bki::config::fields() {
            let (a, b) = (field.value(config), field.value(&theirs));
            if a != b {
                let key = field.key;
                return Err(Error::Refused(format!("{name} was made with `{key}` = {b}, the fleet has {a}")));
            }
        }
        Ok(())
    }
}

/// A configuration without what does not change a map.
pub(crate) fn common(config: &Config) -> Config {
    let default = Config::default();
    config.clone().with(|c| {
        c.run.threads = default.run.threads;
        c.views.live_voxels = false;
        c.views.update = default.views.update;
    })
}

fn check_config(config: &Config) -> Result<()> {
    if let Some(reason) = config.not_a_sum() {
        return Err(Error::Refused(format!("maps of a fleet must be sums, to be put together in any order: {reason}")));
    }
    let cells = f64::from(e2bki::TILE_M) / config.clustering.cell_size;
    if cells.fract() != 0.0 {
        return Err(Error::Refused(format!(
            "`clustering.cell_size` is {} m: it must divide the tile of {} m, so that no cell is in two tiles",
            config.clustering.cell_size,
            e2bki::TILE_M
        )));
    }
    Ok(())
}

/// Writers that try to create an object at the same time, and how often they do.
const WRITERS: usize = 8;
const TRIES: usize = 3;

/// Whether of two who create an object one is refused. Some servers only seem to know the condition, others look before they
/// write and let all through who come at the same time.
fn probe(objects: &Objects) -> Result<()> {
    let name = format!("{PROBES}/{}-{:p}", std::process::id(), objects);
    objects.remove(&name)?;
    let (first, second) = (objects.create(&name, b"first".to_vec())?, objects.create(&name, b"second".to_vec())?);
    let kept = objects.get(&name)?;
    objects.remove(&name)?;
    let mut honest = first && !second && kept.as_deref() == Some(b"first");
    for _ in 0..TRIES {
        honest = honest && objects.create_at_once(&name, WRITERS)? == 1;
        objects.remove(&name)?;
    }
    if honest {
        return Ok(());
    }
    Err(Error::Refused(format!(
        "{} lets an object be created twice: it does not honour conditional puts, and two programs that commit at the \
         same time would lose one another's work",
        objects.name()
    )))
}
