//! x
#[cfg(feature = "dds")]
pub use ros2_client::Context;
