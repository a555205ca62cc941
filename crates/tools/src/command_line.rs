//! What the words of a tool mean: one list of its options, for its front end, for what we run, and
//! for the audit of what others ran.

/// The command line of a tool.
#[derive(Debug)]
pub struct CommandLine {
    /// The name of the tool.
    pub tool: &'static str,
    /// Its options. Of a tool without a front end only those that set the load.
    pub options: &'static [ToolOption],
    /// Options of ours, by all their names, with the tool's default value.
    pub defaults: &'static [(&'static [&'static str], &'static str)],
    /// Whether a script always says what is in flight, so that no option tells the depth.
    pub is_scripted: bool,
}

/// Nothing is known of it.
pub(crate) const NO_LINE: CommandLine =
    CommandLine { tool: "", options: &[], defaults: &[], is_scripted: false };

impl CommandLine {
    /// All names of the options that set something.
    pub(crate) fn names(&self, sets: Sets) -> Vec<&'static str> {
        let those = self.options.iter().filter(|option| option.sets == sets);
        those.flat_map(|option| option.names).copied().collect()
    }

    /// The default of an option of ours, if it is a number.
    pub(crate) fn default(&self, ours: &str) -> Option<f64> {
        let (_, value) = self.defaults.iter().find(|(names, _)| names.contains(&ours))?;
        value.parse().ok()
    }
}

/// An option of a tool.
#[derive(Debug, Clone, Copy)]
pub struct ToolOption {
    /// Its names, with their dashes.
    pub names: &'static [&'static str],
    /// What it means for us.
    pub asks: Asks,
    /// In a few words, for the help.
    pub about: &'static str,
    /// What its value sets, for who reads a command line of the tool.
    pub sets: Sets,
}

/// What the value of an option sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sets {
    /// Nothing that a reader needs.
    Nothing,
    /// Connections, or workers with a connection each.
    Connections,
    /// Threads.
    Threads,
    /// Requests in flight on a connection.
    Depth,
    /// How long the load lasts.
    Duration,
    /// Requests per second of all connections together.
    Rate,
    /// A script, so that the command line does not tell the depth.
    Script,
    /// Stages in which connections and duration change.
    Stages,
    /// A number of requests that ends the load, so that a duration is only a limit.
    Count,
}

/// An option of a tool with a front end.
pub(crate) const fn option(
    names: &'static [&'static str],
    asks: Asks,
    about: &'static str,
) -> ToolOption {
    ToolOption { names, asks, about, sets: Sets::Nothing }
}

/// An option of a tool without one.
pub(crate) const fn flag(names: &'static [&'static str], sets: Sets) -> ToolOption {
    option(names, Asks::Layout, "").sets(sets)
}

impl ToolOption {
    /// The option, with what its value sets.
    pub(crate) const fn sets(self, sets: Sets) -> Self {
        Self { sets, ..self }
    }
}

/// What an option means for us.
#[derive(Debug, Clone, Copy)]
pub enum Asks {
    /// These words of ours; it takes no value.
    Words(&'static [&'static str]),
    /// This option of ours with the same value.
    Option(&'static str),
    /// This option of ours with the same time; a number is one of seconds.
    Time(&'static str),
    /// A header of this name with its value.
    Header(&'static str),
    /// Words of ours that are made of its value; an error is what is wrong with that.
    Made(fn(&str) -> Result<Vec<String>, String>),
    /// Something about the layout; it takes no value.
    Layout,
    /// We have nothing like it; it takes no value.
    No(&'static str),
    /// We have nothing like it; it takes a value.
    NoValue(&'static str),
}

impl Asks {
    pub(crate) fn takes_value(self) -> bool {
        !matches!(self, Self::Words(_) | Self::Layout | Self::No(_))
    }
}

/// What ends a load: a time, or a number of requests. The first is the default of the tool.
pub(crate) const TIME: &[&str] = &["-d", "-n"];
pub(crate) const COUNT: &[&str] = &["-n", "-d"];

/// These tools measure from the first request on, unless an option makes them wait.
pub(crate) const COLD: (&[&str], &str) = (&["--warmup"], "0");

/// The option of a header.
pub(crate) const HEADER: ToolOption = option(&["-H", "--header"], Asks::Option("-H"), "a header");
