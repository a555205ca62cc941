//! The first and the last reading of a source in a window.

/// First and last of one kind of reading.
pub(crate) struct Ends<T> {
    pub(crate) first: Option<(u64, T)>,
    pub(crate) last: Option<(u64, T)>,
}

impl<T> Default for Ends<T> {
    fn default() -> Self {
        Self { first: None, last: None }
    }
}

impl<T> Ends<T> {
    pub(crate) fn add(&mut self, at_ns: u64, value: T) {
        let end = if self.first.is_none() { &mut self.first } else { &mut self.last };
        *end = Some((at_ns, value));
    }

    /// Derives something from both, when there is time between them.
    pub(crate) fn between<R>(&self, derive: impl FnOnce(&Pair<'_, T>) -> R) -> Option<R> {
        let ((first_ns, first), (last_ns, last)) = (self.first.as_ref()?, self.last.as_ref()?);
        let seconds = last_ns.saturating_sub(*first_ns) as f64 / 1e9;
        (seconds > 0.0).then(|| derive(&Pair { first, last, seconds }))
    }
}

/// Both ends of a window, with the seconds between them.
pub(crate) struct Pair<'a, T> {
    pub(crate) first: &'a T,
    pub(crate) last: &'a T,
    pub(crate) seconds: f64,
}
