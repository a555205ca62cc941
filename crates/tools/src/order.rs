//! What is run for a load: the words of a tool, the files that it reads, and where its output is.

/// Stands for the folder of the run in a line of [`words`].
pub const FOLDER: &str = "{folder}";

/// What is run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    /// Words after the program.
    pub words: Vec<String>,
    /// Files that are written beforehand, by their name in the folder.
    pub files: Vec<(&'static str, Vec<u8>)>,
    /// Where its figures are.
    pub output: Output,
    /// How many connections it opens.
    pub connections: Connections,
}

/// How many connections a tool opens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Connections {
    /// No more than requested.
    AsAsked,
    /// This many, fewer than requested: as many in each of its threads, and the rest in none.
    Fewer(u32),
    /// As many as its rate needs.
    AsNeeded,
}

/// Where the figures of a tool are when it has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Output {
    /// It prints them.
    Printed,
    /// It writes them to this file in the folder.
    File(&'static str),
    /// It prints them when it runs again, with these words and the name of this file in the folder.
    Report(&'static [&'static str], &'static str),
}

impl Order {
    /// A tool that prints its figures and reads no file.
    pub fn of(words: Vec<String>) -> Self {
        let (files, output) = (Vec::new(), Output::Printed);
        Self { words, files, output, connections: Connections::AsAsked }
    }

    /// As one line, for goldens.
    #[cfg(test)]
    pub fn shown(&self) -> String {
        let mut text = self.words.join(" ");
        for (name, content) in &self.files {
            text += &format!("\n--- {name}\n{}", String::from_utf8_lossy(content));
        }
        text
    }
}

/// Words of a line of ours without quotes, with the folder for [`FOLDER`]. A path may contain
/// spaces. What the user wrote never passes through here: `{folder}` in it stays as it is.
pub fn words(line: &str, folder: &str) -> Vec<String> {
    line.split_whitespace().map(|word| word.replace(FOLDER, folder)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_with_a_space_is_one_word() {
        assert_eq!(words("-d {folder}/body -n 1", "/a b"), ["-d", "/a b/body", "-n", "1"]);
    }
}
