//! `--rerun`: a map as a recording of Rerun, in a file or in a running viewer.

use std::collections::BTreeSet;
use std::time::Duration;

use ::rerun::components::FillMode;
use ::rerun::{
    AnnotationContext, Clear, Ellipsoids3D, LineStrips3D, Points3D, Quaternion, RecordingStream,
    RecordingStreamBuilder, Rgba32, TextLog, ViewCoordinates,
};
use anyhow::{Context, Result};
use e2bki::ClassSet;
use e2bki_view::{Instance, Subscriber, Tile};

use crate::table;

/// How long the last of a recording may take to arrive.
const LAST: Duration = Duration::from_secs(20);
/// Rerun's coordinates are f32: a map that begins farther away than this is moved to the origin, metres.
const FAR_M: f64 = 10_000.0;

/// A recording that is being made.
pub(crate) struct Recording {
    stream: RecordingStream,
    target: String,
}

impl Recording {
    /// Begins a recording: in a running viewer where the target is an address, else in a file.
    pub(crate) fn open(target: &str, name: &str, classes: &ClassSet) -> Result<Self> {
        let builder = RecordingStreamBuilder::new("e2bki").recording_name(name);
        let stream = if target.contains("://") {
            builder.connect_grpc_opts(target).with_context(|| {
                format!("{target} is no address of a Rerun viewer; they look like rerun+http://127.0.0.1:9876/proxy")
            })?
        } else {
            builder.save(target).with_context(|| format!("cannot write the recording {target}"))?
        };
        stream.log_static("/", &ViewCoordinates::RIGHT_HAND_Z_UP())?;
        let described = classes.names().iter().zip(classes.colors()).zip(0_u16..);
        let described = described.map(|((name, [r, g, b]), id)| (id, name.as_str(), Rgba32::from_rgb(*r, *g, *b)));
        stream.log_static("/", &AnnotationContext::new(described))?;
        Ok(Self { stream, target: target.into() })
    }

    /// Who takes over what is to be recorded.
    pub(crate) fn follower(&self) -> Box<dyn Subscriber> {
        Box::new(Follower { stream: self.stream.clone(), origin: None, tiles: BTreeSet::new(), way: 0 })
    }

    /// Waits until everything has arrived.
    pub(crate) fn finish(self) -> Result<()> {
        self.stream
            .flush_with_timeout(LAST)
            .with_context(|| format!("the recording did not reach {} whole; is there a Rerun viewer?", self.target))?;
        table::line(&format!("recorded for Rerun: {}", self.target))
    }
}

struct Follower {
    stream: RecordingStream,
    /// Origin of the recorded coordinates.
    origin: Option<[f64; 3]>,
    /// Tiles that show something.
    tiles: BTreeSet<Tile>,
    /// How many places of the way were last shown.
    way: usize,
}

impl Follower {
    /// A place as it is recorded; the first one decides what it is relative to.
    fn place(&mut self, place: [f64; 3]) -> [f32; 3] {
        let origin = *self.origin.get_or_insert_with(|| {
            let origin = place.map(|v| if v.abs() > FAR_M { v.round() } else { 0.0 });
            if origin != [0.0; 3] {
                let text = format!("coordinates are relative to {origin:?} m");
                note(self.stream.log_static("origin", &TextLog::new(text)));
            }
            origin
        });
        std::array::from_fn(|i| (place[i] - origin[i]) as f32)
    }
}

/// A failure to record is printed; mapping continues.
fn note<E: std::fmt::Display>(result: std::result::Result<(), E>) {
    if let Err(error) = result {
        crate::table::say(&format!("note: Rerun: {error}"));
    }
}

impl Subscriber for Follower {
    fn tile(&mut self, frames: u64, tile: Tile, instances: &[Instance]) {
        let entity = format!("map/primitives/{}_{}", tile.0[0], tile.0[1]);
        self.stream.set_time_sequence("frame", frames as i64);
        if instances.is_empty() {
            if self.tiles.remove(&tile) {
                note(self.stream.log(entity, &Clear::flat()));
            }
            return;
        }
        self.tiles.insert(tile);
        let centers: Vec<[f32; 3]> = instances.iter().map(|body| self.place(body.center)).collect();
        let ellipsoids =
            Ellipsoids3D::from_centers_and_half_sizes(centers, instances.iter().map(|b| b.half_axes.map(|a| a as f32)))
                .with_quaternions(instances.iter().map(|b| Quaternion::from_xyzw(b.rotation.map(|q| q as f32))))
                .with_class_ids(instances.iter().map(|b| b.label as u16))
                .with_fill_mode(FillMode::Solid)
                .with_show_labels(false);
        note(self.stream.log(entity, &ellipsoids));
    }

    fn points(&mut self, frames: u64, points: &[([f64; 3], u16)]) {
        self.stream.set_time_sequence("frame", frames as i64);
        let places: Vec<[f32; 3]> = points.iter().map(|(place, _)| self.place(*place)).collect();
        let cloud = Points3D::new(places).with_class_ids(points.iter().map(|(_, label)| *label)).with_radii([0.03]);
        let cloud = cloud.with_show_labels(false);
        note(self.stream.log("scan", &cloud));
    }

    fn trajectory(&mut self, frames: u64, places: &[[f64; 3]], done: bool) {
        let Some(last) = places.last() else { return };
        self.stream.set_time_sequence("frame", frames as i64);
        let here = self.place(*last);
        note(self.stream.log("sensor", &Points3D::new([here]).with_radii([0.4])));
        // The whole way each time, but not at every step: a recording grows with the run, not with its square.
        if done || places.len() >= self.way + self.way / 10 + 2 {
            self.way = places.len();
            let line: Vec<[f32; 3]> = places.iter().map(|place| self.place(*place)).collect();
            note(self.stream.log("way", &LineStrips3D::new([line])));
        }
    }
}
