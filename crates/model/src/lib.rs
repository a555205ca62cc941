//! The data types that all crates of ceiling share.
//!
//! What this room is for: the plain values that all other rooms exchange, and their units.
//! In: numbers and strings. Out: typed values, and the record that other programs read.
//! Never: IO, a clock, a thread, or another crate of ours.

mod named;

pub mod host_header;
pub mod random;
pub mod root;
pub mod secret;
pub mod shell;
pub mod unit;
pub mod units;

pub mod call;
pub mod check;
pub mod comparison;
pub mod curve;
pub mod fanout;
pub mod fault;
pub mod field;
pub mod figure;
pub mod flow;
pub mod link;
pub mod load;
pub mod messages;
pub mod objective;
pub mod option;
pub mod order;
pub mod pass;
pub mod ports;
pub mod rate_syntax;
pub mod route;
pub mod sample;
pub mod search;
pub mod series;
pub mod slow;
pub mod streams;
pub mod tls;
pub mod tool;

pub mod dist;
pub mod histogram;
pub mod punctual;
pub mod tally;
pub mod tick;
pub mod users;

pub mod facts;
pub mod host_now;
pub mod metric;
pub mod reading;

mod agent_point;
pub mod checkup;
pub mod claim;
pub mod ending;
pub mod fleet;
pub mod kernel;
pub mod lost;
pub mod perturbation;
pub mod printable;
pub mod profile;
pub mod run;
pub mod size;
pub mod standing;
pub mod step;
pub mod subject;
pub mod tail;
pub mod verdict;
pub mod visit;
pub mod wall;

pub mod across;
pub mod advice;
pub mod analysis;
pub mod audit;
pub mod conclusion;
pub mod experiment;
pub mod inventory;
pub mod json;
pub mod maps;
pub mod starting;
pub mod tuning;

pub mod event;
