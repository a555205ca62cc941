//! Exports settings in the forms in which operators keep them; ceiling itself makes nothing
//! permanent.

use crate::error::TuneError;
use crate::host::Host;
use crate::journal::{Begin, Journal, Recorded, Story};
use crate::place::{Place, Seen};
use crate::plan::{Change, Planned};
use std::fmt::Write;

/// What an operator keeps settings in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// A file for `/etc/sysctl.d`: kernel parameters.
    Sysctl,
    /// Rules for `/etc/udev/rules.d`: files of network devices.
    Udev,
    /// A unit for `/etc/systemd/system`: everything that is a file.
    Systemd,
    /// A shell script with `apply` and `revert`: everything that is a file.
    Shell,
}

/// One value to keep.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Durable {
    /// Id of the knob.
    pub knob: String,
    /// Its name.
    pub name: String,
    /// The place of the value.
    pub place: Place,
    /// The value to write, normalised.
    pub wanted: String,
    /// The value before.
    pub before: Seen,
    /// The name of an interrupt: its number may be another after a restart.
    pub interrupt: Option<String>,
    /// Why no file that the host reads at its start may set it.
    pub why_not: Option<String>,
}

impl Durable {
    /// What a plan would write.
    pub fn of_plan(host: &Host, planned: &[Planned]) -> Vec<Self> {
        let of = |Planned { row, change }: &Planned| {
            let Change { place, wanted, seen } = change.clone()?;
            let why_not = elsewhere(host, &place, &host.namespace);
            Some(Self {
                knob: row.knob.clone(),
                name: row.name.clone(),
                interrupt: name_of(host, &place),
                why_not,
                place,
                wanted,
                before: seen,
            })
        };
        planned.iter().filter_map(of).collect()
    }

    /// Changes that are applied and not put back, the oldest first.
    pub fn applied(host: &Host, journal: &Journal) -> Result<Vec<Self>, TuneError> {
        let (stories, damaged) = journal.stories()?;
        if let Some(error) = damaged.into_iter().next() {
            return Err(error);
        }
        let mut all = Vec::new();
        for Story { header, changes, .. } in stories.iter().rev() {
            let is_left = |change: &&Recorded| change.ended.is_none() && change.written.is_some();
            for Begin { knob, name, place, wanted, before, .. } in
                changes.iter().filter(is_left).map(|change| &change.begin)
            {
                let is_lost = header.boot_id != host.boot_id;
                let lost = || "the host was restarted since: it is not applied".to_string();
                let why_not = is_lost.then(lost);
                all.push(Self {
                    knob: knob.clone(),
                    name: name.clone(),
                    place: place.clone(),
                    wanted: wanted.clone(),
                    before: before.clone(),
                    interrupt: name_of(host, place),
                    why_not: why_not.or_else(|| elsewhere(host, place, &header.namespace)),
                });
            }
        }
        Ok(all)
    }

    /// The file and the bytes for this value and for the one before; or why there are none.
    fn lines(&self) -> Result<Lines, String> {
        let Place::File { path, format } = &self.place else {
            return Err("it is not a file".to_string());
        };
        if let Some(why) = &self.why_not {
            return Err(why.clone());
        }
        if !self.place.in_control_groups().is_empty() {
            let why = "its control group is made anew at each start; set it where that is made";
            return Err(why.to_string());
        }
        let interrupt = self.interrupt.clone();
        if path.starts_with(INTERRUPTS) && interrupt.is_none() {
            let why = "its number may be another after a restart, and no name tells it apart";
            return Err(why.to_string());
        }
        let wanted = format.bytes(&self.wanted, &self.before.raw);
        let before = format.bytes(&self.before.value, &self.before.raw);
        let texts = [path, &wanted, &before].into_iter().chain(&interrupt);
        if texts.into_iter().any(|text| !is_plain(text)) {
            return Err("it has characters that do not belong in such a file".to_string());
        }
        Ok(Lines { path: path.clone(), wanted, before, interrupt })
    }

    fn title(&self) -> String {
        let plain = |text: &str| {
            let is_kept = |sign: &char| !sign.is_control() && *sign != '\\';
            text.chars().filter(is_kept).collect::<String>()
        };
        format!("{} {}", plain(&self.knob), plain(&self.name))
    }

    fn shown(&self) -> String {
        self.place.show().chars().filter(|sign| !sign.is_control()).collect()
    }
}

