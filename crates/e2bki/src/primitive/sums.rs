//! Geometry as sums: count, Σx, Σxxᵀ and Σrange, about the corner of the cubic metre that holds the mean.
//!
//! Positions and ranges are rounded to 2⁻¹⁶ m (15 µm, a thousandth of a LiDAR's noise). Sums of such numbers are exact:
//! Σx and Σrange in f64, Σxxᵀ, whose quanta are finer, in 64-bit whole numbers. So adding is associative and commutative
//! bit for bit: any order, any grouping and any number of threads give the same primitive. Where the sums would no longer
//! be exact, at a thousand million points, nothing is added any more: see [`Sums::limits`].

/// Side of a block: blocks are the unit cubes of the world, so block origins are whole numbers of metres.
pub const BLOCK_SIDE_M: f64 = 1.0;

/// Positions and ranges are multiples of this.
pub const QUANTUM_M: f64 = 1.0 / 65_536.0;

/// Products of positions are multiples of this, square metres.
pub const QUANTUM_M2: f64 = QUANTUM_M * QUANTUM_M;

/// Most points of a primitive, largest Σrange (metres), and largest whole number of quanta of a sum.
const MOST_POINTS: f64 = (1_u64 << 31) as f64;
const MOST_RANGE_M: f64 = (1_u64 << 36) as f64;
pub(crate) const MOST_QUANTA: i64 = 1 << 62;

/// Far below those: two primitives below this can be added without a look.
const MANY_POINTS: f64 = (1 << 24) as f64;
pub(crate) const MANY_QUANTA: i64 = 1 << 56;

/// Points that a scratch sum takes before its floating-point numbers could be inexact, even 60 m from its corner.
pub(crate) const AT_ONCE: usize = 512;

/// Ranges below this count as this much, so that a return at the sensor cannot prune everything (docs/method.md#range-floor).
const RANGE_FLOOR_M: f64 = 0.5;

/// Additive geometry of a primitive.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sums {
    /// Corner of the block that the sums are about, metres.
    pub origin: [i32; 3],
    /// Number of points (paper: w).
    pub weight: f64,
    /// Σx, metres.
    pub first: [f64; 3],
    /// Σxxᵀ as xx, yy, zz, xy, xz, yz, in [`QUANTUM_M2`].
    pub second: [i64; 6],
    /// Σ of the distances at which the points were seen, metres.
    pub range: f64,
}

/// The block that holds a world position.
pub fn block_of(world: [f64; 3]) -> [i32; 3] {
    world.map(crate::maths::floor_i32)
}

/// A world position as the sums hold it: every coordinate a multiple of the quantum.
pub fn snapped(world: [f64; 3]) -> [f64; 3] {
    world.map(quantise)
}

/// Rounds to a multiple of the quantum.
fn quantise(metres: f64) -> f64 {
    // Adding and taking away 1.5·2⁵² leaves the nearest whole number, without a call to the system's `round`.
    const WHOLE: f64 = 6_755_399_441_055_744.0;
    ((metres * (1.0 / QUANTUM_M) + WHOLE) - WHOLE) * QUANTUM_M
}

impl Sums {
    /// No points yet, about a block corner.
    pub fn about(origin: [i32; 3]) -> Self {
        Self { origin, weight: 0.0, first: [0.0; 3], second: [0; 6], range: 0.0 }
    }

    /// Adds a point at a world position, seen from `range` metres.
    pub fn add_point(&mut self, world: [f64; 3], range: f64) {
        self.add_points([(world, range)].into_iter());
    }

    /// Adds at most [`AT_ONCE`] points with their ranges: in floating point, which is exact for so few.
    #[inline(always)]
    pub(crate) fn add_points(&mut self, points: impl Iterator<Item = ([f64; 3], f64)>) {
        let mut second = [0.0; 6];
        for (world, range) in points {
            let x: [f64; 3] = std::array::from_fn(|i| quantise(world[i] - f64::from(self.origin[i])));
            self.weight += 1.0;
            for i in 0..3 {
                self.first[i] += x[i];
                second[i] += x[i] * x[i];
            }
            second[3] += x[0] * x[1];
            second[4] += x[0] * x[2];
            second[5] += x[1] * x[2];
            self.range += quantise(range);
        }
        for i in 0..6 {
            self.second[i] = self.second[i].saturating_add((second[i] * (1.0 / QUANTUM_M2)) as i64);
        }
    }

