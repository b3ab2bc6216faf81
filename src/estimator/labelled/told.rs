//! What every fitted model of a family tells, whatever its labels.

/// Gradients, cautions, terms, machine and report of a model around a `Fitted`.
macro_rules! told {
    ($model:ident $(, $label:ident)?) => {
        impl<C: Family, F: Real $(, $label)?> $model<C, F $(, $label)?> {
            /// Gradients of the decision values in the rows, samples x outputs x features.
            ///
            /// # Errors
            /// Those of [`crate::model::Model::gradient`].
            pub fn gradient(&self, rows: &Rows<'_, F>) -> Result<Array3<f64>> {
                self.fitted.gradient(rows)
            }

            /// What may disappoint in this fit, and what to do about it; of a loaded machine nothing
            /// is known.
            #[must_use]
            pub fn cautions(&self) -> &[Caution] {
                &self.fitted.cautions
            }

            /// Number of terms, those of all outputs and cells together: of features, for a linear
            /// machine; 0 for an online learner on features.
            #[must_use]
            pub fn n_terms(&self) -> usize {
                self.fitted.machine.n_terms()
            }

        }

        impl<C: Trains, F: Real $(, $label)?> $model<C, F $(, $label)?> {
            /// The machine itself: terms or features, coefficients, offsets.
            #[must_use]
            pub fn machine(&self) -> &Machine<F> {
                &self.fitted.machine
            }

            /// What the last training call tells.
            #[must_use]
            pub fn report(&self) -> &C::Report {
                &self.fitted.report
            }
        }
    };
}
pub(super) use told;
