//! Evidence from the kernel: one more visit of the best level, with programs in the kernel.
//!
//! The programs cost something at each switch of a thread and each request, so no measured window
//! has them. They are loaded before the visit and attached inside its window.

use crate::crews::Crews;
use crate::error::LabError;
use crate::level::{LevelContext, visit};
use crate::point;
use crate::profiled::best;
use crate::record::RunBuilder;
use crate::setting::Setting;
use kernel::{Asked, Watch};
use model::event::Event;
use model::kernel::{KernelReadings, KernelRecord};
use model::route::Address;
use model::run::{Outcome, Target};
use model::units::NS_PER_MS;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// The programs are attached this long after the window begins, and detached as long before it
/// ends, nanoseconds: both take a while, and the load is then steady.
const MARGIN_NS: u64 = 100 * NS_PER_MS;
const _: () = assert!(plan::PROFILED_WINDOW_MIN_NS > 10 * MARGIN_NS);
/// How often the thread that attaches them looks whether the visit has ended early.
const LOOK: Duration = Duration::from_millis(20);

/// Programs for the window of one visit.
pub(crate) struct Watcher {
    /// Loaded, until the window begins.
    loaded: Option<Watch>,
    is_over: Arc<AtomicBool>,
    attached: Option<JoinHandle<KernelReadings>>,
}

impl Watcher {
    /// Loads the programs.
    fn load(asked: Asked) -> Self {
        Self { loaded: Some(Watch::load(asked)), is_over: Arc::default(), attached: None }
    }

    /// Attaches the programs inside a window. Returns at once.
    pub(crate) fn start(&mut self, (begin_ns, end_ns): (u64, u64)) {
        let Some(mut watch) = self.loaded.take() else { return };
        let is_over = Arc::clone(&self.is_over);
        self.attached = Some(thread::spawn(move || {
            let now_ns = engine::clock::now_ns;
            let sleep_until = |until_ns: u64| {
                while now_ns() < until_ns && !is_over.load(Ordering::Relaxed) {
                    let left = Duration::from_nanos(until_ns.saturating_sub(now_ns()));
                    thread::sleep(left.min(LOOK));
                }
            };
            sleep_until(begin_ns + MARGIN_NS);
            watch.attach(now_ns);
            sleep_until(end_ns.saturating_sub(MARGIN_NS));
            watch.finish(now_ns)
        }));
    }

    /// What the programs saw; none when no window began.
    fn finish(self) -> Option<KernelReadings> {
        self.is_over.store(true, Ordering::Relaxed);
        self.attached?.join().ok()
    }
}

/// Visits the best level once more with programs in the kernel, if requested.
pub(crate) fn run(
    run: &mut RunBuilder<'_>,
    context: &mut LevelContext<'_, '_>,
) -> Result<(), LabError> {
    let is_model = matches!(run.setting, Setting::Model(_));
    if run.trial.evidence.is_none() || is_model || run.outcome != Outcome::Complete {
        return Ok(());
    }
    let asked = match asked(&run.target, run.trial.addresses.first()) {
        Ok(asked) => asked,
        Err(why) => {
            run.notice(format!("no evidence from the kernel: {why}"), context.notify);
            return Ok(());
        }
    };
    let Some(at) = best(run) else { return Ok(()) };
    let level = run.levels[at].clone();
    let what = "a visit of the best level with programs in the kernel".to_string();
    (context.notify)(Event::Block { what, block: 1, of: 1 });
    let crews = Crews::of(run.trial, &level);
    context.evidence = Some(Watcher::load(asked));
    // After that of a profile.
    let visited = visit(context, &crews, run.levels.len() as u32 + 2)?;
    let readings = context.evidence.take().and_then(Watcher::finish);
    run.outcome = visited.ending;
    let window_ns = visited.window_ns();
    let (Some(readings), true) = (readings, window_ns.0 < window_ns.1) else { return Ok(()) };
    let observed = run.observe(context.watch, window_ns);
    let point = point::make(run.trial, &crews.asking, 1, &visited, &observed);
    for lacking in &readings.unreadable {
        let text = format!("not read from the kernel: {}: {}", lacking.what, lacking.why);
        run.notice(text, context.notify);
    }
    run.kernel = Some(KernelRecord {
        point: at,
        rate: point.rate,
        answered_rate: point.answered_rate(),
        in_flight: point.in_flight.mean,
        readings,
    });
    Ok(())
}

/// The server's processes on this host, and its port.
fn asked(target: &Target, address: Option<&Address>) -> Result<Asked, String> {
    let Some(server) = target.server.as_ref() else {
        return Err("the server's process is not known on this host; --server-pid names it, and \
                    for a server on another host run ceiling there"
            .to_string());
    };
    Ok(Asked { pids: server.pids.clone(), port: address.and_then(Address::port) })
}
