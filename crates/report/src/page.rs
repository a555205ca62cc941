//! What a page is: titled blocks of text, tables and chart specifications. Data only.
//!
//! Executive summary: sections make blocks, renderers draw them. A block says what to show and
//! what matters in it, never how it looks: no colours, no widths, no markup. Every string in it is
//! untrusted text; the renderer escapes it.

mod dots;

pub(crate) use dots::is_drawable;
pub use dots::{Dot, DotRow, Dots, Span};
use model::step::Step;
use model::unit::Unit;
use serde::Serialize;
use std::collections::BTreeSet;

/// A drawing of one run.
#[derive(Debug, Clone, PartialEq)]
pub struct Page {
    /// What was done, for example `ceiling ramp http://host/`.
    pub title: String,
    /// When and by what.
    pub subtitle: String,
    /// In reading order.
    pub blocks: Vec<Block>,
}

/// One part of a page.
#[derive(Debug, Clone, PartialEq)]
pub enum Block {
    /// Starts a section.
    Heading(String),
    /// The sentence that no reader may miss.
    Banner(Banner),
    /// A paragraph.
    Text(String),
    /// A table.
    Table(Table),
    /// A chart.
    Chart(Chart),
    /// Named values.
    Facts(Vec<Fact>),
    /// Short items.
    List(List),
    /// What to do next.
    Steps(Steps),
    /// A flame graph.
    Flame(Flame),
    /// Rows of shaded cells.
    Grid(Grid),
    /// Rows of values on one axis.
    Dots(Dots),
    /// Blocks that are alike, one list for each host or figure: side by side where there is room,
    /// else stacked.
    Columns(Vec<Vec<Block>>),
    /// Details, folded where the renderer can fold.
    Folded(Folded),
}

impl Page {
    /// All blocks in reading order, nested ones included.
    pub fn flat(&self) -> Vec<&Block> {
        flat(&self.blocks)
    }

    /// Charts in reading order.
    pub fn charts(&self) -> Vec<&Chart> {
        fn chart(block: &Block) -> Option<&Chart> {
            if let Block::Chart(chart) = block { Some(chart) } else { None }
        }
        self.flat().into_iter().filter_map(chart).collect()
    }

    /// Names of everything that has an anchor, except sections.
    pub fn anchors(&self) -> BTreeSet<&str> {
        fn id(block: &Block) -> Option<&str> {
            match block {
                Block::Chart(chart) => Some(&chart.id),
                Block::Grid(grid) => Some(&grid.id),
                Block::Flame(flame) => Some(&flame.id),
                Block::Dots(dots) => Some(&dots.id),
                Block::Folded(folded) => Some(&folded.id),
                _ => None,
            }
        }
        self.flat().into_iter().filter_map(id).collect()
    }
}

/// Blocks in reading order, nested ones included.
pub(crate) fn flat(blocks: &[Block]) -> Vec<&Block> {
    let mut all = Vec::new();
    for block in blocks {
        match block {
            Block::Columns(columns) => columns.iter().for_each(|one| all.extend(flat(one))),
            Block::Folded(folded) => {
                all.push(block);
                all.extend(flat(&folded.blocks));
            }
            block => all.push(block),
        }
    }
    all
}

/// How the reader should take a sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// The measurement is valid and answers the question.
    Good,
    /// The measurement is valid; something is open.
    Neutral,
    /// Usable with a reservation.
    Caution,
    /// Must not be used as a figure of the server.
    Bad,
}

/// A verdict in plain words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Banner {
    /// How to take it.
    pub tone: Tone,
    /// The sentence.
    pub text: String,
    /// Further sentences, one each.
    pub lines: Vec<String>,
}

model::named! {
    /// Whether a row, a view or a position needs attention. In every rendering a mark is a symbol
    /// as well as a colour.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Mark {
        /// Nothing special.
        #[default]
        None = "",
        /// Usable with a reservation: partial, or limited by the generator.
        Caution = "~",
        /// A gate failed: not a measurement.
        Broken = "!",
    }
    /// The symbol in every rendering.
    fn symbol;
}

/// How the cells of a column are aligned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

/// A column of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Heading; with the unit when all cells share one.
    pub title: String,
    /// Alignment.
    pub align: Align,
    /// Without enough room, columns with the highest rank are dropped first. Rank 0 always stays.
    pub rank: u8,
}