    /// What is wrong if the sums are beyond what is exact: more than 2³¹ points, 2³⁶ m of ranges, or 2³⁰ m² of products.
    pub(crate) fn limits(&self) -> Result<(), String> {
        if self.weight > MOST_POINTS {
            return Err(format!("{} points; a primitive holds {MOST_POINTS} at most", self.weight));
        }
        if self.range > MOST_RANGE_M {
            return Err(format!("a sum of ranges of {} m; a primitive holds {MOST_RANGE_M} m at most", self.range));
        }
        match self.second.iter().find(|v| !(-MOST_QUANTA..=MOST_QUANTA).contains(*v)) {
            Some(value) => Err(format!("a sum of products of {value} quanta; a primitive holds {MOST_QUANTA} at most")),
            None => Ok(()),
        }
    }

    /// Whether so much was summed that more must be added with a look at [`Self::limits`].
    pub(crate) fn are_many(&self) -> bool {
        self.weight > MANY_POINTS
            || self.range > MOST_RANGE_M / 2.0
            || self.second.iter().any(|v| !(-MANY_QUANTA..=MANY_QUANTA).contains(v))
    }

    /// The sum of both, if it is exact.
    pub(crate) fn checked_add(&self, other: &Self) -> Option<Self> {
        let other = other.moved_to(self.origin);
        let mut sum = *self;
        for i in 0..6 {
            sum.second[i] = sum.second[i].checked_add(other.second[i])?;
        }
        sum.weight += other.weight;
        sum.first = std::array::from_fn(|i| sum.first[i] + other.first[i]);
        sum.range += other.range;
        sum.limits().ok()?;
        sum.settle();
        (other.limits().is_ok() && sum.limits().is_ok()).then_some(sum)
    }

    /// Adds another primitive's points. The result is about the block of the common mean, whatever the order.
    pub fn add(&mut self, other: &Self) {
        self.add_about(other);
        self.settle();
    }

    /// As [`Self::add`], about the corner that these are about; [`Self::settle`] is left to the caller.
    pub(crate) fn add_about(&mut self, other: &Self) {
        if other.origin != self.origin {
            return self.add_about(&other.moved_to(self.origin));
        }
        self.weight += other.weight;
        for i in 0..3 {
            self.first[i] += other.first[i];
        }
        for i in 0..6 {
            self.second[i] = self.second[i].saturating_add(other.second[i]);
        }
        self.range += other.range;
    }

    /// Adds a multiple of another primitive's sums about the corner that these are about, where they stay: what is
    /// taken out may leave nothing that has a mean.
    /// Nothing if that cannot be exact.
    pub(crate) fn add_times(&mut self, other: &Self, factor: i64) -> Option<()> {
        if other.origin != self.origin {
            return self.add_times(&other.moved_to(self.origin), factor);
        }
        let times = factor as f64;
        self.weight += times * other.weight;
        for i in 0..3 {
            self.first[i] += times * other.first[i];
        }
        for i in 0..6 {
            self.second[i] = self.second[i].checked_add(other.second[i].checked_mul(factor)?)?;
        }
        self.range += times * other.range;
        (self.within_limits() && other.within_limits()).then_some(())
    }

    /// As [`Self::limits`], without words.
    fn within_limits(&self) -> bool {
        let second = self.second.iter().fold(0, |most, v| most | v.unsigned_abs());
        let few = self.weight <= MOST_POINTS && self.range <= MOST_RANGE_M;
        (few && second <= MOST_QUANTA.unsigned_abs()) || self.limits().is_ok()
    }

    /// Whether there is nothing in any sum.
    pub(crate) fn is_zero(&self) -> bool {
        self.second == [0; 6] && self.first.iter().chain([&self.weight, &self.range]).all(|v| *v == 0.0)
    }

    /// Moves the origin to the block of the mean, so that equal points have equal sums however they came together.
    pub fn settle(&mut self) {
        let block = block_of(self.mean());
        if block != self.origin {
            *self = self.moved_to(block);
        }
    }

