//! Ground truth gathered frame by frame, and the questions that come of it.

use crate::cells::Cells;
use crate::frame::LabelledFrame;
use crate::free::{EmptySpace, EmptySpaceSamples};
use crate::queries::Queries;
use crate::record::View;

/// Which places are asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    /// The centroids of 0.05 m cells whose points share one label (the paper's protocol).
    Cells,
    /// Every labelled point by itself (seen from above: cells, as many points share a place).
    Points,
}

/// Gathers ground truth for a set of views.
#[derive(Debug, Clone)]
pub struct GroundTruth {
    classes: usize,
    asked: Asked,
    max_range_m: f64,
    volume: Option<Cells<3>>,
    plane: Option<Cells<2>>,
    points: Queries<3>,
    empty: EmptySpace,
    labelled: u64,
    frames: [usize; 2],
}

/// Places to ask maps about.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Questions {
    /// In the volume.
    pub volume: Queries<3>,
    /// Seen from above.
    pub plane: Queries<2>,
    /// Places where nothing is.
    pub empty: EmptySpaceSamples,
    /// Points with a known class that were gathered.
    pub labelled: u64,
    /// Frames that were asked about.
    pub frames: usize,
    /// Those of them that have such points. The others are no part of any score.
    pub labelled_frames: usize,
}

impl GroundTruth {
    /// Nothing gathered yet. Points farther than `max_range_m` from the sensor are not asked about.
    pub fn new(classes: usize, asked: Asked, max_range_m: f64, views: &[View]) -> Self {
        let volume = views.iter().any(|view| !view.is_planar());
        let plane = views.iter().any(|view| view.is_planar());
        Self {
            classes,
            asked,
            max_range_m,
            volume: volume.then(Cells::default),
            plane: plane.then(Cells::default),
            points: Queries::default(),
            empty: EmptySpace::default(),
            labelled: 0,
            frames: [0; 2],
        }
    }

    /// Adds the points of a frame whose class is known.
    pub fn add(&mut self, frame: &LabelledFrame) {
        self.empty.add(frame);
        let before = self.labelled;
        for (i, (point, truth)) in frame.points.iter().zip(&frame.truth).enumerate() {
            let class = *truth as usize;
            let range = point.iter().map(|v| f64::from(*v) * f64::from(*v)).sum::<f64>().sqrt();
            // Written so that a range that is no number is left out too.
            if class >= self.classes || !(range > 0.0 && range <= self.max_range_m) {
                continue;
            }
            self.labelled += 1;
            let said = frame.opinion(i, self.classes);
            let place = frame.world_from_sensor.apply(point.map(f64::from));
            match (&mut self.volume, self.asked) {
                (Some(cells), Asked::Cells) => cells.add(place, class, said),
                (Some(_), Asked::Points) => self.points.push(place, class, said),
                (None, _) => {}
            }
            if let Some(plane) = &mut self.plane {
                plane.add([place[0], place[1]], class, said);
            }
        }
        self.frames[0] += 1;
        self.frames[1] += usize::from(self.labelled > before);
    }

    /// The questions; the cells are given up on the way, so that they are never held twice.
    pub fn into_questions(self) -> Questions {
        let volume = match self.asked {
            Asked::Cells => self.volume.map(Cells::into_queries).unwrap_or_default(),
            Asked::Points => self.points,
        };
        Questions {
            volume,
            plane: self.plane.map(Cells::into_queries).unwrap_or_default(),
            empty: self.empty.into_samples(),
            labelled: self.labelled,
            frames: self.frames[0],
            labelled_frames: self.frames[1],
        }
    }
}
