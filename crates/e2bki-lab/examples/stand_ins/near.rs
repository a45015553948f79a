//! What lies near in town: why the nearest tenth of `kitti360-like` is nearer, and seen more from the front, than that of
//! KITTI-360.

use std::path::Path;

use anyhow::Result;
use e2bki_data::SemanticsSource;
use e2bki_sim::{Drive, Generation, Split, Standard, WorldProfile};

use crate::sample::{Sample, Seen};
use crate::{of_drive, real};

/// Prints shares and quantiles by class, and quantiles with things left out.
pub(crate) fn run(data: &Path) -> Result<()> {
    let options = Standard::KittiLike.drives_of(Generation::Matched, Split::Test)[0].options;
    let names: Vec<&str> = Drive::new(options)?.classes().iter().map(|class| class.name).collect();
    let made = of_drive(options)?;
    // The recording has no ground truth: a network's labels stand for it.
    let found = real(&data.join("kitti360"), 4, SemanticsSource::Labels("espnetv2_pred".into()))?;
    let Some(found) = found else {
        println!("No real frames: E2BKI_DATA does not name a folder that has them.");
        return Ok(());
    };
    let [near] = found.quantiles([10], |seen| Some(seen.range));
    let [frontal] = found.quantiles([10], |seen| seen.incidence);
    println!(
        "Nearer than {near:.2} m and seen at less than {frontal:.1}° is a tenth of the real points. Percent of all points:\n"
    );
    println!("| | simulated | real | nearer, simulated | real | at less, simulated | real |");
    println!("|--|--|--|--|--|--|--|");
    let none = names.len() as u32;
    for (class, name) in names.iter().copied().chain(["no class"]).enumerate() {
        let is = |seen: &Seen| seen.class.min(none) == class as u32;
        let cells = [&made, &found].map(|sample| {
            [
                sample.share(is),
                sample.share(|seen| is(seen) && seen.range < near),
                sample.share(|seen| is(seen) && seen.incidence.is_some_and(|angle| angle < frontal)),
            ]
        });
        let [ours, theirs] = cells;
        let cell = |k: usize| format!("{:.1} | {:.1}", ours[k], theirs[k]);
        println!("| {name} | {} | {} | {} |", cell(0), cell(1), cell(2));
    }

    println!("\n| simulated over real | range 10 % | 25 % | 50 % | incidence 10 % | 25 % | 50 % |");
    println!("|--|--|--|--|--|--|--|");
    let row = |name: &str, sample: &Sample, kept: &dyn Fn(&Seen) -> bool| {
        let part = |of: fn(&Seen) -> Option<f32>| {
            let quantiles = |s: &Sample| s.quantiles([10, 25, 50], |seen| of(seen).filter(|_| kept(seen)));
            let (ours, theirs) = (quantiles(sample), quantiles(&found));
            std::array::from_fn::<String, 3, _>(|k| format!("{:.2}", ours[k] / theirs[k])).join(" | ")
        };
        println!("| {name} | {} | {} |", part(|seen| Some(seen.range)), part(|seen| seen.incidence));
    };
    row("as it is", &made, &|_| true);
    let number = |name: &str| names.iter().position(|of| *of == name).map_or(none, |class| class as u32);
    let (car, truck, building) = (number("car"), number("truck"), number("building"));
    row("cars and trucks left out of both", &made, &|seen| seen.class != car && seen.class != truck);
    row("buildings left out of both", &made, &|seen| seen.class != building);
    row("all three left out of both", &made, &|seen| ![car, truck, building].contains(&seen.class));
    for (name, parked, moving) in
        [("half as many parked", 0.5, 1.0), ("nobody parked", 0.0, 1.0), ("nobody parked or driving", 0.0, 0.0)]
    {
        let mut fewer = options;
        if let WorldProfile::Urban(profile) = &mut fewer.world {
            profile.parked_share *= parked;
            profile.traffic *= moving;
        }
        row(name, &of_drive(fewer)?, &|_| true);
    }
    Ok(())
}
