//! The baselines as run-time values.

use e2bki::{ClassSet, Config, Result, SemanticMapper};

use crate::methods::{ConvBki, Dst, Ebs, SBki, SCsm, SeeCsom};
use crate::options::BuildOptions;

/// A method to compare with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Baseline {
    /// [`SCsm`].
    SCsm,
    /// [`SBki`].
    SBki,
    /// [`SeeCsom`].
    SeeCsom,
    /// [`ConvBki`], with kernels of 0.5 m unless learned ones are given to it directly.
    ConvBki,
    /// [`Ebs`].
    Ebs,
    /// [`Dst`].
    Dst,
}

impl Baseline {
    /// All of them, in the order of the paper's tables.
    pub const ALL: [Self; 6] = [Self::SCsm, Self::SBki, Self::SeeCsom, Self::ConvBki, Self::Ebs, Self::Dst];

    /// The name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::SCsm => "S-CSM",
            Self::SBki => "S-BKI",
            Self::SeeCsom => "SEE-CSOM",
            Self::ConvBki => "ConvBKI",
            Self::Ebs => "EBS",
            Self::Dst => "DST",
        }
    }

    /// The baseline of that name; case and punctuation do not matter.
    ///
    /// ```
    /// use e2bki_baselines::Baseline;
    /// assert_eq!(Baseline::from_name("sbki"), Some(Baseline::SBki));
    /// assert_eq!(Baseline::from_name("See_CSOM"), Some(Baseline::SeeCsom));
    /// assert_eq!(Baseline::from_name("octomap"), None);
    /// ```
    pub fn from_name(name: &str) -> Option<Self> {
        let letters =
            |s: &str| s.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect::<String>();
        Self::ALL.into_iter().find(|baseline| letters(baseline.name()) == letters(name))
    }

    /// An empty map, without a bird's-eye view.
    pub fn build(self, classes: ClassSet, config: &Config) -> Result<Box<dyn SemanticMapper>> {
        self.build_with(classes, config, BuildOptions::default())
    }

    /// An empty map with options.
    pub fn build_with(
        self,
        classes: ClassSet,
        config: &Config,
        options: BuildOptions,
    ) -> Result<Box<dyn SemanticMapper>> {
        Ok(match self {
            Self::SCsm => Box::new(SCsm::with_options(classes, config, options)?),
            Self::SBki => Box::new(SBki::with_options(classes, config, options)?),
            Self::SeeCsom => Box::new(SeeCsom::with_options(classes, config, options)?),
            Self::ConvBki => Box::new(ConvBki::with_options(classes, config, options)?),
            Self::Ebs => Box::new(Ebs::with_options(classes, config, options)?),
            Self::Dst => Box::new(Dst::with_options(classes, config, options)?),
        })
    }
}
