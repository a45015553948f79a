//! temporary
use e2bki_sim::*;
fn main() {
    for st in [Standard::RellisLike, Standard::OffroadLike, Standard::KittiLike] { for sp in [Split::Train, Split::Validation, Split::Test] { for d in st.drives(sp) {
        let mut o = d.options; o.columns = Some(512);
        let drive = Drive::new(o).unwrap();
        let mut c = vec![0usize; drive.classes().len()]; let mut n = 0;
        for f in (0..400).step_by(20) { for l in drive.frame(f).labels { if l != VOID { c[l as usize] += 1; } n += 1; } }
        println!("{st:?} {sp:?} {}", c.iter().zip(drive.classes()).map(|(k, i)| format!("{} {:.2}", i.name, 100.0 * *k as f64 / n as f64)).collect::<Vec<_>>().join("  "));
    }}}
}
