//! scratch
use e2bki::*;
fn floats(p: &str) -> Vec<f32> {
    std::fs::read(p).unwrap().chunks_exact(4).map(|c| f32::from_le_bytes(c.try_into().unwrap())).collect()
}
fn lines(p: &str) -> Vec<Vec<f64>> {
    std::fs::read_to_string(p)
        .unwrap()
        .lines()
        .map(|l| l.split_whitespace().filter_map(|t| t.parse().ok()).collect())
        .collect()
}
fn mul(a: [[f64; 4]; 4], b: [[f64; 4]; 4]) -> [[f64; 4]; 4] {
    std::array::from_fn(|i| std::array::from_fn(|j| (0..4).map(|k| a[i][k] * b[k][j]).sum()))
}
fn mat(v: &[f64]) -> [[f64; 4]; 4] {
    [[v[0], v[1], v[2], v[3]], [v[4], v[5], v[6], v[7]], [v[8], v[9], v[10], v[11]], [0., 0., 0., 1.]]
}
fn inv(m: [[f64; 4]; 4]) -> [[f64; 4]; 4] {
    let mut r = [[0.; 4]; 4];
    for i in 0..3 {
        for j in 0..3 {
            r[i][j] = m[j][i];
        }
        r[i][3] = -(0..3).map(|k| m[k][i] * m[k][3]).sum::<f64>();
    }
    r[3][3] = 1.;
    r
}
fn learn(raw: u32) -> u32 {
    match raw & 0xffff {
        10 | 252 => 0,
        11 => 1,
        15 => 2,
        18 | 258 => 3,
        13 | 16 | 20 | 256 | 257 | 259 => 4,
        30 | 254 => 5,
        31 | 253 => 6,
        32 | 255 => 7,
        40 | 60 => 8,
        44 => 9,
        48 => 10,
        49 => 11,
        50 => 12,
        51 => 13,
        70 => 14,
        71 => 15,
        72 => 16,
        80 => 17,
        81 => 18,
        _ => 99,
    }
}
struct F {
    points: Vec<[f32; 3]>,
    pred: Vec<u32>,
    gt: Vec<u32>,
    pose: Pose,
}
fn load() -> Vec<F> {
    let d = "../shared/data/semantickitti/sequences/08";
    let tr = mat(&lines(&format!("{d}/calib.txt"))[4]);
    let poses = lines(&format!("{d}/poses.txt"));
    (0..10)
        .map(|i| {
            let f = floats(&format!("{d}/velodyne/{i:06}.bin"));
            let u = |k: &str| -> Vec<u32> {
                std::fs::read(format!("{d}/{k}/{i:06}.label"))
                    .unwrap()
                    .chunks_exact(4)
                    .map(|c| learn(u32::from_le_bytes(c.try_into().unwrap())))
                    .collect()
            };
            F {
                points: f.chunks_exact(4).map(|c| [c[0], c[1], c[2]]).collect(),
                pred: u("predictions"),
                gt: u("labels"),
                pose: Pose::from_matrix({
                    let mut m = mul(inv(tr), mul(mat(&poses[i]), tr));
                    m[3] = [0., 0., 0., 1.];
                    m
                })
                .unwrap(),
            }
        })
        .collect()
}
fn main() {
    let frames = load();
    let mut config = Config::default();
    config.max_range = 50.0;
    for a in std::env::args().skip(1) {
        let (k, v) = a.split_once('=').unwrap();
        config.set_text(k, v).unwrap();
    }
    let classes = || ClassSet::from_names((0..19).map(|i| format!("c{i}"))).unwrap();
    let mut map = Mapper::new(classes(), config.clone()).unwrap();
    let mut tot = std::time::Duration::ZERO;
    for (i, f) in frames.iter().enumerate() {
        let r = map
            .insert(&Frame { points: &f.points, semantics: Semantics::Labels(&f.pred), world_from_sensor: f.pose })
            .unwrap();
        let t = r.timings;
        print!(
            "{i}: kept {} clusters {} gated {} folded {} pruned {} merged {} prims {} vox {} |",
            r.kept, r.clusters, r.gated, r.folded, r.pruned, r.merged, r.primitives, r.voxels_updated
        );
        for (n, d) in t.by_stage() {
            print!(" {n} {:.1}", d.as_secs_f64() * 1e3);
        }
        println!(" = {:.1} ms", t.total().as_secs_f64() * 1e3);
        if i > 0 {
            tot += t.total();
        }
    }
    println!(
        "mean {:.1} ms  bytes {:?} live voxels {}",
        tot.as_secs_f64() * 1e3 / 9.0,
        map.byte_size(),
        map.live_voxel_count()
    );
    // accuracy: frames 0 and 5 mapped, all queried; also even->odd
    for (name, mapped, asked) in
        [("0,5->all", vec![0, 5], (0..10).collect::<Vec<_>>()), ("even->odd", vec![0, 2, 4, 6, 8], vec![1, 3, 5, 7, 9])]
    {
        let mut map = Mapper::new(classes(), config.clone()).unwrap();
        for i in mapped {
            let f = &frames[i];
            map.insert(&Frame { points: &f.points, semantics: Semantics::Labels(&f.pred), world_from_sensor: f.pose })
                .unwrap();
        }
        let (mut inter, mut uni, mut correct, mut occ, mut n) = ([0u64; 19], [0u64; 19], 0u64, 0u64, 0u64);
        let mut present = [false; 19];
        let mut bs = 0.0;
        let mut bsv = 0.0;
        let mut bins = vec![(0.0, 0.0, 0.0); 15];
        let mut binv = vec![(0.0, 0.0, 0.0); 15];
        let mut qs: Vec<[f64; 3]> = vec![];
        let mut gt = vec![];
        for i in asked {
            let f = &frames[i];
            for (p, g) in f.points.iter().zip(&f.gt) {
                if *g < 19 && p.iter().map(|v| v * v).sum::<f32>() < 2500.0 {
                    let w = f.pose.apply(p.map(f64::from));
                    qs.push(w.map(|v| ((v / 0.2).floor() + 0.5) * 0.2));
                    gt.push(*g as usize);
                }
            }
        }
        let t = std::time::Instant::now();
        let b = map.query(&qs);
        let dt = t.elapsed().as_secs_f64();
        for (bel, g) in b.iter().zip(&gt) {
            n += 1;
            present[*g] = true;
            if let Some(l) = bel.label() {
                occ += 1;
                uni[*g] += 1;
                if l == *g {
                    inter[l] += 1;
                    correct += 1;
                } else {
                    uni[l] += 1;
                }
                let ok = (l == *g) as u8 as f64;
                let c = 1.0 - bel.uncertainty();
                bs += (ok - c).powi(2);
                let k = ((c * 15.0) as usize).min(14);
                bins[k].0 += 1.0;
                bins[k].1 += ok;
                bins[k].2 += c;
                let cv = 1.0 - (bel.variance() * 4.0).min(1.0);
                bsv += (ok - cv).powi(2);
                let k = ((cv * 15.0) as usize).min(14);
                binv[k].0 += 1.0;
                binv[k].1 += ok;
                binv[k].2 += cv;
            }
        }
        let ious: Vec<f64> = (0..19)
            .filter(|c| present[*c])
            .map(|c| if uni[c] > 0 { inter[c] as f64 / uni[c] as f64 } else { 0.0 })
            .collect();
        let ece = |b: &Vec<(f64, f64, f64)>| b.iter().map(|x| (x.1 - x.2).abs()).sum::<f64>() / occ as f64 * 100.0;
        println!(
            "{name}: prims {} mIoU {:.2} Acc {:.2} occ {:.1} BS {:.2} ECE {:.2} | var BS {:.2} ECE {:.2} | {:.2} Mq/s",
            map.len(),
            100.0 * ious.iter().sum::<f64>() / ious.len() as f64,
            100.0 * correct as f64 / n as f64,
            100.0 * occ as f64 / n as f64,
            100.0 * bs / occ as f64,
            ece(&bins),
            100.0 * bsv / occ as f64,
            ece(&binv),
            n as f64 / dt / 1e6
        );
    }
}
