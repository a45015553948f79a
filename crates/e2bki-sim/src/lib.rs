//! e2bki-sim