impl Column {
    /// A column of words that always stays.
    pub fn words(title: &str) -> Self {
        Self { title: title.to_string(), align: Align::Left, rank: 0 }
    }

    /// A column of numbers that always stays.
    pub fn numbers(title: &str) -> Self {
        Self { title: title.to_string(), align: Align::Right, rank: 0 }
    }

    /// The column with this rank.
    pub fn rank(self, rank: u8) -> Self {
        Self { rank, ..self }
    }
}

/// A row of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// One per column; a missing value is `-`.
    pub cells: Vec<String>,
    /// Whether it needs attention.
    pub mark: Mark,
    /// Anchors that the row links to, best first; the page may have none of them.
    pub about: Vec<String>,
}

/// The initial state in a renderer that can fold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fold {
    /// Shown at once.
    Open,
    /// For reference: unfolded on demand.
    Closed,
}

/// A table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// What the rows are; empty when the section heading says it.
    pub caption: String,
    /// From left to right.
    pub columns: Vec<Column>,
    /// From top to bottom.
    pub rows: Vec<Row>,
    /// Sentences below the table.
    pub notes: Vec<String>,
    /// Whether it starts folded.
    pub fold: Fold,
}

impl Table {
    /// An open table without caption, rows and notes.
    pub fn new(columns: Vec<Column>) -> Self {
        let (caption, rows, notes) = (String::new(), Vec::new(), Vec::new());
        Self { caption, columns, rows, notes, fold: Fold::Open }
    }

    /// Names the table.
    pub fn caption(mut self, caption: impl Into<String>) -> Self {
        self.caption = caption.into();
        self
    }

    /// Folds the table where the renderer can fold.
    pub fn folded(mut self) -> Self {
        self.fold = Fold::Closed;
        self
    }

    /// Appends a row with one cell per column.
    pub fn push(&mut self, mark: Mark, cells: Vec<String>) {
        self.push_about(mark, cells, Vec::new());
    }

    /// Appends a row that links to the first of these anchors that the page has.
    pub fn push_about(&mut self, mark: Mark, cells: Vec<String>, about: Vec<String>) {
        assert_eq!(cells.len(), self.columns.len(), "one cell per column in '{}'", self.caption);
        self.rows.push(Row { cells, mark, about });
    }
}

/// Folded details under a title.
#[derive(Debug, Clone, PartialEq)]
pub struct Folded {
    /// Stable name, also the anchor.
    pub id: String,
    /// Title.
    pub title: String,
    /// Their summary, in a few words.
    pub summary: String,
    /// The details.
    pub blocks: Vec<Block>,
}

/// A named value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fact {
    /// Name.
    pub name: String,
    /// Value with unit.
    pub value: String,
}

impl Fact {
    /// A named value.
    pub fn new(name: &str, value: impl Into<String>) -> Self {
        Self { name: name.to_string(), value: value.into() }
    }
}

/// A list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct List {
    /// A sentence before the items; may be empty.
    pub lead: String,
    /// The items, a sentence each.
    pub items: Vec<String>,
}

/// Things to type or to do, best first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Steps {
    /// A sentence before them; may be empty.
    pub lead: String,
    /// The steps.
    pub steps: Vec<Step>,
}

/// The scale of an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Scale {
    /// Equal steps.
    Linear,
    /// Equal factors. Values at or below zero are not drawn.
    Log,
}

/// An axis.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Axis {
    /// What it shows.
    pub label: String,
    /// In which unit.
    pub unit: Unit,
    /// How it is divided.
    pub scale: Scale,
}

impl Axis {
    /// An axis with equal steps.
    pub fn linear(label: &str, unit: Unit) -> Self {
        Self { label: label.to_string(), unit, scale: Scale::Linear }
    }

    /// An axis with equal factors.
    pub fn log(label: &str, unit: Unit) -> Self {
        Self { label: label.to_string(), unit, scale: Scale::Log }
    }
}

/// How series are drawn together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ChartShape {
    /// Independent lines.
    Lines,
    /// Areas on top of each other; they sum to a whole.
    Stacked,
    /// Single values, with a symbol per series.
    Dots,
}

/// A line of a chart.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Series {
    /// Name in the legend.
    pub label: String,
    /// One value for each x of the view; absent is a gap, never a zero.
    pub y: Vec<Option<f64>>,
}

/// A named range of the x axis, for example the measured window of a point.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Band {
    /// Name.
    pub label: String,
    /// Where it starts.
    pub from: f64,
    /// Where it ends.
    pub to: f64,
    /// Whether it needs attention.
    pub mark: Mark,
}

