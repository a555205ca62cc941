//! Options about experiments that confirm the verdict.

use crate::shape::Shape;
use crate::usage::Usage;
use crate::values::{MixFile, Route};
use clap::Args;
use model::load::{Arrival, Question, Stop};
use model::perturbation::{Confirm, Touch};

/// Pairs of blocks in each experiment: the fewest whose interval is narrow enough to say that
/// something has no effect when blocks agree within two or three percent.
const PAIRS: u32 = 4;
/// Longest window of a block, nanoseconds.
const BLOCK_MAX_NS: u64 = 2_000_000_000;

/// Whether and how the verdict is confirmed.
#[derive(Debug, Args)]
pub struct ConfirmOptions {
    /// Test the verdict by experiments at the best level: a resource is changed in short blocks,
    /// and the rate follows or does not (load and ramp)
    #[arg(long)]
    confirm: bool,

    /// With --confirm: a path on the same server with responses of another size
    #[arg(long, value_name = "PATH")]
    confirm_route: Option<Route>,

    /// With --confirm: experiments may lower the CPU quota and narrow the CPU mask of the server
    /// on this host, or on another one whose probe has started it; both are put back
    #[arg(long)]
    may_touch_server: bool,
}

impl ConfirmOptions {
    /// Whether experiments were asked for.
    pub fn is_given(&self) -> bool {
        self.confirm
    }

    /// The requested experiments, when they are possible for such a trial.
    pub fn resolve(&self, mix: Option<&MixFile>, shape: &Shape) -> Result<Option<Confirm>, Usage> {
        if !self.confirm {
            return match (self.may_touch_server, &self.confirm_route) {
                (true, _) => refuse("--may-touch-server is for the experiments of --confirm"),
                (_, Some(_)) => refuse("--confirm-route is for the experiments of --confirm"),
                (false, None) => Ok(None),
            };
        }
        match shape.question {
            Question::Load | Question::Ramp => {}
            Question::Find => {
                return refuse(
                    "--confirm: a search confirms its result by runs below and above it; to \
                     confirm the wall use load at that rate",
                );
            }
            Question::Fanout => {
                return refuse(
                    "--confirm: experiments compare requests per second, and fanout is about \
                     events",
                );
            }
            Question::Churn => {
                return refuse(
                    "--confirm: experiments compare requests per second on connections that \
                     stay, which churn does not have",
                );
            }
        }
        let is_constant = shape.levels.iter().all(|level| match &level.arrival {
            Arrival::Closed => true,
            Arrival::Open { curve, .. } => curve.constant_rate().is_some(),
        });
        if !is_constant {
            return refuse("--confirm: blocks are compared at one rate, not at one that changes");
        }
        if self.confirm_route.is_some() && mix.is_some() {
            return refuse("--confirm-route is compared with one URL, not with a mix (-i)");
        }
        let block_ns = match shape.stop {
            Stop::AfterNs(ns) => ns.min(BLOCK_MAX_NS),
            Stop::AfterRequests(_) => BLOCK_MAX_NS,
        };
        let touch = if self.may_touch_server { Touch::Server } else { Touch::ClientOnly };
        let route = self.confirm_route.as_ref().map(|route| route.0.clone());
        Ok(Some(Confirm { touch, route, pairs: PAIRS, block_ns }))
    }
}

fn refuse(why: &str) -> Result<Option<Confirm>, Usage> {
    let example = "for example ceiling ramp http://127.0.0.1:8083/ --confirm";
    Err(Usage(format!("{why}; {example}")))
}
