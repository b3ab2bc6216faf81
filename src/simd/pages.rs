//! Pages of 2 MiB for what is large, where the system gives them to those who ask.

/// From so many bytes on. What is smaller the allocator may keep when it is freed (glibc does, up to
/// 32 MiB), and who gets it next has not asked.
const LARGE: usize = 32 << 20;
/// A large page, on most processors that have them.
#[cfg(all(feature = "train", target_os = "linux"))]
const PAGE: usize = 2 << 20;

/// Asks for large pages under the memory of a vector, of which nothing need be written yet: one fault
/// in place of 512 when it is, and addresses that fewer entries translate when rows are read here and
/// there. Only pages that lie in the vector whole, so that it takes no more than it has.
pub(super) fn in_large_pages<T>(values: &mut Vec<T>) {
    let bytes = values.capacity() * size_of::<T>();
    if bytes >= LARGE {
        advise(values.as_mut_ptr().cast(), bytes);
    }
}

#[cfg(all(feature = "train", target_os = "linux"))]
fn advise(from: *mut u8, bytes: usize) {
    let skipped = from.align_offset(PAGE);
    let whole = bytes.saturating_sub(skipped) / PAGE * PAGE;
    if whole > 0 && !cfg!(miri) {
        // SAFETY: `whole` bytes from there are the vector's own. What is in them stays; a system
        // that knows no such pages says so, which changes nothing.
        unsafe { libc::madvise(from.wrapping_add(skipped).cast(), whole, libc::MADV_HUGEPAGE) };
    }
}

#[cfg(not(all(feature = "train", target_os = "linux")))]
fn advise(_: *mut u8, _: usize) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_there_stays() {
        // Miri takes minutes for a large one.
        let large = if cfg!(miri) { 2000 } else { LARGE };
        for bytes in [0, 1, large - 1, large, large + 12_345] {
            let mut values = Vec::with_capacity(bytes);
            values.extend((0..bytes.min(1000)).map(|i| i as u8));
            in_large_pages(&mut values);
            values.resize(bytes, 7);
            for (i, &v) in values.iter().enumerate() {
                assert_eq!(v, if i < 1000 { i as u8 } else { 7 }, "{i} of {bytes}");
            }
        }
    }

    /// What Linux says of the mapping that holds this address, where it says anything.
    #[cfg(all(feature = "train", target_os = "linux"))]
    fn flags(at: usize) -> Option<String> {
        let told = std::fs::read_to_string("/proc/self/smaps").ok()?;
        let mut inside = false;
        for line in told.lines() {
            let range = line.split(' ').next().and_then(|range| range.split_once('-'));
            let ends = range.map(|(a, b)| [a, b].map(|end| usize::from_str_radix(end, 16)));
            if let Some([Ok(first), Ok(last)]) = ends {
                inside = (first..last).contains(&at);
            } else if inside && line.starts_with("VmFlags:") {
                return Some(line.to_owned());
            }
        }
        None
    }

    #[cfg(all(feature = "train", target_os = "linux"))]
    #[test]
    fn the_system_is_asked_for_what_is_large_alone() {
        if cfg!(miri) || !std::path::Path::new("/sys/kernel/mm/transparent_hugepage").exists() {
            return;
        }
        for (bytes, asked) in [(LARGE - 1, false), (LARGE, true)] {
            let mut values = Vec::<u8>::with_capacity(bytes);
            in_large_pages(&mut values);
            let told = flags(values.as_ptr() as usize + bytes / 2);
            assert!(told.is_none_or(|told| told.contains(" hg") == asked), "{bytes}");
        }
    }
}