/// A named level of the y axis, for example the ceiling.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Limit {
    /// Name.
    pub label: String,
    /// Where it is.
    pub at: f64,
    /// The interval around it, when there is one.
    pub within: Option<(f64, f64)>,
}

/// One selectable view of a chart.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct View {
    /// Name in the selection.
    pub label: String,
    /// Whether the whole view needs attention.
    pub mark: Mark,
    /// Positions, in ascending order.
    pub x: Vec<f64>,
    /// The mark of each position; empty when no position has one.
    pub x_marks: Vec<Mark>,
    /// Lines over these positions.
    pub series: Vec<Series>,
    /// Named ranges of the x axis.
    pub bands: Vec<Band>,
    /// Named levels of the y axis.
    pub limits: Vec<Limit>,
}

/// What to draw, not how.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Chart {
    /// Stable name, also the anchor.
    pub id: String,
    /// What it shows.
    pub title: String,
    /// One sentence on how to read it; may be empty.
    pub note: String,
    /// Horizontal.
    pub x: Axis,
    /// Vertical.
    pub y: Axis,
    /// How the series are drawn together.
    pub shape: ChartShape,
    /// At least one. Charts whose views have the same labels switch together.
    pub views: Vec<View>,
    /// The view that is shown first.
    pub selected: usize,
}

model::named! {
    /// What a box of a flame graph belongs to, or how its share changed.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Hue {
        /// The kernel, or a call into it.
        Kernel = "kernel",
        /// The language's runtime.
        Runtime = "runtime",
        /// The program and its libraries.
        Program = "program",
        /// A much smaller share than before.
        MuchLess = "much-less",
        /// A smaller share.
        Less = "less",
        /// About the same share.
        Same = "same",
        /// A larger share.
        More = "more",
        /// A much larger share.
        MuchMore = "much-more",
    }
    /// The class in a page.
    fn class;
}

/// One box of a flame graph.
#[derive(Debug, Clone, PartialEq)]
pub struct Box {
    /// Text in the box.
    pub label: String,
    /// Text that the page shows while the pointer is on it.
    pub detail: String,
    /// Number of boxes above it.
    pub depth: u32,
    /// Left edge, 0 to 1.
    pub from: f64,
    /// Width, 0 to 1.
    pub width: f64,
    /// What it belongs to, or how it changed.
    pub hue: Hue,
}

/// A tree of calls, drawn as stacked boxes. A table has its most important figures as well.
#[derive(Debug, Clone, PartialEq)]
pub struct Flame {
    /// Stable name, also the anchor.
    pub id: String,
    /// What it shows.
    pub title: String,
    /// One sentence on how to read it.
    pub note: String,
    /// In depth-first order from the top: each box comes before the boxes below it.
    pub boxes: Vec<Box>,
}

/// What the cells of a grid are, from left to right.
#[derive(Debug, Clone, PartialEq)]
pub enum Across {
    /// Equal parts of the time of the run.
    Time {
        /// End of the last cell, seconds; the first starts at zero.
        end_s: f64,
        /// Measured windows.
        bands: Vec<Band>,
    },
    /// CPUs by number.
    Cpus,
}

/// One row of a grid.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct GridRow {
    /// Name.
    pub label: String,
    /// Share of each part in the bar, percent; empty when not known.
    pub bar: Vec<f64>,
    /// One value for each column.
    pub values: Vec<String>,
    /// Values of the cells; absent is not zero.
    pub cells: Vec<Option<f64>>,
    /// Which cells may have a value; empty when not known.
    pub allowed: Vec<bool>,
}

/// Rows of cells shaded by value: a heat map or a matrix. A row may also have a bar of parts, and
/// values.
#[derive(Debug, Clone, PartialEq)]
pub struct Grid {
    /// Stable name, also the anchor.
    pub id: String,
    /// What it shows.
    pub title: String,
    /// How to read it.
    pub note: String,
    /// Heading of the column of row names.
    pub rows_are: String,
    /// Names of the parts of bars; empty when there are no bars.
    pub parts: Vec<String>,
    /// Headings of the values.
    pub columns: Vec<Column>,
    /// What the cells show, in words.
    pub cells_are: String,
    /// What the cells are from left to right.
    pub across: Across,
    /// The value of the darkest cell.
    pub full: f64,
    /// From top to bottom.
    pub rows: Vec<GridRow>,
}
