//! Which figures of an experiment's visits are compared, and what a comparison shows.

use serde::{Deserialize, Serialize};

crate::named! {
    /// What a contrast shows, at a risk of 5 % for all contrasts of its figure together.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Conclusion {
        /// The figure is larger.
        More = "more",
        /// It is smaller.
        Less = "less",
        /// It differs by less than the share of the design.
        Same = "same",
        /// None of these is shown.
        Undecided = "undecided",
    }
    /// In a word.
    fn word;
}
