//! What is found of points when it is first asked for, in memory that is used again.

use std::sync::{Mutex, OnceLock, PoisonError};

/// A value that is made once until it is cleared; what it had its memory in, the next one takes.
#[derive(Debug, Default)]
pub(super) struct Found<T> {
    value: OnceLock<T>,
    left: Mutex<T>,
}

impl<T: Default> Found<T> {
    /// Forgets the value.
    pub(super) fn clear(&mut self) {
        if let Some(value) = self.value.take() {
            *self.left.get_mut().unwrap_or_else(PoisonError::into_inner) = value;
        }
    }

    /// The value, which `make` writes over one that has no meaning.
    pub(super) fn get_or_make(&self, make: impl FnOnce(&mut T)) -> &T {
        self.value.get_or_init(|| {
            let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
            let mut value = std::mem::take(&mut *left);
            make(&mut value);
            value
        })
    }
}

impl<T: Clone + Default> Clone for Found<T> {
    fn clone(&self) -> Self {
        Self { value: self.value.clone(), left: Mutex::default() }
    }
}