struct Lines {
    path: String,
    wanted: String,
    before: String,
    interrupt: Option<String>,
}

impl Lines {
    /// The command of a shell that writes a value. An interrupt is found by the folder that has its
    /// name; with none or several there, it fails. `cd` of dash takes the first of several, so they
    /// are counted before.
    fn command(&self, value: &str) -> String {
        let Self { path, interrupt, .. } = self;
        match (interrupt, path.rsplit_once('/')) {
            (Some(name), Some((_, file))) => {
                let folder = format!("{INTERRUPTS}*/'{name}'");
                let several = format!("{{ echo 'several interrupts: {name}' >&2; exit 1; }}");
                format!(
                    "(set -- {folder}; [ $# -eq 1 ] || {several}; \
                     cd {folder}/.. && echo '{value}' > {file})"
                )
            }
            _ => format!("echo '{value}' > '{path}'"),
        }
    }
}

const INTERRUPTS: &str = "/proc/irq/";

/// The name of the interrupt that a place belongs to, when no other has it: the kernel makes a
/// folder with that name below its number.
fn name_of(host: &Host, place: &Place) -> Option<String> {
    let irq = place.path()?.strip_prefix(INTERRUPTS)?.split('/').next()?;
    let has = |irq: &str, name: &str| host.root.path(format!("{INTERRUPTS}{irq}/{name}")).is_dir();
    let all = host.names_in(INTERRUPTS);
    let is_only =
        |name: &String| has(irq, name) && all.iter().filter(|irq| has(irq, name)).count() == 1;
    host.names_in(&format!("{INTERRUPTS}{irq}")).into_iter().find(is_only)
}

/// Why a value of this network namespace is none of the host's own.
fn elsewhere(host: &Host, place: &Place, namespace: &str) -> Option<String> {
    let is_hosts = host.is_initial_namespace && host.namespace == namespace;
    (place.is_of_network_namespace() && !is_hosts).then(|| {
        format!("it is of network namespace {namespace}, and such a file is for the host's own")
    })
}

/// Whether a text is literal in every form: no quotes, no expansions, no line ends.
fn is_plain(text: &str) -> bool {
    text.chars().all(|sign| sign.is_ascii_alphanumeric() || " \t_.,:/=+-@".contains(sign))
}

/// Settings in one format. A setting that the format cannot express becomes a comment, never a gap.
pub fn export(settings: &[Durable], form: Form) -> String {
    match form {
        Form::Sysctl => sysctl(settings),
        Form::Udev => udev(settings),
        Form::Systemd => systemd(settings),
        Form::Shell => shell(settings),
    }
}

fn head(form: &str) -> String {
    format!("# Written by ceiling tune export: {form}. Read it before you keep it.\n")
}

fn cannot(setting: &Durable, why: &str) -> String {
    let why: String = why.chars().filter(|sign| !sign.is_control()).collect();
    format!("# not here: {} {}: {why}\n", setting.title(), setting.shown())
}

fn sysctl(settings: &[Durable]) -> String {
    let mut text = head("for /etc/sysctl.d/90-ceiling.conf");
    for setting in settings {
        match setting
            .lines()
            .map(|lines| (lines.path.strip_prefix("/proc/sys/").map(str::to_string), lines))
        {
            Ok((Some(name), lines)) => {
                let _ = writeln!(text, "\n# {}, was {}", setting.title(), lines.before);
                // With slashes, because names of devices may have dots.
                let _ = writeln!(text, "{name} = {}", lines.wanted);
            }
            Ok((None, _)) => text += &cannot(setting, "it is not a kernel parameter; see systemd"),
            Err(why) => text += &cannot(setting, &why),
        }
    }
    text
}

fn udev(settings: &[Durable]) -> String {
    let mut text = head("for /etc/udev/rules.d/90-ceiling.rules");
    for setting in settings {
        let lines = setting.lines();
        let device = lines
            .as_ref()
            .ok()
            .and_then(|lines| lines.path.strip_prefix("/sys/class/net/")?.split_once('/'));
        match (&lines, device) {
            // A device that gets another name after it was added is moved to it.
            (Ok(lines), Some((device, file))) => {
                let _ = writeln!(text, "\n# {}, was {}", setting.title(), lines.before);
                let _ = writeln!(
                    text,
                    "ACTION==\"add|move\", SUBSYSTEM==\"net\", KERNEL==\"{device}\", \
                     ATTR{{{file}}}=\"{}\"",
                    lines.wanted
                );
            }
            (Ok(_), None) => {
                text += &cannot(setting, "it is not a file of a network device; see systemd");
            }
            (Err(why), _) => text += &cannot(setting, why),
        }
    }
    text
}

