//! Clustering of one class's points.
