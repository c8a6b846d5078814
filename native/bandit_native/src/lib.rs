//! The NIFs of `BanditNative.NIF`.
//!
//! What is computed is in the crate `websocket_kernels`; here is how the VM calls it. Each function
//! that works on payloads has a file; what they ask of the VM is in `vm`, and how the large ones
//! are done in parts in `slices`. This file loads the library, and says what was loaded.

mod slices;
mod utf8_validate;
mod vm;
mod ws_mask;
mod ws_mask_batch;

use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering};

use rustler::codegen_runtime::inventory;
use rustler::sys::{self, ErlNifEntry, ErlNifEnv, ErlNifFunc, ErlNifTerm};
use rustler::types::atom::{self, Atom};
use rustler::{Env, Nif, NifMap, NifResult, Term};
use websocket_kernels::{Kernels, Tier};

/// What `load/2` of `BanditNative.NIF` hands over.
#[derive(NifMap)]
#[rustler(decode)]
struct LoadInfo<'a> {
    /// The version of the Elixir code.
    version: &'a str,
    /// The tier to stay at or below, or `nil`.
    max_tier: Term<'a>,
    /// For tests, see [`slices`]; or `nil`.
    slice_bytes: Option<usize>,
}

/// Why the library refuses to load. `BanditNative.NIF` has the explanations.
#[repr(i32)]
enum Refusal {
    BadLoadInfo = 1,
    OtherVersion = 2,
}

/// What `Mix.Tasks.Compile.BanditNative` looks for in the file that cargo leaves. Exported, as what
/// nothing refers to would not be linked.
#[unsafe(no_mangle)]
pub static BANDIT_NATIVE_BUILD_ID: Option<&str> = option_env!("BANDIT_NATIVE_BUILD_ID");

static KERNELS: AtomicPtr<Kernels> = AtomicPtr::new(ptr::null_mut());

/// The kernels that were chosen when the library was loaded.
fn kernels() -> &'static Kernels {
    // SAFETY: only `choose_kernels` stores here, a pointer that was a static reference, and `load`
    // calls it before any NIF can be called.
    unsafe { &*KERNELS.load(Ordering::Relaxed) }
}

/// Uses the best tier that is not above the one that `max_tier` names; with `nil`, the best there
/// is. `false` where that is no tier: then nothing is changed.
///
/// Calls that are under way finish with the kernels that they have, or go on with the new ones: the
/// results are the same.
fn choose_kernels(max_tier: Term) -> bool {
    let tier = match max_tier.atom_to_string().as_deref() {
        Ok("nil") => Some(Tier::best()),
        Ok(name) => Tier::from_name(name).map(Tier::best_up_to),
        Err(_no_atom) => None,
    };
    if let Some(tier) = tier {
        KERNELS.store(
            ptr::from_ref(Kernels::of(tier)).cast_mut(),
            Ordering::Relaxed,
        );
    }
    tier.is_some()
}

fn load(env: Env, load_info: Term) -> Result<(), Refusal> {
    let info: LoadInfo = load_info.decode().map_err(|_| Refusal::BadLoadInfo)?;
    if info.version != env!("CARGO_PKG_VERSION") {
        return Err(Refusal::OtherVersion);
    }
    if !choose_kernels(info.max_tier) {
        // The application says so when it starts.
        choose_kernels(atom::nil().to_term(env));
    }
    slices::set_slice_bytes(info.slice_bytes);
    ws_mask::load(env).map_err(|()| Refusal::BadLoadInfo)
}

#[rustler::nif]
fn set_max_tier(max_tier: Term) -> Atom {
    if choose_kernels(max_tier) {
        atom::ok()
    } else {
        atom::error()
    }
}

/// What the library is: its version, the tiers of the kernels in use, and those of this CPU.
#[derive(NifMap)]
#[rustler(encode)]
struct NativeInfo {
    /// Why the library is not in use: always `nil`.
    reason: Atom,
    version: &'static str,
    ws_mask: Atom,
    utf8_validate: Atom,
    cpu_tiers: Vec<Atom>,
}

#[rustler::nif]
fn native_info(env: Env) -> NifResult<NativeInfo> {
    let tier = Atom::from_str(env, kernels().tier().name())?;
    let supported = Tier::ALL.into_iter().filter(|tier| tier.is_supported());
    Ok(NativeInfo {
        reason: atom::nil(),
        version: env!("CARGO_PKG_VERSION"),
        ws_mask: tier,
        utf8_validate: tier,
        cpu_tiers: supported
            .map(|tier| Atom::from_str(env, tier.name()))
            .collect::<NifResult<_>>()?,
    })
}

unsafe extern "C" fn on_load(
    env: *mut ErlNifEnv,
    _private: *mut *mut c_void,
    load_info: ErlNifTerm,
) -> c_int {
    let result = std::panic::catch_unwind(|| {
        // SAFETY: the VM's own environment and term, for as long as this call.
        unsafe {
            let env = Env::new(&env, env);
            load(env, Term::new(env, load_info))
        }
    });
    match result {
        Ok(Ok(())) => 0,
        Ok(Err(refusal)) => refusal as c_int,
        Err(_panic) => Refusal::BadLoadInfo as c_int,
    }
}

/// Called instead of `on_load` where another instance of the module is loaded: after
/// `:code.load_file/1`, or when a release is upgraded. `rustler::init!` leaves it out, so that the
/// VM refuses to load the library a second time.
unsafe extern "C" fn on_upgrade(
    env: *mut ErlNifEnv,
    private: *mut *mut c_void,
    _old_private: *mut *mut c_void,
    load_info: ErlNifTerm,
) -> c_int {
    // SAFETY: as this function was called.
    unsafe { on_load(env, private, load_info) }
}

struct Entry(ErlNifEntry);

// SAFETY: its pointers are to memory that is never written or freed.
unsafe impl Send for Entry {}
unsafe impl Sync for Entry {}

static ENTRY: OnceLock<Entry> = OnceLock::new();

fn entry() -> *const ErlNifEntry {
    let entry = ENTRY.get_or_init(|| {
        let functions: Vec<ErlNifFunc> = inventory::iter::<Nif>().map(Nif::get_def).collect();
        let mut entry = ErlNifEntry::new(c"Elixir.BanditNative.NIF", functions.leak(), on_load);
        entry.upgrade = Some(on_upgrade);
        Entry(entry)
    });
    &raw const entry.0
}

/// The symbol that the VM looks up in a NIF library.
#[cfg(not(windows))]
#[unsafe(no_mangle)]
extern "C" fn nif_init() -> *const ErlNifEntry {
    // SAFETY: the VM calls this before anything else of the library.
    unsafe { sys::internal_write_symbols() };
    entry()
}

/// The same on Windows, where the VM hands its functions over.
#[cfg(windows)]
#[unsafe(no_mangle)]
extern "C" fn nif_init(callbacks: *mut sys::DynNifCallbacks) -> *const ErlNifEntry {
    // SAFETY: the VM calls this before anything else of the library.
    unsafe { sys::internal_set_symbols(callbacks) };
    entry()
}
