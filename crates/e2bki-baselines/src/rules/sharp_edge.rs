//! SEE-CSOM: blocks of 2×2×2 voxels take evidence from beyond their faces only if their own points disagree.
//!
//! A block with N points, n_c of class c, n classes present: H = 1 − max n_c/N + ln n/(C ln C), length (3 + 2H) voxels,
//! own points if H ≤ 0.3, else those of the face neighbours too. A block without points but with two face neighbours
//! that have some takes theirs with length 5. Kernel 1 − d/length. Blocks are centred on multiples of two voxels, as
//! published: block k holds voxels 2k−1 and 2k of each axis, which the grid's shift makes 2k and 2k+1.

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use e2bki::maths::ln;

use crate::block::Scratch;
use crate::grid::{Grid, Spread};
use crate::lattice::{BlockKey, Place, pack, unpack};
use crate::scan::Scan;

/// A block whose points disagree more than this looks beyond its faces.
const MIXED: f64 = 0.3;

/// Adds a frame.
pub(crate) fn add_sharp_edge(grid: &mut Grid, scan: &Scan, places: &[Place]) -> usize {
    let axes = grid.lattice.axes();
    let mut sorted: Vec<u128> =
        places.par_iter().enumerate().map(|(i, place)| pack(place.voxel.map(|v| v >> 1), i as u32)).collect();
    sorted.par_sort_unstable();
    let runs: Vec<&[u128]> = sorted.chunk_by(|a, b| a >> 32 == b >> 32).collect();
    let cells: FxHashMap<[i32; 3], &[u128]> =
        runs.iter().filter_map(|run| Some((unpack(*run.first()?).0, *run))).collect();
    let mut targets: Vec<Target> = runs.par_iter().filter_map(|run| Target::occupied(run, scan)).collect();
    let mut empty: Vec<u128> = targets
        .par_iter()
        .flat_map_iter(|target| neighbours(target.cell, axes).filter(|cell| !cells.contains_key(cell)))
        .map(|cell| pack(cell, 0))
        .collect();
    empty.par_sort_unstable();
    targets.extend(empty.chunk_by(|a, b| a == b).filter(|run| run.len() >= 2).map(|run| Target {
        cell: unpack(run[0]).0,
        length: 5.0,
        beyond: true,
    }));
    grid.add(&SharpEdge { scan, places, axes, cells, targets })
}

/// A block that receives evidence.
struct Target {
    cell: [i32; 3],
    /// Length of the kernel in voxels.
    length: f32,
    /// Whether the face neighbours' points count.
    beyond: bool,
}

impl Target {
    /// A block with points of its own.
    fn occupied(run: &[u128], scan: &Scan) -> Option<Self> {
        let cell = unpack(*run.first()?).0;
        let mut labels: Vec<u16> = run.iter().flat_map(|p| scan.said(*p as u32 as usize).0.iter().copied()).collect();
        labels.sort_unstable();
        let counts = || labels.chunk_by(|a, b| a == b).map(<[u16]>::len);
        let most = counts().max().unwrap_or(0) as f64 / labels.len() as f64;
        let (present, classes) = (counts().count() as f64, scan.classes as f64);
        let spread = if classes > 1.0 { ln(present) / (classes * ln(classes)) } else { 0.0 };
        let mixture = 1.0 - most + spread;
        Some(Self { cell, length: (3.0 + 2.0 * mixture) as f32, beyond: mixture > MIXED })
    }
}

/// Face neighbours in a fixed order.
fn neighbours(cell: [i32; 3], axes: usize) -> impl Iterator<Item = [i32; 3]> {
    (0..2 * axes).map(move |face| {
        let mut cell = cell;
        cell[face / 2] += if face % 2 == 0 { -1 } else { 1 };
        cell
    })
}

struct SharpEdge<'a> {
    scan: &'a Scan,
    places: &'a [Place],
    axes: usize,
    cells: FxHashMap<[i32; 3], &'a [u128]>,
    targets: Vec<Target>,
}

impl SharpEdge<'_> {
    /// Points that count for a block: its own first, then the neighbours'.
    fn sources(&self, target: &Target) -> impl Iterator<Item = usize> {
        let own = std::iter::once(target.cell);
        let beyond = neighbours(target.cell, if target.beyond { self.axes } else { 0 });
        let runs = own.chain(beyond).filter_map(|cell| self.cells.get(&cell));
        runs.flat_map(|run| run.iter().map(|packed| *packed as u32 as usize))
    }
}

impl Spread for SharpEdge<'_> {
    fn sources(&self) -> usize {
        self.targets.len()
    }

    fn channels(&self) -> usize {
        self.scan.classes + 1
    }

    fn touch(&self, source: usize, mut each: impl FnMut(BlockKey)) {
        each(self.targets[source].cell.map(|v| v >> 2));
    }

    fn fill(&self, _: BlockKey, sources: &[u128], scratch: &mut Scratch) {
        let targets = || sources.iter().map(|packed| &self.targets[*packed as u32 as usize]);
        scratch.begin(targets().flat_map(|t| self.sources(t)).flat_map(|p| self.scan.said(p).0.iter().copied()));
        let voxels = 1 << self.axes;
        for target in targets() {
            let [x, y, z] = target.cell.map(|v| (2 * (v & 3)) as usize);
            let first = x + 8 * y + 64 * z;
            let per_length = 1.0 / target.length;
            // Sums of the eight voxels side by side, a column after the other.
            let mut sums = vec![[0.0_f32; 8]; scratch.stride()];
            for point in self.sources(target) {
                let kernel = linear_kernel(&self.places[point], target.cell, per_length);
                let (channels, weights) = self.scan.said(point);
                for (channel, weight) in channels.iter().zip(weights) {
                    let sums = &mut sums[scratch.column(*channel)];
                    for voxel in 0..8 {
                        sums[voxel] += weight * kernel[voxel];
                    }
                }
            }
            for voxel in 0..voxels {
                if sums.iter().any(|sums| sums[voxel] > 0.0) {
                    let row = scratch.row(first + (voxel & 1) + 8 * (voxel >> 1 & 1) + 64 * (voxel >> 2));
                    row.iter_mut().zip(&sums).for_each(|(row, sums)| *row += sums[voxel]);
                }
            }
        }
    }
}

/// max(0, 1 − d/length) at the centres of a block's eight voxels.
#[inline(always)]
fn linear_kernel(place: &Place, cell: [i32; 3], per_length: f32) -> [f32; 8] {
    let squares: [[f32; 2]; 3] = std::array::from_fn(|axis| {
        let first = (place.voxel[axis] - 2 * cell[axis]) as f32 + place.offset[axis];
        [first * first, (first - 1.0) * (first - 1.0)]
    });
    let mut kernel = [0.0; 8];
    for voxel in 0..8 {
        let squared = squares[0][voxel & 1] + squares[1][voxel >> 1 & 1] + squares[2][voxel >> 2];
        kernel[voxel] = (1.0 - squared.sqrt() * per_length).max(0.0);
    }
    kernel
}
