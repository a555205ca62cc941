//! What differs between the commands that make load.

use model::load::{Level, Question, Stop};
use model::tool::Tool;

/// What differs between the commands.
pub struct Shape {
    /// The question.
    pub question: Question,
    /// The levels.
    pub levels: Vec<Level>,
    /// End of each level.
    pub stop: Stop,
    /// How often each level is visited.
    pub visits: u32,
    /// How often an unsteady level is repeated.
    pub repeats_max: u32,
    /// The other tool that makes the load, if one does.
    pub tool: Option<Tool>,
}
