//! Exports settings in the forms in which operators keep them; ceiling itself makes nothing
//! permanent.

use crate::error::TuneError;
use crate::journal::Journal;
use crate::place::{Place, Seen};
use crate::plan::Planned;
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

impl Form {
    /// The forms, by the name that the user types.
    pub const ALL: &'static [(&'static str, Form)] = &[
        ("sysctl", Self::Sysctl),
        ("udev", Self::Udev),
        ("systemd", Self::Systemd),
        ("shell", Self::Shell),
    ];
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
}

impl Durable {
    /// What a plan would write.
    pub fn of_plan(planned: &[Planned]) -> Vec<Self> {
        let of = |planned: &Planned| {
            let change = planned.change.clone()?;
            Some(Self {
                knob: planned.row.knob.clone(),
                name: planned.row.name.clone(),
                place: change.place,
                wanted: change.wanted,
                before: change.seen,
            })
        };
        planned.iter().filter_map(of).collect()
    }

    /// Changes that are applied and not put back, the oldest first.
    pub fn applied(journal: &Journal) -> Result<Vec<Self>, TuneError> {
        let (stories, damaged) = journal.stories()?;
        if let Some(error) = damaged.into_iter().next() {
            return Err(error);
        }
        let changes = stories.iter().rev().flat_map(|story| story.open_changes());
        let written = changes.filter(|change| change.written.is_some());
        let of = |begin: &crate::journal::Begin| Self {
            knob: begin.knob.clone(),
            name: begin.name.clone(),
            place: begin.place.clone(),
            wanted: begin.wanted.clone(),
            before: begin.before.clone(),
        };
        Ok(written.map(|change| of(&change.begin)).collect())
    }

    /// The file and the bytes for this value and for the one before; or why there are none.
    fn lines(&self) -> Result<Lines, String> {
        let Place::File { path, format } = &self.place else {
            return Err("it is not a file".to_string());
        };
        let wanted = format.bytes(&self.wanted, &self.before.raw);
        let before = format.bytes(&self.before.value, &self.before.raw);
        if [path, &wanted, &before].iter().any(|text| !is_plain(text)) {
            return Err("it has characters that do not belong in such a file".to_string());
        }
        Ok(Lines { path: path.clone(), wanted, before })
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
            (Ok(lines), Some((device, file))) => {
                let _ = writeln!(text, "\n# {}, was {}", setting.title(), lines.before);
                let _ = writeln!(
                    text,
                    "ACTION==\"add\", SUBSYSTEM==\"net\", KERNEL==\"{device}\", \
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
            Ok(Lines { path, wanted, before }) => {
                let _ = writeln!(start, "# {}", setting.title());
                let _ = writeln!(start, "ExecStart=/bin/sh -c \"echo '{wanted}' > '{path}'\"");
                stop.push(format!("ExecStop=/bin/sh -c \"echo '{before}' > '{path}'\"\n"));
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
            Ok(Lines { path, wanted, before }) => {
                let _ = writeln!(apply, "    # {}", setting.title());
                let _ = writeln!(apply, "    echo '{wanted}' > '{path}'");
                revert.push(format!("    echo '{before}' > '{path}'\n"));
            }
            Err(why) => text += &cannot(setting, &why),
        }
    }
    revert.reverse();
    let body = |lines: &str| if lines.is_empty() { "    :\n".to_string() } else { lines.into() };
    text + "set -e\n\ncase \"$1\" in\napply)\n"
        + &body(&apply)
        + "    ;;\nrevert)\n"
        + &body(&revert.concat())
        + "    ;;\n*)\n    echo \"usage: sh $0 apply|revert\" >&2\n    exit 2\n    ;;\nesac\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::place::Format;

    fn setting(knob: &str, name: &str, place: Place, raw: &str, wanted: &str) -> Durable {
        let value = match &place {
            Place::File { format, .. } => format.normalise(raw).unwrap(),
            _ => raw.to_string(),
        };
        let before = Seen { raw: format!("{raw}\n"), value };
        let (knob, name, wanted) = (knob.to_string(), name.to_string(), wanted.to_string());
        Durable { knob, name, place, wanted, before }
    }

    fn settings() -> Vec<Durable> {
        let file = |path: &str, format| Place::File { path: path.to_string(), format };
        let rps = file("/sys/class/net/eth0.7/queues/rx-0/rps_cpus", Format::Mask);
        let somaxconn = file("/proc/sys/net/core/somaxconn", Format::Number);
        let buffers = file("/proc/sys/net/ipv4/tcp_rmem", Format::Numbers);
        let affinity = file("/proc/irq/30/smp_affinity_list", Format::List);
        let hostile = file("/sys/class/net/x'; reboot #/threaded", Format::Number);
        vec![
            setting("T5", "rps", rps, "00000000,00000000", "0-3"),
            setting("T29", "somaxconn", somaxconn, "4096", "16384"),
            setting("T41", "buffers", buffers, "4096\t131072\t6291456", "4096 131072 33554432"),
            setting("T1", "irq-affinity", affinity, "0-3", "2"),
            setting("T18", "offloads", Place::Qdisc { device: "eth0".into() }, "fq", "mq"),
            setting("T11", "threaded-napi", hostile, "0", "1"),
        ]
    }

    #[test]
    fn every_form_holds_what_it_can_and_tells_the_rest() {
        for (name, form) in Form::ALL {
            let text = export(&settings(), *form);
            for setting in settings() {
                assert!(text.contains(&setting.title()), "{name}: {} is listed", setting.title());
            }
            let is_code = |line: &&str| !line.starts_with('#') && !line.is_empty();
            assert!(!text.lines().filter(is_code).any(|line| line.contains("reboot")), "{text}");
            insta::assert_snapshot!(*name, text);
        }
    }
}
