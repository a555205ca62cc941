//! What is sent: one request from the options, or the mix of a target file.

use crate::exit::Failure;
use crate::options::Options;
use crate::trial::url;
use lab::target::Url;
use mix::{BYTES_MAX, MixError, Recipe};
use model::check::Checks;
use model::load::{MixTarget, Request};
use model::secret;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Everything that is asked of the server.
pub struct Asked {
    /// Where; its text is as typed.
    pub url: Url,
    /// One period of the tape.
    pub requests: Vec<Request>,
    /// What the requests belong to.
    pub targets: Vec<MixTarget>,
}

/// Reads, expands and encodes everything once, so that what is wrong is known before any load.
pub fn resolve(options: &Options, seed: u64) -> Result<Asked, Failure> {
    let mut recipes = match &options.targets {
        Some(file) => written(file)?,
        None => vec![typed(options)?],
    };
    let base = base(options, &recipes)?;
    for recipe in &mut recipes {
        recipe.url = path_below(&base, recipe)?;
        recipe.checks = std::mem::take(&mut recipe.checks).or(&checks(options));
        add_headers(recipe, &options.headers);
    }
    let expansions = options.expand;
    let mut composed = mix::compose(&recipes, &base.authority, expansions, seed, &mut read_named)
        .map_err(|MixError(why)| Failure::Usage(why))?;
    // Encoding is the check of what the options and the file say.
    wire::tape::Tape::new(&composed.requests, 1)
        .map_err(|error| Failure::Usage(secret::text(&error.to_string())))?;
    // A name is made of a path, and is shown.
    composed.targets.iter_mut().for_each(|target| target.name = secret::text(&target.name));
    Ok(Asked { url: base, requests: composed.requests, targets: composed.targets })
}

fn checks(options: &Options) -> Checks {
    let checks = &options.checks;
    Checks {
        status: checks.status.clone(),
        length: checks.length,
        body: checks.body.clone(),
        sha256: checks.sha256,
    }
}

/// The recipes of a target file.
fn written(file: &Path) -> Result<Vec<Recipe>, Failure> {
    let name = file.display();
    let usage = |why: String| Failure::Usage(format!("--targets: {why}"));
    let bytes = read_whole(file).map_err(usage)?;
    let text = String::from_utf8(bytes)
        .map_err(|_| usage(format!("{name} is not text; for example lines like GET /read")))?;
    mix::file::parse(&name.to_string(), &text, &mut read_named).map_err(|MixError(why)| usage(why))
}

/// The one request that the options describe.
fn typed(options: &Options) -> Result<Recipe, Failure> {
    let body = match (&options.body, &options.body_file) {
        (Some(text), _) => Some(text.clone().into_bytes()),
        (None, Some(path)) => {
            Some(read_whole(path).map_err(|why| Failure::Usage(format!("--body-file: {why}")))?)
        }
        (None, None) => None,
    };
    let url = options.url.clone().unwrap_or_default();
    let method = options.method.clone();
    Ok(Recipe { method, body, ..Recipe::new(url, "the command line".to_string()) })
}

/// Where the server is: the URL of the command line, else the first of the file.
fn base(options: &Options, recipes: &[Recipe]) -> Result<Url, Failure> {
    if let Some(typed) = &options.url {
        return url(typed);
    }
    let absolute = recipes.iter().find(|recipe| recipe.url.contains("://"));
    match absolute {
        Some(recipe) => url(&recipe.url).map_err(|error| at(recipe, error)),
        None => Err(Failure::Usage(
            "--targets: the file has paths only, so the server must be named; for example ceiling \
             load http://127.0.0.1:8083 -i targets.txt"
                .to_string(),
        )),
    }
}

fn at(recipe: &Recipe, failure: Failure) -> Failure {
    Failure::Usage(format!("{}: {failure}", recipe.place))
}

/// The path of a recipe, whose server must be that of the base.
fn path_below(base: &Url, recipe: &Recipe) -> Result<String, Failure> {
    let text = &recipe.url;
    let is_path = text.starts_with('/');
    let whole = if is_path { format!("{}{text}", endpoint(base)) } else { text.clone() };
    if !is_path && !text.contains("://") {
        return Err(Failure::Usage(format!(
            "{}: '{}' is neither a URL nor a path; for example http://127.0.0.1:8083/read or \
             /read",
            recipe.place,
            secret::text(text)
        )));
    }
    let url = url(&whole).map_err(|error| at(recipe, error))?;
    if endpoint(&url) != endpoint(base) {
        return Err(Failure::Usage(format!(
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
fn add_headers(recipe: &mut Recipe, common: &[(String, String)]) {
    let own: Vec<_> = recipe.headers.iter().map(|(name, _)| name.to_ascii_lowercase()).collect();
    let missing = |(name, _): &&(String, String)| !own.contains(&name.to_ascii_lowercase());
    let missing: Vec<_> = common.iter().filter(missing).cloned().collect();
    recipe.headers.extend(missing);
}

fn read_named(name: &str) -> Result<Vec<u8>, String> {
    read_whole(Path::new(name))
}

/// A whole file, unless it is larger than all requests may be.
fn read_whole(path: &Path) -> Result<Vec<u8>, String> {
    let shown = path.display();
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(BYTES_MAX + 1).read_to_end(&mut bytes));
    read.map_err(|error| format!("cannot read {shown}: {error}"))?;
    if bytes.len() as u64 > BYTES_MAX {
        return Err(format!("{shown} is larger than {} MiB", BYTES_MAX >> 20));
    }
    Ok(bytes)
}
