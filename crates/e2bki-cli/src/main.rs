//! The program `e2bki`.
fn main() {}
