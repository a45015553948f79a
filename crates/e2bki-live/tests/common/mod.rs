//! A drive as messages, and a node's surroundings without a network.

#![allow(dead_code)] // each test crate uses a part

use std::path::Path;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, sync_channel};

use e2bki::{Config, Mapper, Pose, PrimitiveState};
use e2bki_bag::messages::{Number, TransformMessage};
use e2bki_bag::{BagWriter, Schema, compose, schemas};
use e2bki_data::{ClassTable, Dataset, OpenOptions};
use e2bki_live::{Kind, NodeOptions, Outlet, Output, Request, Values};

pub(crate) const S: u64 = 1_000_000_000;
pub(crate) const START: u64 = 1_700_000_000 * S;
pub(crate) const CLASSES: &str = "offroad7";

/// Keeps what is sent.
#[derive(Default)]
pub(crate) struct Kept {
    pub(crate) sent: Mutex<Vec<(Output, Vec<u8>)>>,
    pub(crate) busy: usize,
}

impl Outlet for Kept {
    fn waiting(&self) -> usize {
        self.busy
    }

    fn send(&self, output: Output, message: Vec<u8>) {
        self.sent.lock().unwrap().push((output, message));
    }
}

impl Kept {
    pub(crate) fn of(&self, wanted: Output) -> Vec<Vec<u8>> {
        let sent = self.sent.lock().unwrap();
        sent.iter().filter(|(output, _)| *output == wanted).map(|(_, message)| message.clone()).collect()
    }
}

pub(crate) fn tf(stamp: u64, parent: &str, child: &str, x: f64, yaw: f64) -> Vec<u8> {
    let (s, c) = yaw.sin_cos();
    let pose = Pose::new([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]], [x, 0.2 * x, 0.0]).unwrap();
    compose::transforms(&[TransformMessage { stamp, parent: parent.into(), child: child.into(), pose }])
}

/// A scan of 100 ms: ground and walls, some slots without a return.
pub(crate) fn cloud(k: u64, stamp: u64) -> Vec<u8> {
    let fields =
        [("x", Number::F32), ("y", Number::F32), ("z", Number::F32), ("t", Number::U32), ("label", Number::U16)];
    let mut data = Vec::new();
    let count = 3000_u64;
    for i in 0..count {
        let angle = std::f64::consts::TAU * i as f64 / count as f64;
        let range = 3.0 + 5.0 * (((i * 7919 + k * 31) % 997) as f64 / 997.0);
        let point = [range * angle.cos(), range * angle.sin(), if i % 5 == 0 { 0.5 } else { -1.0 }];
        let point = if i % 101 == 0 { [f64::NAN; 3] } else { point };
        point.iter().for_each(|v| data.extend((*v as f32).to_le_bytes()));
        data.extend((((i * 100_000_000) / count) as u32).to_le_bytes());
        data.extend((if i % 17 == 0 { u16::MAX } else { (i % 3) as u16 }).to_le_bytes());
    }
    compose::cloud(stamp, "lidar", &fields, count as usize, &data)
}

/// All messages of a drive in the order in which they are sent: transforms at 20 Hz a little after the scans.
pub(crate) fn drive(scans: u64) -> Vec<(Kind, u64, Vec<u8>)> {
    let mut all = vec![(Kind::FixedTransforms, START, tf(START, "base", "lidar", 0.3, 0.1))];
    for k in 0..=2 * scans + 2 {
        let stamp = START + k * S / 20;
        let x = 0.15 * k as f64;
        all.push((Kind::Transforms, stamp + S / 50, tf(stamp, "odom", "base", x, 0.02 * k as f64)));
        all.push((Kind::Transforms, stamp + S / 50, tf(stamp, "map", "odom", 0.001 * k as f64, 0.0)));
    }
    for k in 0..scans {
        let stamp = START + k * S / 10 + 7_000_000;
        all.push((Kind::Cloud, stamp, cloud(k, stamp)));
    }
    all.sort_by_key(|(kind, time, _)| (*time, *kind));
    all
}

/// Everything at once, and transforms are waited for.
pub(crate) fn eager() -> Values {
    Values {
        rate: f64::INFINITY,
        tolerance: 0.0,
        whole_every: 0.0,
        window: 20.0,
        layers_rate: 1e9,
        wait: 60.0,
        region: None,
    }
}

pub(crate) fn options() -> NodeOptions {
    NodeOptions {
        name: "e2bki".into(),
        deskew: true,
        remap: ClassTable::open(CLASSES).unwrap().remap("classes").unwrap(),
        costs: vec![10; 7],
        save_every: None,
        camera: None,
    }
}

pub(crate) fn empty() -> (Mapper, u64) {
    (Mapper::new(ClassTable::open(CLASSES).unwrap().classes().clone(), Config::default()).unwrap(), 0)
}

pub(crate) fn states(map: &Mapper) -> Vec<PrimitiveState> {
    // Ids are ages in this process: what a map holds does not depend on them.
    map.primitives().map(|primitive| PrimitiveState { id: 0, ..primitive.state() }).collect()
}

pub(crate) fn nobody() -> Receiver<Request> {
    sync_channel(1).1
}

pub(crate) fn recorded(messages: &[(Kind, u64, Vec<u8>)], path: &Path) -> Mapper {
    let mut bag = BagWriter::create(path).unwrap();
    for (kind, time, message) in messages {
        let (topic, schema): (&str, Schema) = match kind {
            Kind::Cloud => ("/points", schemas::POINT_CLOUD),
            Kind::Transforms => ("/tf", schemas::TRANSFORMS),
            _ => ("/tf_static", schemas::TRANSFORMS),
        };
        bag.write(topic, schema, false, *time, message).unwrap();
    }
    bag.finish().unwrap();
    let options = OpenOptions { classes: Some(ClassTable::open(CLASSES).unwrap()), ..OpenOptions::default() };
    let dataset = Dataset::open(path, &options).unwrap();
    let (mut map, _) = empty();
    for index in 0..dataset.len() {
        map.insert(&dataset.load(index).unwrap().frame()).unwrap();
    }
    map
}