    fn moved_to(&self, origin: [i32; 3]) -> Self {
        let d: [f64; 3] = std::array::from_fn(|i| f64::from(self.origin[i]) - f64::from(origin[i]));
        if d == [0.0; 3] {
            return *self;
        }
        let (m, w) = (&self.first, self.weight);
        // Whole numbers of 2⁻¹⁶ m², exact in f64.
        let cross = |i: usize, j: usize| d[i] * m[j] + m[i] * d[j] + w * d[i] * d[j];
        let shift = [cross(0, 0), cross(1, 1), cross(2, 2), cross(0, 1), cross(0, 2), cross(1, 2)];
        Self {
            origin,
            weight: w,
            first: std::array::from_fn(|i| m[i] + w * d[i]),
            // Saturates beyond what any sum may be, where it is refused.
            second: std::array::from_fn(|i| self.second[i].saturating_add((shift[i] * (1.0 / QUANTUM_M2)) as i64)),
            range: self.range,
        }
    }

    /// Mean position in the world, metres (paper: μ).
    pub fn mean(&self) -> [f64; 3] {
        std::array::from_fn(|i| f64::from(self.origin[i]) + self.first[i] / self.weight)
    }

    /// Covariance 1/w Σ(x−μ)(x−μ)ᵀ as xx, yy, zz, xy, xz, yz, square metres (paper: Σ).
    pub fn covariance(&self) -> [f64; 6] {
        let m = self.first.map(|v| v / self.weight);
        let product = [m[0] * m[0], m[1] * m[1], m[2] * m[2], m[0] * m[1], m[0] * m[2], m[1] * m[2]];
        std::array::from_fn(|i| {
            let value = self.second[i] as f64 * QUANTUM_M2 / self.weight - product[i];
            if i < 3 { value.max(0.0) } else { value }
        })
    }

    /// Mean distance from the sensor, metres (paper: δ).
    pub fn mean_range(&self) -> f64 {
        (self.range / self.weight).max(RANGE_FLOOR_M)
    }

    /// The same points with their height taken away: the primitive of a bird's-eye view.
    pub(crate) fn flattened(&self) -> Self {
        let [xx, yy, _, xy, ..] = self.second;
        Self {
            origin: [self.origin[0], self.origin[1], 0],
            first: [self.first[0], self.first[1], 0.0],
            second: [xx, yy, 0, xy, 0, 0],
            ..*self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sum_of(points: &[[f64; 3]]) -> Sums {
        let mut sums = Sums::about(block_of(points[0]));
        points.iter().for_each(|p| sums.add_point(*p, p[0].abs()));
        sums.settle();
        sums
    }

    proptest! {
        #[test]
        fn grouping_and_order_do_not_change_a_bit(
            points in prop::collection::vec(prop::array::uniform3(-3.0..3.0_f64), 3..60),
            corner in prop::array::uniform3(-1e7..1e7_f64),
            cut in any::<prop::sample::Index>(),
        ) {
            let points: Vec<[f64; 3]> = points.iter().map(|p| std::array::from_fn(|i| p[i] + corner[i])).collect();
            let all = sum_of(&points);
            let cut = 1 + cut.index(points.len() - 1);
            let (mut a, mut b) = (sum_of(&points[..cut]), sum_of(&points[cut..]));
            let (first, second) = (a, b);
            a.add(&second);
            b.add(&first);
            prop_assert_eq!(a, all);
            prop_assert_eq!(b, all);
            let mut reversed = points.clone();
            reversed.reverse();
            prop_assert_eq!(sum_of(&reversed), all);
        }

        #[test]
        fn moments_match_the_direct_covariance(points in prop::collection::vec(prop::array::uniform3(-2.0..2.0_f64), 1..40)) {
            let sums = sum_of(&points);
            let n = points.len() as f64;
            let mean: [f64; 3] = std::array::from_fn(|i| points.iter().map(|p| p[i]).sum::<f64>() / n);
            for i in 0..3 {
                prop_assert!((sums.mean()[i] - mean[i]).abs() < QUANTUM_M);
            }
            for (k, (i, j)) in [(0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)].into_iter().enumerate() {
                let direct = points.iter().map(|p| (p[i] - mean[i]) * (p[j] - mean[j])).sum::<f64>() / n;
                prop_assert!((sums.covariance()[k] - direct).abs() < 2e-4, "{} {}", sums.covariance()[k], direct);
            }
        }
    }
}
