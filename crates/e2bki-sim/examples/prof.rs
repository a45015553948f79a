//! temporary
use e2bki_sim::*;
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let kind: WorldKind = a[1].parse().unwrap();
    let mut o = DriveOptions::new(kind, 1, Sensor::Os1_64);
    o.columns = Some(1024);
    o.image_width = 640; o.camera = CameraKind::Rellis;
    let d = Drive::new(o).unwrap();
    let n: usize = a[3].parse().unwrap();
    for k in 0..n { if a[2]=="lidar" { d.frame(k); } else { d.image(k); } }
}
