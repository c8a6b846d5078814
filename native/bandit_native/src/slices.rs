//! Why, and how, calls with large binaries are cut into slices.
//!
//! A NIF holds its scheduler for as long as it runs, and the VM takes no notice of how long that
//! is: it counts one reduction. So a payload of more than [`slice_bytes`] is worked on in slices.
//! After each the process is charged for the time it took (`enif_consume_timeslice`), and once its
//! time slice is spent the rest is rescheduled as a new call (`enif_schedule_nif`), behind whoever else
//! waits. A large frame so costs its process reductions, as it would in Elixir, and no one else
//! waits longer for it. There is no dirty scheduler in it: moving to one costs more than most
//! payloads take, and the dirty threads are few and shared with file I/O.
//!
//! Between two slices the process may be garbage-collected, suspended or killed. What a call needs
//! for going on is in the arguments of the next: terms, which the VM keeps alive and moves, and a
//! `Masked` resource with the unfinished result, which the VM frees if the call is never
//! finished. Pointers into terms are taken anew in every slice.

use std::ffi::c_int;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rustler::Env;
use rustler::sys;

/// Bytes that are worked on before the scheduler is asked. 128 KiB take 5 to 15 µs with vectors, so
/// that asking, and reading the clock (some 40 ns), cost nothing that could be measured, and a time
/// slice has many of them.
const DEFAULT_SLICE_BYTES: usize = 128 * 1024;

/// What costs a process 1 % of a time slice, which is 4,000 reductions: a time slice then takes 0.25 ms,
/// as with Elixir code that does the same, and who waits for the scheduler waits no longer. (OTP's
/// documentation speaks of 1 ms.) A slice costs 1 % at least, and more the longer it took: without
/// vectors, on an old CPU, or where the result's memory is new to the system, the same bytes take up
/// to ten times as long.
const TIME_PER_PERCENT: Duration = Duration::from_nanos(2_500);

/// [`DEFAULT_SLICE_BYTES`]; or, for tests, so few that small payloads are sliced too.
static SLICE_BYTES: AtomicUsize = AtomicUsize::new(DEFAULT_SLICE_BYTES);

/// The bytes in a slice, and the most that are worked on in a call that has none.
pub fn slice_bytes() -> usize {
    SLICE_BYTES.load(Ordering::Relaxed)
}

/// Sets [`slice_bytes`] to `bytes`, or to what it is as a rule.
pub fn set_slice_bytes(bytes: Option<usize>) {
    // A slice of text ends where a character does: it must have room for the longest.
    SLICE_BYTES.store(
        bytes.unwrap_or(DEFAULT_SLICE_BYTES).max(4),
        Ordering::Relaxed,
    );
}

/// Does `work` on `bytes` bytes, no more than a slice, and charges the process for it: by the clock
/// where it is more than half a slice, and 1 % of a time slice, which it takes about, where it is more
/// than an eighth. To read the clock would cost as much again there; but with nothing charged, a
/// process that makes one such call after another would hold its scheduler for some 10 ms. Less than
/// that costs what any call does.
#[inline]
pub fn charged<T>(env: Env<'_>, bytes: usize, work: impl FnOnce() -> T) -> T {
    if bytes <= slice_bytes() / 8 {
        work()
    } else {
        charged_long(env, bytes, work)
    }
}

/// Out of the way of short calls, whose few instructions then lie in a row.
#[cold]
fn charged_long<T>(env: Env<'_>, bytes: usize, work: impl FnOnce() -> T) -> T {
    let mut charged_until = (bytes > slice_bytes() / 2).then(Instant::now);
    let result = work();
    match &mut charged_until {
        Some(charged_until) => charge_for_a_slice(env, charged_until),
        None => charge(env, 1),
    };
    result
}

/// Charges the process for a slice of work, which began at `charged_until`. Whether its time slice
/// is spent.
pub fn charge_for_a_slice(env: Env<'_>, charged_until: &mut Instant) -> bool {
    let now = Instant::now();
    let percent = now.duration_since(*charged_until).as_nanos() / TIME_PER_PERCENT.as_nanos();
    let percent = percent.clamp(1, 100) as u32;
    // What is less than a percent is charged with the next slice.
    *charged_until = now.min(*charged_until + percent * TIME_PER_PERCENT);
    charge(env, percent)
}

/// Charges the process for so much of a time slice. Whether that is spent.
fn charge(env: Env<'_>, percent: u32) -> bool {
    // SAFETY: `env` is that of this call.
    unsafe { sys::enif_consume_timeslice(env.as_c_arg(), percent as c_int) == 1 }
}