fn systemd(settings: &[Durable]) -> String {
    let mut text = head("for /etc/systemd/system/ceiling-tune.service");
    let (mut start, mut stop) = (String::new(), Vec::new());
    for setting in settings {
        match setting.lines() {
            Ok(lines) => {
                // systemd replaces what follows a single dollar sign.
                let command = |value: &str| lines.command(value).replace('$', "$$");
                let (wanted, before) = (command(&lines.wanted), command(&lines.before));
                let _ = writeln!(start, "# {}", setting.title());
                let _ = writeln!(start, "ExecStart=/bin/sh -c \"{wanted}\"");
                // Also after a start that failed, and past one that fails itself.
                stop.push(format!("ExecStopPost=-/bin/sh -c \"{before}\"\n"));
            }
            Err(why) => text += &cannot(setting, &why),
        }
    }
    stop.reverse();
    text + "\n[Unit]\nDescription=Settings that ceiling tune exported\n"
        + "After=network-online.target\nWants=network-online.target\n"
        + "\n[Service]\nType=oneshot\nRemainAfterExit=yes\n"
        + &start
        + &stop.concat()
        + "\n[Install]\nWantedBy=multi-user.target\n"
}

fn shell(settings: &[Durable]) -> String {
    let mut text = "#!/bin/sh\n".to_string() + &head("sh FILE apply, or sh FILE revert, as root");
    let (mut apply, mut revert) = (String::new(), Vec::new());
    for setting in settings {
        match setting.lines() {
            Ok(lines) => {
                let _ = writeln!(apply, "    # {}", setting.title());
                let _ = writeln!(apply, "    {}", lines.command(&lines.wanted));
                revert.push(format!("    {}\n", lines.command(&lines.before)));
            }
            Err(why) => text += &cannot(setting, &why),
        }
    }
    revert.reverse();
    let body = |lines: &str| if lines.is_empty() { "    :\n".to_string() } else { lines.into() };
    text + "set -e\n\ncase \"$1\" in\napply)\n"
        + &body(&apply)
        // What is left is put back past one that fails.
        + "    ;;\nrevert)\n    set +e\n"
        + &body(&revert.concat())
        + "    ;;\n*)\n    echo \"usage: sh $0 apply|revert\" >&2\n    exit 2\n    ;;\nesac\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::place::Format;
    use crate::testing::MadeUp;

    fn setting(knob: &str, name: &str, place: Place, raw: &str, wanted: &str) -> Durable {
        let value = match &place {
            Place::File { format, .. } => format.normalise(raw).unwrap(),
            _ => raw.to_string(),
        };
        let before = Seen { raw: format!("{raw}\n"), value };
        let (knob, name, wanted) = (knob.to_string(), name.to_string(), wanted.to_string());
        Durable { knob, name, place, wanted, before, interrupt: None, why_not: None }
    }

    fn settings() -> Vec<Durable> {
        let file = |path: &str, format| Place::File { path: path.to_string(), format };
        let rps = file("/sys/class/net/eth0.7/queues/rx-0/rps_cpus", Format::Mask);
        let somaxconn = file("/proc/sys/net/core/somaxconn", Format::Number);
        let buffers = file("/proc/sys/net/ipv4/tcp_rmem", Format::Numbers);
        let affinity = |irq: u32| file(&format!("/proc/irq/{irq}/smp_affinity_list"), Format::List);
        let pin = |irq| setting("T1", "irq-affinity", affinity(irq), "0-3", "2");
        let named = |irq, name: &str| Durable { interrupt: Some(name.into()), ..pin(irq) };
        let group = file("/sys/fs/cgroup/a/cpu.max", Format::Word);
        let lowat = file("/proc/sys/net/ipv4/tcp_notsent_lowat", Format::Number);
        let lowat = setting("T42", "notsent-lowat", lowat, "1", "2");
        let hostile = file("/sys/class/net/x'; reboot #/threaded", Format::Number);
        vec![
            setting("T5", "rps", rps, "00000000,00000000", "0-3"),
            setting("T29", "somaxconn", somaxconn, "4096", "16384"),
            setting("T41", "buffers", buffers, "4096\t131072\t6291456", "4096 131072 33554432"),
            named(30, "eth0-TxRx-0"),
            pin(31),
            named(32, "x'; reboot #"),
            setting("T58", "cpu-quota", group, "max 1", "2 1"),
            Durable { why_not: Some("it is of\nreboot".into()), ..lowat },
            setting("T18", "offloads", Place::Qdisc { device: "eth0".into() }, "fq", "mq"),
            setting("T11", "threaded-napi", hostile, "0", "1"),
        ]
    }

    #[test]
    fn an_interrupt_has_the_name_that_no_other_has() {
        let made = MadeUp::new("export", 2);
        for name in ["30/smp_affinity_list", "30/eth0-TxRx-0/none", "31/both/x", "32/both/x"] {
            made.write(&format!("/proc/irq/{name}"), "");
        }
        let name = |path: &str| name_of(&made.host(), &Place::file(path, Format::List));
        assert_eq!(name("/proc/irq/30/smp_affinity_list").as_deref(), Some("eth0-TxRx-0"));
        assert_eq!(name("/proc/irq/31/smp_affinity_list"), None);
        assert_eq!(name("/proc/irq/33/smp_affinity_list"), None);
        assert_eq!(name("/proc/sys/net/core/somaxconn"), None);
    }

    /// What a shell does with one command of an export; the interrupts are those of a made-up host.
    fn is_run(shell: &str, command: &str, made: &MadeUp) -> bool {
        let below = made.host().root.path(INTERRUPTS);
        let command = command.replace(INTERRUPTS, &format!("'{}'/", below.display()));
        let run = std::process::Command::new(shell).args(["-c", &command]).output().unwrap();
        let error = String::from_utf8_lossy(&run.stderr).into_owned();
        assert_eq!(run.status.success(), error.is_empty(), "{shell}: {error}");
        run.status.success()
    }

    /// The commands that an export has for an interrupt, as a shell gets them.
    fn commands(form: Form) -> Vec<String> {
        let text = export(&settings(), form);
        let own = text.lines().filter(|line| line.contains("/proc/irq/*"));
        let of_unit = |line: &str| {
            let (_, command) = line.split_once("-c \"").expect("a command of a shell");
            command.strip_suffix('"').expect("its end").replace("$$", "$")
        };
        own.map(|line| if form == Form::Systemd { of_unit(line) } else { line.into() }).collect()
    }

    #[test]
    fn a_name_that_two_interrupts_have_by_then_sets_neither() {
        for shell in ["sh", "bash"] {
            for form in [Form::Shell, Form::Systemd] {
                let made = MadeUp::new("export", 2);
                let commands = commands(form);
                let [apply, revert] = commands.as_slice() else { panic!("{commands:?}") };
                let affinity = |irq: u32| format!("/proc/irq/{irq}/smp_affinity_list");
                let text = |irq| made.host().text(&affinity(irq)).unwrap().trim().to_string();
                assert!(!is_run(shell, apply, &made), "{shell}: none");
                made.write("/proc/irq/41/eth0-TxRx-0/none", "").write(&affinity(41), "0-3");
                assert!(is_run(shell, apply, &made), "{shell}: one");
                assert_eq!(text(41), "2");
                assert!(is_run(shell, revert, &made), "{shell}: one");
                assert_eq!(text(41), "0-3");
                made.write("/proc/irq/42/eth0-TxRx-0/none", "").write(&affinity(42), "0-3");
                assert!(!is_run(shell, apply, &made), "{shell}: two");
                assert_eq!((text(41), text(42)), ("0-3".to_string(), "0-3".to_string()));
            }
        }
    }

    #[test]
    fn every_form_holds_what_it_can_and_tells_the_rest() {
        for (name, form) in [
            ("sysctl", Form::Sysctl),
            ("udev", Form::Udev),
            ("systemd", Form::Systemd),
            ("shell", Form::Shell),
        ] {
            let text = export(&settings(), form);
            for setting in settings() {
                assert!(text.contains(&setting.title()), "{name}: {} is listed", setting.title());
            }
            let is_code = |line: &&str| !line.starts_with('#') && !line.is_empty();
            assert!(!text.lines().filter(is_code).any(|line| line.contains("reboot")), "{text}");
            insta::assert_snapshot!(name, text);
        }
    }
}
