//! What is sent: one request from the options, or the mix of a target file.

use crate::auth;
use crate::calls;
use crate::flows::{self, UserPlan};
use crate::machine::Machine;
use crate::mix::{self, MixError, Recipe};
use crate::options::{HttpText, Options};
use crate::url::{Scheme, Url, UrlError, with_scheme};
use crate::usage::Usage;
use crate::values::Header;
use model::check::Checks;
use model::load::{FlowLoad, MixTarget, Request};
use model::secret;
use std::path::Path;

/// Everything that is sent to the server.
pub struct RequestPlan {
    /// Where; its text is as typed.
    pub url: Url,
    /// One period of the tape.
    pub requests: Vec<Request>,
    /// The targets that the requests belong to.
    pub targets: Vec<MixTarget>,
    /// What users do, if the load is users.
    pub flow: Option<FlowLoad>,
}

/// Reads, expands and encodes everything once, so that what is wrong is known before any load.
pub fn resolve(options: &Options, seed: u64, machine: &dyn Machine) -> Result<RequestPlan, Usage> {
    if let Some(file) = &options.flow {
        let UserPlan { url, requests, targets, load } = flows::resolve(&file.0, options, machine)?;
        return Ok(RequestPlan { url, requests, targets, flow: Some(load) });
    }
    if let Some(option) = options.flow_values.given() {
        let why = format!("{option}: only a flow has variables; give --flow FILE, or leave it out");
        return Err(Usage(why));
    }
    let mut read = |name: &str| machine.read(name);
    let mut recipes = match &options.targets {
        Some(file) => written(&file.0, machine)?,
        None => vec![typed(options, machine)?],
    };
    let base = base(options, &recipes)?;
    let mut headers: Vec<Header> =
        options.headers.iter().cloned().chain(auth::header(options, machine)?).collect();
    let is_grpc = base.scheme.is_grpc();
    if is_grpc {
        headers.extend(calls::headers(options)?);
    }
    for recipe in &mut recipes {
        recipe.url = path_below(&base, recipe)?;
        if is_grpc {
            // Its method is in the path.
            recipe.method = Some("POST".to_string());
            let name = recipe.url.trim_start_matches('/').to_string();
            recipe.name = recipe.name.take().or(Some(name));
        }
        recipe.checks = std::mem::take(&mut recipe.checks).or(&checks(options));
        add_headers(recipe, &headers);
    }
    calls::none_meant(options, &base, &recipes)?;
    let expansions = options.expand.as_ref().map(|count| count.0);
    let mut composed = mix::compose(&recipes, &base.authority, expansions, seed, &mut read)
        .map_err(|MixError(why)| Usage(why))?;
    // Encoding checks what the options and the file say.
    let wrong = |error: wire::tape::EncodeError| Usage(secret::text(&error.to_string()));
    wire::tape::Tape::new(&composed.requests, 1).map_err(wrong)?;
    let may_be_2 = is_grpc
        || options.http2_prior_knowledge
        || matches!(options.http, Some(HttpText::Two | HttpText::Auto));
    if may_be_2 {
        wire::tape::Tape::http2(&composed.requests, wire::http2::Scheme::Https).map_err(wrong)?;
    }
    // A name is made from a path, and is shown.
    composed.targets.iter_mut().for_each(|target| target.name = secret::text(&target.name));
    let (requests, targets) = (composed.requests, composed.targets);
    Ok(RequestPlan { url: base, requests, targets, flow: None })
}

/// A warning about requests with placeholders that are sent as written.
pub fn unexpanded(options: &Options, requests: &[Request]) -> Option<String> {
    let has = |text: &[u8]| mix::has_placeholder(text);
    let is_left = |request: &Request| {
        let mut values = request.headers.iter().map(|(_, value)| value.as_bytes());
        has(request.path.as_bytes()) || has(&request.body) || values.any(has)
    };
    let is_warned = options.expand.is_none() && requests.iter().any(is_left);
    is_warned.then(|| {
        "requests have placeholders in {{ }} and are sent as written; for example --expand 1000 \
         fills them in"
            .to_string()
    })
}

/// The options about requests that were given.
pub fn given(options: &Options) -> impl Iterator<Item = &'static str> {
    let checks = &options.checks;
    let all = [
        (options.targets.is_some(), "--targets"),
        (options.method.is_some(), "--method"),
        (!options.headers.is_empty(), "--header"),
        (options.auth_env.is_some(), "--auth-env"),
        (options.bearer_file.is_some(), "--bearer-file"),
        (!options.secret_headers.is_empty(), "--secret-header"),
        (options.body.is_some(), "--body"),
        (options.body_file.is_some(), "--body-file"),
        (options.depth.0 > 1, "--depth"),
        (options.expand.is_some(), "--expand"),
        (checks.status.is_some(), "--check-status"),
        (checks.length.is_some(), "--check-length"),
        (checks.body.is_some(), "--check-body"),
        (checks.sha256.is_some(), "--check-sha256"),
        (checks.json.is_some(), "--check-json"),
        (options.sample_failures, "--sample-failures"),
        (options.keep_requests, "--keep-requests"),
    ];
    all.into_iter().filter(|(is_given, _)| *is_given).map(|(_, option)| option)
}

/// Refuses options about requests where none are sent.
pub fn none_asked(options: &Options, url: &Url) -> Result<(), Usage> {
    let Some(option) = given(options).next() else { return Ok(()) };
    Err(Usage(match url.scheme {
        Scheme::Tcp => format!(
            "{option} is about requests, which {} does not have; leave it out, or use an http or \
             https URL; for example http://{}/",
            url.text, url.authority
        ),
        _ => format!(
            "{option} is about requests, and --requests-per-conn 0 sends none; leave one of the \
             two out"
        ),
    }))
}

