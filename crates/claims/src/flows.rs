//! Any file is a flow or has an error with a line, and what is written from requests that others
//! kept is a flow.

use flow::Given;
use import::KINDS;

/// Checks one file: its first byte says what it is taken for.
pub fn hold(bytes: &[u8]) {
    let Some((first, content)) = bytes.split_first() else { return };
    let Some(kind) = KINDS.get(usize::from(*first) % (KINDS.len() + 1)) else {
        return read(&String::from_utf8_lossy(content));
    };
    let mut input = content;
    if let Ok(written) = import::import(kind, "file", &mut input, None) {
        let given = given(&written.text);
        let flow = flow::read("file", &written.text, &given, &mut |path| Ok(path.into()));
        assert!(flow.is_ok(), "{}: {:?}\n{}", kind.name, flow.err(), written.text);
    }
}

fn read(text: &str) {
    let mut file = |path: &str| Ok(path.into());
    if let Err(wrong) = flow::read("file", text, &given(text), &mut file) {
        let lines = text.lines().count().max(1) + 1;
        assert!(wrong.line as usize <= lines && !wrong.what.is_empty(), "{wrong} of {lines}");
    }
}

/// A value for every variable.
fn given(text: &str) -> Given {
    let mut given = Given::default();
    for (name, _) in text.split("{{").skip(1).filter_map(|rest| rest.split_once("}}")) {
        given.variables.insert(name.trim().to_string(), "given".to_string());
    }
    given.variables.insert("base".to_string(), "http://192.0.2.1:1".to_string());
    given
}
