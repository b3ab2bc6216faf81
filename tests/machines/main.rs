//! The machines as users of the crate have them. One program: what is generic over floats is compiled
//! once for all of its files.

mod checkpoint;
mod estimator;
mod estimator_exact;
mod estimator_online;
mod estimator_primal;
mod estimator_setup;
mod exact;
mod saved;
mod sweep;