fn checks(options: &Options) -> Checks {
    let checks = &options.checks;
    Checks {
        status: checks.status.clone(),
        length: checks.length,
        body: checks.body.clone(),
        sha256: checks.sha256,
        json: checks.json.clone(),
        fields: Vec::new(),
    }
}

/// The recipes of a target file.
fn written(file: &Path, machine: &dyn Machine) -> Result<Vec<Recipe>, Usage> {
    let name = file.display();
    let usage = |why: String| Usage(format!("--targets: {why}"));
    let bytes = machine.read(&name.to_string()).map_err(usage)?;
    let text = String::from_utf8(bytes)
        .map_err(|_| usage(format!("{name} is not text; for example lines like GET /read")))?;
    mix::file::parse(&name.to_string(), &text, &mut |name| machine.read(name))
        .map_err(|MixError(why)| usage(why))
}

/// The one request that the options describe.
fn typed(options: &Options, machine: &dyn Machine) -> Result<Recipe, Usage> {
    let body = match (&options.body, &options.body_file) {
        (Some(text), _) => Some(text.0.clone().into_bytes()),
        (None, Some(path)) => {
            let name = path.0.display().to_string();
            let read = machine.read(&name);
            Some(read.map_err(|why| Usage(format!("--body-file: {why}")))?)
        }
        (None, None) => None,
    };
    let url = options.url.as_ref().map_or_else(String::new, |url| with_scheme(&url.0));
    let method = options.method.as_ref().map(|method| method.0.clone());
    Ok(Recipe { method, body, ..Recipe::new(url, "the command line".to_string()) })
}

/// Where the server is: the URL of the command line, else the first of the file.
fn base(options: &Options, recipes: &[Recipe]) -> Result<Url, Usage> {
    if let Some(typed) = &options.url {
        let url = Url::typed(&typed.0)?;
        if options.targets.is_some() && url.path != "/" {
            return Err(Usage(format!(
                "--targets: its paths are whole, so '{}' of the URL would not be sent; write it in \
                 front of the paths of the file, and give the server alone; for example {}/",
                secret::text(&url.path),
                endpoint(&url)
            )));
        }
        return Ok(url);
    }
    let absolute = recipes.iter().find(|recipe| recipe.url.contains("://"));
    match absolute {
        Some(recipe) => Url::typed(&recipe.url).map_err(|error| at(recipe, &error)),
        None => Err(Usage(
            "--targets: the file has paths only, so the server must be named; for example ceiling \
             load http://127.0.0.1:8083 -i targets.txt"
                .to_string(),
        )),
    }
}

fn at(recipe: &Recipe, error: &UrlError) -> Usage {
    Usage(format!("{}: {error}", recipe.place))
}

/// The path of a recipe, whose server must be that of the base.
fn path_below(base: &Url, recipe: &Recipe) -> Result<String, Usage> {
    let text = &recipe.url;
    let is_path = text.starts_with('/');
    let whole = if is_path { format!("{}{text}", endpoint(base)) } else { text.clone() };
    if !is_path && !text.contains("://") {
        return Err(Usage(format!(
            "{}: '{}' is neither a URL nor a path; for example http://127.0.0.1:8083/read or \
             /read",
            recipe.place,
            secret::text(text)
        )));
    }
    let url = Url::typed(&whole).map_err(|error| at(recipe, &error))?;
    if endpoint(&url) != endpoint(base) {
        return Err(Usage(format!(
            "{}: '{}' is on another server than {}; all requests of a run go to one scheme, host \
             and port; for example {}/read",
            recipe.place,
            secret::text(text),
            base.text,
            endpoint(base)
        )));
    }
    Ok(url.path)
}

/// Scheme, host and port in one form.
fn endpoint(url: &Url) -> String {
    let scheme = url.text.split("://").next().unwrap_or_default().to_ascii_lowercase();
    let host = url.host.to_ascii_lowercase();
    let host = if host.contains(':') { format!("[{host}]") } else { host };
    format!("{scheme}://{host}:{}", url.port)
}

/// Headers of the command line go to every target that does not have its own.
fn add_headers(recipe: &mut Recipe, common: &[Header]) {
    let own: Vec<_> = recipe.headers.iter().map(|(name, _)| name.to_ascii_lowercase()).collect();
    let common = common.iter().map(|header| header.0.clone());
    let missing = common.filter(|(name, _)| !own.contains(&name.to_ascii_lowercase()));
    recipe.headers.extend(missing);
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Words {
        #[command(flatten)]
        options: Options,
    }

    /// The path of the URL was dropped in silence.
    #[test]
    fn a_url_beside_a_mix_names_the_server_alone() {
        let base = |url: &str| {
            let words = Words::try_parse_from(["ceiling", url, "-i", "targets.txt"]).unwrap();
            base(&words.options, &[]).map(|url| url.authority).map_err(|usage| usage.0)
        };
        for url in ["http://127.0.0.1:1", "http://127.0.0.1:1/", "127.0.0.1:1"] {
            assert_eq!(base(url).as_deref(), Ok("127.0.0.1:1"), "{url}");
        }
        for (url, part) in [
            ("http://127.0.0.1:1/api/v1", "'/api/v1' of the URL"),
            ("http://127.0.0.1:1?token=hunter2", "'/?token=***' of the URL"),
        ] {
            let why = base(url).unwrap_err();
            assert!(why.contains(part), "{why}");
            assert!(why.ends_with("for example http://127.0.0.1:1/"), "{why}");
        }
    }
}
