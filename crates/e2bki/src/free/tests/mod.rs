//! The test of cubes against a direct reading of its rule, and the algebra of the counters.

mod algebra;
mod oracle;
mod scans;
mod sensors;
