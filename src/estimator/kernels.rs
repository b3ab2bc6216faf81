//! The kernel of each family's hyperparameters.

use super::asset::AssetConfig;
use super::budget::BudgetConfig;
use super::exact::ExactConfig;
use super::local::LocalConfig;
use super::online::OnlineConfig;
use super::primal::PrimalConfig;
use super::setup::KernelConfig;
use crate::kernel::AnyKernel;

macro_rules! have_kernels {
    ($($config:ty),*) => {$(
        impl KernelConfig for $config {
            fn kernel_mut(&mut self) -> &mut AnyKernel {
                &mut self.kernel
            }
        }
    )*};
}

have_kernels!(AssetConfig, BudgetConfig, ExactConfig, LocalConfig, OnlineConfig, PrimalConfig);
