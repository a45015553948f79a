//! Step 4, gate: which of a frame's primitives are too uncertain to keep (paper: U_thr; docs/method.md#gate-by-rank).
//!
//! Ranked by ln u: u itself underflows for primitives of a few dozen points, and they would all tie.

use crate::config::{Config, Gate};
use crate::map::Batch;

/// Whether each primitive of a frame passes.
pub(crate) fn passes(batch: &Batch, config: &Config) -> Vec<bool> {
    let dynamic = match config.fusion.gate {
        Gate::Dynamic | Gate::Hybrid => dynamic_threshold(batch, config.fusion.drop_uncertain),
        Gate::Static | Gate::Off => f32::INFINITY,
    };
    let fixed = match config.fusion.gate {
        Gate::Static | Gate::Hybrid => config.fusion.max_uncertainty as f32,
        Gate::Dynamic | Gate::Off => f32::INFINITY,
    };
    batch.cores.iter().map(|core| core.ln_uncertainty <= dynamic && core.uncertainty <= fixed).collect()
}

/// Value at index ⌊J(1−ũ)⌋ of ln u in ascending order; everything up to it, ties included, passes.
fn dynamic_threshold(batch: &Batch, drop: f64) -> f32 {
    let mut values: Vec<f32> = batch.cores.iter().map(|core| core.ln_uncertainty).collect();
    let index = (values.len() as f64 * (1.0 - drop)) as usize;
    if index >= values.len() {
        return f32::INFINITY;
    }
    *values.select_nth_unstable_by(index, f32::total_cmp).1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::map::Core;
    use crate::primitive::Sums;

    fn batch(uncertainties: &[f64]) -> Batch {
        let core = |u: &f64| Core {
            uncertainty: *u as f32,
            ln_uncertainty: u.ln() as f32,
            ..Core::of_sums(Sums { weight: 1.0, ..Sums::about([0; 3]) })
        };
        Batch { cores: uncertainties.iter().map(core).collect(), ..Batch::default() }
    }

    fn kept(uncertainties: &[f64], config: &Config) -> usize {
        passes(&batch(uncertainties), config).iter().filter(|pass| **pass).count()
    }

    #[test]
    fn gates_follow_their_rules_also_for_ties_one_and_none() {
        let ramp: Vec<f64> = (1..=20).map(|i| f64::from(i) / 20.0).collect();
        let config = Config::default().with(|c| c.fusion.drop_uncertain = 0.25);
        assert_eq!(kept(&ramp, &config), 16);
        assert_eq!(kept(&[0.5; 9], &config), 9);
        assert_eq!(kept(&[0.9], &config), 1);
        assert_eq!(kept(&[], &config), 0);
        assert_eq!(kept(&ramp, &config.clone().with(|c| c.fusion.drop_uncertain = 0.0)), 20);
        let fixed = config.clone().with(|c| {
            c.fusion.gate = Gate::Static;
            c.fusion.max_uncertainty = 0.5;
        });
        assert_eq!(kept(&ramp, &fixed), 10);
        assert_eq!(kept(&ramp, &fixed.with(|c| c.fusion.gate = Gate::Hybrid)), 10);
        assert_eq!(
            kept(
                &ramp,
                &config.clone().with(|c| {
                    c.fusion.gate = Gate::Hybrid;
                    c.fusion.max_uncertainty = 0.95;
                })
            ),
            16
        );
        assert_eq!(kept(&ramp, &config.with(|c| c.fusion.gate = Gate::Off)), 20);
        // Uncertainties far below the smallest f64 still rank.
        let tiny = Batch {
            cores: (0..10)
                .map(|i| Core { ln_uncertainty: -1e5 - i as f32, uncertainty: 0.0, ..batch(&[1.0]).cores[0].clone() })
                .collect(),
            ..Batch::default()
        };
        let passed = passes(&tiny, &Config::default().with(|c| c.fusion.drop_uncertain = 0.3));
        assert_eq!(passed, [false, false, true, true, true, true, true, true, true, true]);
    }
}
