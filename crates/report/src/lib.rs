//! Drawings of a run: text for terminals, one HTML file, and tables for other programs.
//!
//! What this room is for: one page per run, the same in every renderer, and exports for programs.
//! In: a run with its verdict. Out: text, HTML, JSON, CSV, and an HdrHistogram log.
//! Never: statistics, rates or opinions of its own. It draws what judge decided and what observe
//! made of the readings.

pub mod page;

pub mod sections;

pub mod text;

pub mod html;

pub mod ci;
pub mod csv;
pub mod hlog;
#[cfg(test)]
mod names;

pub mod progress;

mod axis;
mod export;
mod hosts;
pub mod story;
mod wording;
mod wrap;

#[cfg(any(test, feature = "fixtures"))]
pub mod fixtures;

pub use export::{Format, UnknownSuffix, render};
pub use html::{html_across, html_beside, html_compared, html_experiment};
pub use sections::{Detail, bound_line, decided, figures, is_expected, so_far};
pub use text::{
    Letters, Paint, PassDetail, Style, text, text_across, text_advice, text_audit, text_beside,
    text_calibration, text_checkup, text_compared, text_experiment, text_hosts, text_inventory,
    text_pass_end, text_sizing, text_taken,
};
pub use wrap::wrap;
