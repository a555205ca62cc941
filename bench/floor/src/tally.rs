//! Counting bytes, and how many requests they allow to be sent.

/// When an answer is complete.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Rule {
    OfOneSize { bytes: usize },
    PerRead { mean_bytes: f64 },
}

/// What came in, in all and on each connection.
#[derive(Debug)]
pub struct Tally {
    rule: Rule,
    /// Bytes of an answer that is not yet complete, by connection.
    open: Vec<usize>,
    answers: u64,
    bytes: u64,
}

impl Tally {
    pub fn new(rule: Rule, connections: u32) -> Self {
        Self { rule, open: vec![0; connections as usize], answers: 0, bytes: 0 }
    }

    /// Answers so far.
    pub fn answers(&self) -> u64 {
        self.answers
    }

    /// Bytes so far.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Takes one receive; says how many answers it completed.
    #[inline]
    pub fn receive(&mut self, connection: usize, bytes: usize) -> usize {
        self.bytes += bytes as u64;
        let answers = match self.rule {
            Rule::PerRead { .. } => 1,
            Rule::OfOneSize { bytes: size } => {
                let open = &mut self.open[connection];
                *open += bytes;
                // The common case needs no division.
                let answers = if *open == size { 1 } else { *open / size };
                *open -= answers * size;
                answers
            }
        };
        self.answers += answers as u64;
        answers
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_complete_by_size_on_their_own_connection() {
        let mut tally = Tally::new(Rule::OfOneSize { bytes: 10 }, 2);
        assert_eq!(tally.receive(0, 9), 0);
        assert_eq!(tally.receive(1, 10), 1);
        assert_eq!(tally.receive(0, 1), 1);
        assert_eq!(tally.receive(1, 35), 3);
        assert_eq!(tally.receive(1, 5), 1);
        assert_eq!((tally.answers(), tally.bytes()), (6, 60));
    }

    #[test]
    fn one_read_is_one_answer_when_told_so() {
        let mut tally = Tally::new(Rule::PerRead { mean_bytes: 100.0 }, 1);
        assert_eq!((tally.receive(0, 70), tally.receive(0, 130)), (1, 1));
        assert_eq!((tally.answers(), tally.bytes()), (2, 200));
    }
}
