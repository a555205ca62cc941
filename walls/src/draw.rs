//! Draws: a scenario with random parameters, run, proven and kept.

use crate::catalogue;
use crate::dice::Dice;
use crate::label::Label;
use crate::options::{Family, Hosts, Noise, RunOptions, Watch};
use crate::perform::perform;
use crate::proof::Tested;
use crate::scenario::Scenario;
use crate::score::verdict_words;
use crate::stage;
use anyhow::{Context, Result, bail};
use signal_hook::consts::{SIGINT, SIGTERM};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// Runs the requested draws.
pub fn run_all(options: &RunOptions) -> Result<()> {
    if !rustix::process::geteuid().is_root() {
        bail!("namespaces and control groups need root; for example sudo make walls");
    }
    if options.family.hosts() == Hosts::Machines && options.watch != Watch::Probe {
        bail!("with two machines only a probe on the server's machine can watch the server");
    }
    if options.family.hosts() == Hosts::Machines && options.noise != Noise::Quiet {
        bail!("two machines have no noise of their own yet: leave out --noise");
    }
    let chosen = chosen(&options.only, options.family)?;
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, stop.clone())?;
    }
    stage::sweep();
    for scenario in chosen {
        for draw in 0..options.draws {
            let begin = Instant::now();
            let outcome = one(scenario, draw, options, &stop);
            if stop.load(Ordering::Relaxed) {
                bail!("stopped; the runs so far are in {}", options.keep.display());
            }
            let outcome = match outcome {
                Ok(label) => result_line(&label, &options.keep),
                Err(error) => format!("FAILED {error:#}"),
            };
            let seconds = begin.elapsed().as_secs_f64();
            println!("{:<22} {draw:>3}  {seconds:>5.1} s  {outcome}", scenario.name);
        }
    }
    Ok(())
}

fn chosen(names: &[String], family: Family) -> Result<Vec<&'static Scenario>> {
    if names.is_empty() {
        return Ok(family.scenarios().to_vec());
    }
    let find = |name: &String| {
        catalogue::find(name).with_context(|| format!("no scenario '{name}'; walls list has them"))
    };
    names.iter().map(find).collect()
}

/// Folder of a draw.
fn folder(keep: &Path, scenario: &str, seed: u64, draw: u32) -> PathBuf {
    keep.join(format!("{scenario}-{seed}-{draw}"))
}

/// Emulated machines are several times slower.
const PATIENCE_OF_MACHINES: f64 = 4.0;

/// A slow probe reads less often, and a level must have two readings.
const LEVEL_OF_MACHINES_S: f64 = 3.0;

/// The dice of a draw.
fn dice(scenario: &Scenario, draw: u32, options: &RunOptions) -> Dice {
    let mut dice = Dice::new(options.seed, scenario.name, draw);
    if options.family.hosts() == Hosts::Machines {
        dice.patience = PATIENCE_OF_MACHINES;
    }
    dice
}

/// Runs, proves and keeps one draw.
pub fn one(
    scenario: &Scenario,
    draw: u32,
    options: &RunOptions,
    stop: &AtomicBool,
) -> Result<Label> {
    let folder = folder(&options.keep, scenario.name, options.seed, draw);
    if folder.exists() {
        fs::remove_dir_all(&folder)
            .with_context(|| format!("cannot clear {}", folder.display()))?;
    }
    let mut dice = dice(scenario, draw, options);
    let mut setup = (scenario.set_up)(&mut dice, 1.0).beside(options.noise);
    if options.family.hosts() == Hosts::Machines {
        setup = setup.lasting(LEVEL_OF_MACHINES_S);
    }
    let words = [&setup.client.words[..], &options.with].concat();
    let kept = perform(&setup, &words, options, &folder.join("runs"))?;
    let measure = scenario.proof.measure();
    let mut label = Label {
        scenario: scenario.name.to_owned(),
        truth: scenario.truth.word(),
        seed: options.seed,
        draw,
        parameters: dice.drawn(),
        run: kept.directory.as_deref().and_then(|run| relative(run, &folder)),
        inside: kept.inside.as_deref().and_then(|run| relative(run, &folder)),
        code: kept.code,
        watch: setup.watched(options.watch),
        hosts: options.family.hosts(),
        noise: options.noise,
        said: kept.stderr,
        tested: None,
    };
    if let Some(proven) = &options.proven_in {
        label.tested =
            Label::read(&self::folder(proven, scenario.name, options.seed, draw))?.tested;
    } else if !options.no_proof && !stop.load(Ordering::Relaxed) {
        let is_same =
            setup.client.words == setup.client.proof_words && options.noise == Noise::Quiet;
        let at_one = kept.record.as_ref().and_then(|record| measure.of(record));
        let at_one = if is_same { at_one } else { prove(scenario, draw, 1.0, options)? };
        label.tested = Some(test(scenario, draw, at_one, options, stop)?);
    }
    // An interrupted draw has an incomplete run or proof: it leaves no label.
    if !stop.load(Ordering::Relaxed) {
        label.write(&folder)?;
    }
    Ok(label)
}

fn relative(run: &Path, folder: &Path) -> Option<String> {
    Some(run.strip_prefix(folder).ok()?.display().to_string())
}

/// The further runs that prove the label of the kept run.
fn test(
    scenario: &Scenario,
    draw: u32,
    at_one: Option<f64>,
    options: &RunOptions,
    stop: &AtomicBool,
) -> Result<Tested> {
    let mut others = Vec::new();
    for factor in scenario.proof.factors() {
        if !stop.load(Ordering::Relaxed) {
            others.push((*factor, prove(scenario, draw, *factor, options)?));
        }
    }
    Ok(scenario.proof.decide(at_one, &others))
}

/// The result with the limit of the same draw multiplied by a factor.
fn prove(scenario: &Scenario, draw: u32, factor: f64, options: &RunOptions) -> Result<Option<f64>> {
    let mut dice = dice(scenario, draw, options);
    let setup = (scenario.set_up)(&mut dice, factor);
    let folder = folder(&options.keep, scenario.name, options.seed, draw).join("proof");
    let done = perform(&setup, &setup.client.proof_words, options, &folder)?;
    fs::remove_dir_all(&folder).with_context(|| format!("cannot clear {}", folder.display()))?;
    Ok(done.record.and_then(|record| scenario.proof.measure().of(&record)))
}

/// The result of a draw, in a line.
fn result_line(label: &Label, keep: &Path) -> String {
    let Some(run) = &label.run else {
        return format!("no record, exit {:?}: {}", label.code, label.said.trim());
    };
    let run = folder(keep, &label.scenario, label.seed, label.draw).join(run);
    let verdict = store::read(&run).map(|run| {
        let scenario = catalogue::find(&label.scenario);
        scenario.map_or_else(String::new, |scenario| verdict_words(scenario.truth, &run.record))
    });
    let verdict = verdict.unwrap_or_else(|error| error.to_string());
    let proof = match &label.tested {
        None => "label not tested".to_owned(),
        Some(tested) => {
            let shown = |(factor, result): &(f64, Option<f64>)| match result {
                Some(result) => format!("x{factor} {result:.1}"),
                None => format!("x{factor} -"),
            };
            let results: Vec<_> = tested.results.iter().map(shown).collect();
            let word = if tested.holds { "holds" } else { "VOID" };
            format!("label {word}: {:?} {}", tested.measure, results.join(", "))
        }
    };
    format!("truth {:<8} said {verdict}; {proof}", label.truth)
}
