//! The functions that are called for every frame, as raw NIFs.
//!
//! # Why not `#[rustler::nif]`
//!
//! Its wrapper collects the arguments into a `Vec` and boxes the result, which is about half of
//! what a call with a small payload costs. A raw function registered through [`rustler::Nif`] costs
//! what one written in C does. The price is this module's `unsafe`: terms and environments are only
//! used within the call that they came with, and panics are caught in [`catch`].
//!
//! # Why calls are cut into slices
//!
//! A NIF holds its scheduler for as long as it runs, and the VM takes no notice of how long that
//! is: it counts one reduction. So a payload of more than [`SLICE_BYTES`] is worked on in slices.
//! After each the process is charged for the time it took (`enif_consume_timeslice`), and once its time
//! slice is spent the rest is rescheduled as a new call (`enif_schedule_nif`), behind whoever else
//! waits. A large frame so costs its process reductions, as it would in Elixir, and no one else
//! waits longer for it. There is no dirty scheduler in it: moving to one costs more than most
//! payloads take, and the dirty threads are few and shared with file I/O.
//!
//! Between two slices the process may be garbage-collected, suspended or killed. What a call needs
//! for going on is in the arguments of the next: terms, which the VM keeps alive and moves, and a
//! [`Masked`] resource with the unfinished result, which the VM frees if the call is never
//! finished. Pointers into terms are taken anew in every slice.

use std::ffi::{CStr, c_int, c_uint, c_void};
use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::slice;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rustler::codegen_runtime::inventory;
use rustler::sys::{
    self, ErlNifBinary, ErlNifEnv, ErlNifResourceFlags, ErlNifResourceType, ErlNifTerm,
};
use rustler::types::atom::{false_, true_};
use rustler::{Env, Nif};

use websocket_kernels::cut;

use crate::kernels;

/// Bytes that are worked on before the scheduler is asked. 128 KiB take 5 to 15 µs with vectors, so
/// that asking, and reading the clock (some 40 ns) cost nothing that could be measured, and 1 % of a
/// time slice, the least that can be charged, is what they take.
const DEFAULT_SLICE_BYTES: usize = 128 * 1024;

/// [`DEFAULT_SLICE_BYTES`]; or, for tests, so few that small payloads are sliced too.
static SLICE_BYTES: AtomicUsize = AtomicUsize::new(DEFAULT_SLICE_BYTES);

/// See [`SLICE_BYTES`].
pub fn slice_bytes() -> usize {
    SLICE_BYTES.load(Ordering::Relaxed)
}

/// What costs a process 1 % of a time slice (4,000 reductions, about 1 ms). A slice costs that at
/// least, and more where it took longer: without vectors, on an old CPU, or where the result's memory
/// is new to the system, the same bytes take up to ten times as long.
const TIME_PER_PERCENT: Duration = Duration::from_micros(10);

/// The name of the resource type of [`Masked`], with the version.
const MASKED_NAME: &CStr =
    match CStr::from_bytes_with_nul(concat!("masked ", env!("CARGO_PKG_VERSION"), "\0").as_bytes())
    {
        Ok(name) => name,
        Err(_) => panic!(),
    };

/// The resource type of [`Masked`].
static MASKED: AtomicPtr<ErlNifResourceType> = AtomicPtr::new(ptr::null_mut());

/// Prepares what this module needs of the VM, in the library's `load` or `upgrade` callback.
pub fn load(env: Env, slice_bytes: Option<usize>) -> Result<(), ()> {
    // A slice of text ends where a character does: it must have room for the longest.
    let slice_bytes = slice_bytes.unwrap_or(DEFAULT_SLICE_BYTES).max(4);
    SLICE_BYTES.store(slice_bytes, Ordering::Relaxed);
    // Where an older instance of the module made the type, this one takes it over, with the
    // results that are unfinished; else it is new. What another version of this library made has
    // another name, as it may look different inside: the VM keeps that library until all are gone.
    let mut flags_tried = ErlNifResourceFlags::ERL_NIF_RT_CREATE;
    let masked = [
        ErlNifResourceFlags::ERL_NIF_RT_TAKEOVER,
        ErlNifResourceFlags::ERL_NIF_RT_CREATE,
    ]
    .into_iter()
    // SAFETY: `env` is that of a load callback.
    .map(|flags| unsafe {
        sys::enif_open_resource_type(
            env.as_c_arg(),
            ptr::null(),
            MASKED_NAME.as_ptr(),
            Some(release_masked),
            flags,
            &raw mut flags_tried,
        )
    })
    .find(|masked| !masked.is_null())
    .ok_or(())?;
    MASKED.store(masked.cast_mut(), Ordering::Relaxed);
    Ok(())
}

/// A result of `ws_mask` that is not finished.
struct Masked {
    /// As long as the payload. `None` once it is handed to the VM as a term.
    binary: Option<ErlNifBinary>,
    /// The bytes of it that are there.
    done: usize,
}

/// Called when the last term that refers to a [`Masked`] is gone, finished or not.
unsafe extern "C" fn release_masked(_env: *mut ErlNifEnv, object: *mut c_void) {
    // SAFETY: the VM calls this once for an object of the type `MASKED`, to which no term refers.
    // The binary, where there is one, is still ours.
    unsafe {
        if let Some(mut binary) = (*object.cast::<Masked>()).binary.take() {
            sys::enif_release_binary(&raw mut binary);
        }
    }
}

unsafe extern "C" fn ws_mask(
    env: *mut ErlNifEnv,
    _argc: c_int,
    argv: *const ErlNifTerm,
) -> ErlNifTerm {
    // SAFETY: the VM calls with an environment of this call, and two arguments.
    let (env, [payload_term, key]) = unsafe { (Env::new(&env, env), *argv.cast::<[_; 2]>()) };
    catch(env, || {
        let (Some(payload), Some(key)) = (bytes(env, payload_term), key_of(env, key)) else {
            return bad_argument(env);
        };
        let slice_bytes = slice_bytes();
        if payload.len() > slice_bytes {
            return ws_mask_in_slices(env, payload_term, payload, key);
        }
        let mut charged_until = (payload.len() > slice_bytes / 2).then(Instant::now);
        let (term, out) = new_binary(env, payload.len());
        kernels().mask(payload, key, out);
        if let Some(charged_until) = &mut charged_until {
            charge_for_a_slice(env, charged_until);
        }
        term
    })
}

fn ws_mask_in_slices(
    env: Env<'_>,
    payload_term: ErlNifTerm,
    payload: &[u8],
    key: u32,
) -> ErlNifTerm {
    let payload_term = aligned(env, payload_term, payload);
    // SAFETY: the type is registered. The object is initialised before anyone else can see it; its
    // term holds the one reference to it from then on.
    let (masked_term, masked) = unsafe {
        let mut binary = MaybeUninit::uninit();
        if sys::enif_alloc_binary(payload.len(), binary.as_mut_ptr()) == 0 {
            return raise(env, c"system_limit");
        }
        let masked = Masked {
            binary: Some(binary.assume_init()),
            done: 0,
        };
        let object = sys::enif_alloc_resource(MASKED.load(Ordering::Relaxed), size_of::<Masked>())
            .cast::<Masked>();
        object.write(masked);
        let term = sys::enif_make_resource(env.as_c_arg(), object.cast());
        sys::enif_release_resource(object.cast());
        (term, &mut *object)
    };
    ws_mask_slices(env, payload_term, payload, key, masked_term, masked)
}

unsafe extern "C" fn ws_mask_rest(
    env: *mut ErlNifEnv,
    _argc: c_int,
    argv: *const ErlNifTerm,
) -> ErlNifTerm {
    // SAFETY: scheduled by `ws_mask_slices`, with three arguments.
    let (env, [payload_term, key, masked_term]) =
        unsafe { (Env::new(&env, env), *argv.cast::<[_; 3]>()) };
    catch(env, || {
        let (Some(payload), Some(key)) = (bytes(env, payload_term), key_of(env, key)) else {
            return bad_argument(env);
        };
        let mut object = ptr::null();
        // SAFETY: the type is registered.
        let is_masked = unsafe {
            let masked = MASKED.load(Ordering::Relaxed);
            sys::enif_get_resource(env.as_c_arg(), masked_term, masked, &raw mut object) != 0
        };
        if !is_masked {
            return bad_argument(env);
        }
        // SAFETY: the term keeps the object alive, and only this chain of calls has the term.
        let masked = unsafe { &mut *object.cast_mut().cast::<Masked>() };
        ws_mask_slices(env, payload_term, payload, key, masked_term, masked)
    })
}

fn ws_mask_slices(
    env: Env<'_>,
    payload_term: ErlNifTerm,
    payload: &[u8],
    key: u32,
    masked_term: ErlNifTerm,
    masked: &mut Masked,
) -> ErlNifTerm {
    let slice_bytes = slice_bytes();
    let binary = masked.binary.as_ref().expect("the result is not finished");
    // SAFETY: the binary is ours, and its bytes stay where they are until it is released.
    let out = unsafe { slice::from_raw_parts_mut(binary.data.cast(), binary.size) };
    assert_eq!(out.len(), payload.len());
    let mut charged_until = Instant::now();
    while masked.done < payload.len() {
        let from = masked.done;
        let to = payload.len().min(from.saturating_add(slice_bytes));
        let rotated = key.rotate_left(8 * (from % 4) as u32);
        kernels().mask(&payload[from..to], rotated, &mut out[from..to]);
        masked.done = to;
        if charge_for_a_slice(env, &mut charged_until) && to < payload.len() {
            // SAFETY: `key` fits.
            let key = unsafe { sys::enif_make_uint(env.as_c_arg(), key) };
            return reschedule(
                env,
                c"ws_mask",
                ws_mask_rest,
                &[payload_term, key, masked_term],
            );
        }
    }
    let mut binary = masked.binary.take().expect("the result is not finished");
    // SAFETY: the binary is ours and is whole. It belongs to the term from here on.
    unsafe { sys::enif_make_binary(env.as_c_arg(), &raw mut binary) }
}

unsafe extern "C" fn utf8_validate(
    env: *mut ErlNifEnv,
    _argc: c_int,
    argv: *const ErlNifTerm,
) -> ErlNifTerm {
    // SAFETY: the VM calls with an environment of this call, and one argument.
    let (env, text_term) = unsafe { (Env::new(&env, env), *argv) };
    catch(env, || {
        let Some(text) = bytes(env, text_term) else {
            return bad_argument(env);
        };
        let slice_bytes = slice_bytes();
        if text.len() > slice_bytes {
            let text_term = aligned(env, text_term, text);
            return utf8_validate_slices(env, text_term, text, 0);
        }
        let mut charged_until = (text.len() > slice_bytes / 2).then(Instant::now);
        let is_utf8 = kernels().is_utf8(text);
        if let Some(charged_until) = &mut charged_until {
            charge_for_a_slice(env, charged_until);
        }
        boolean(is_utf8)
    })
}

unsafe extern "C" fn utf8_validate_rest(
    env: *mut ErlNifEnv,
    _argc: c_int,
    argv: *const ErlNifTerm,
) -> ErlNifTerm {
    // SAFETY: scheduled by `utf8_validate_slices`, with two arguments.
    let (env, [text_term, done]) = unsafe { (Env::new(&env, env), *argv.cast::<[_; 2]>()) };
    catch(env, || {
        let mut from = 0;
        // SAFETY: `from` can be written.
        let is_number = unsafe { sys::enif_get_uint64(env.as_c_arg(), done, &raw mut from) != 0 };
        match bytes(env, text_term) {
            Some(text) if is_number => utf8_validate_slices(env, text_term, text, from as usize),
            _ => bad_argument(env),
        }
    })
}

fn utf8_validate_slices(
    env: Env<'_>,
    text_term: ErlNifTerm,
    text: &[u8],
    mut from: usize,
) -> ErlNifTerm {
    let slice_bytes = slice_bytes();
    let mut charged_until = Instant::now();
    while from < text.len() {
        let to = cut(text, text.len().min(from.saturating_add(slice_bytes)));
        if !kernels().is_utf8(&text[from..to]) {
            return boolean(false);
        }
        from = to;
        if charge_for_a_slice(env, &mut charged_until) && from < text.len() {
            // SAFETY: `env` is that of this call.
            let from = unsafe { sys::enif_make_uint64(env.as_c_arg(), from as u64) };
            return reschedule(
                env,
                c"utf8_validate",
                utf8_validate_rest,
                &[text_term, from],
            );
        }
    }
    boolean(true)
}

/// Calls `body`, and raises `nif_panicked` where that panics: a panic that reached the VM would end
/// it.
pub fn catch(env: Env<'_>, body: impl FnOnce() -> ErlNifTerm) -> ErlNifTerm {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|_panic| raise(env, c"nif_panicked"))
}

fn raise(env: Env<'_>, reason: &CStr) -> ErlNifTerm {
    // SAFETY: `env` is that of this call.
    unsafe { sys::enif_raise_exception(env.as_c_arg(), atom(env, reason)) }
}

pub fn atom(env: Env<'_>, name: &CStr) -> ErlNifTerm {
    // SAFETY: `env` is that of this call.
    unsafe { sys::enif_make_atom(env.as_c_arg(), name.as_ptr()) }
}

pub fn bad_argument(env: Env<'_>) -> ErlNifTerm {
    // SAFETY: `env` is that of this call.
    unsafe { sys::enif_make_badarg(env.as_c_arg()) }
}

fn boolean(value: bool) -> ErlNifTerm {
    let atom = if value { true_() } else { false_() };
    atom.as_c_arg()
}

/// The bytes of a binary; `None` for every other term, bitstrings among them.
pub fn bytes<'a>(env: Env<'a>, term: ErlNifTerm) -> Option<&'a [u8]> {
    let mut binary = MaybeUninit::uninit();
    // SAFETY: the term is of this call, whose bytes stay where they are until it returns: as long
    // as `env` lives. A null pointer, which no slice may have, is that of no bytes.
    unsafe {
        if sys::enif_inspect_binary(env.as_c_arg(), term, binary.as_mut_ptr()) == 0 {
            return None;
        }
        let ErlNifBinary { data, size, .. } = binary.assume_init();
        Some(if data.is_null() {
            &[]
        } else {
            slice::from_raw_parts(data, size)
        })
    }
}

/// A masking key, which is an integer of 32 bits without a sign; `None` for every other term.
pub fn key_of(env: Env<'_>, term: ErlNifTerm) -> Option<u32> {
    let mut key: c_uint = 0;
    // SAFETY: the term is of this call, and `key` can be written.
    let is_key = unsafe { sys::enif_get_uint(env.as_c_arg(), term, &raw mut key) != 0 };
    is_key.then_some(key)
}

/// A new binary of `len` bytes, which have no value yet.
pub fn new_binary<'a>(env: Env<'a>, len: usize) -> (ErlNifTerm, &'a mut [MaybeUninit<u8>]) {
    let mut term = MaybeUninit::uninit();
    // SAFETY: the bytes may be written until this call returns: as long as `env` lives. A null
    // pointer, which no slice may have, is that of no bytes.
    unsafe {
        let data = sys::enif_make_new_binary(env.as_c_arg(), len, term.as_mut_ptr());
        let out = if data.is_null() {
            &mut []
        } else {
            slice::from_raw_parts_mut(data.cast(), len)
        };
        (term.assume_init(), out)
    }
}

/// The term of a binary that has these `bytes`, and whose bytes can be had again at no cost: the
/// same term as a rule. Where a binary begins within a byte (`<<_::3, text::binary>>`), the VM
/// copies the whole of it each time that it is asked for the bytes. That is done once then.
fn aligned(env: Env<'_>, term: ErlNifTerm, bytes: &[u8]) -> ErlNifTerm {
    // Long enough that the VM makes it a reference, which costs nothing, and no copy.
    let start_len = bytes.len().min(128);
    // SAFETY: the part is within the binary.
    let start = unsafe { sys::enif_make_sub_binary(env.as_c_arg(), term, 0, start_len) };
    if self::bytes(env, start).map(<[u8]>::as_ptr) == Some(bytes.as_ptr()) {
        return term;
    }
    let (copy, out) = new_binary(env, bytes.len());
    // SAFETY: `out` is as long as `bytes`, and new.
    unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), out.as_mut_ptr().cast(), bytes.len()) };
    copy
}

/// Charges the process for a slice of work, which began at `charged_until`. Whether its time slice
/// is spent.
pub fn charge_for_a_slice(env: Env<'_>, charged_until: &mut Instant) -> bool {
    let now = Instant::now();
    let percent = now.duration_since(*charged_until).as_nanos() / TIME_PER_PERCENT.as_nanos();
    let percent = percent.clamp(1, 100) as u32;
    // What is less than a percent is charged with the next slice.
    *charged_until = now.min(*charged_until + percent * TIME_PER_PERCENT);
    // SAFETY: `env` is that of this call.
    unsafe { sys::enif_consume_timeslice(env.as_c_arg(), percent as c_int) == 1 }
}

type RawNif = unsafe extern "C" fn(*mut ErlNifEnv, c_int, *const ErlNifTerm) -> ErlNifTerm;

/// Has `function` called with `args` once it is the process's turn again. The result is what the
/// calling function must return.
fn reschedule(env: Env<'_>, name: &CStr, function: RawNif, args: &[ErlNifTerm]) -> ErlNifTerm {
    // SAFETY: the terms are of this call. `function` takes as many as there are.
    unsafe {
        let count = args.len() as c_int;
        sys::enif_schedule_nif(
            env.as_c_arg(),
            name.as_ptr(),
            0,
            function,
            count,
            args.as_ptr(),
        )
    }
}

inventory::submit!(Nif {
    name: c"ws_mask".as_ptr(),
    arity: 2,
    flags: 0,
    raw_func: ws_mask
});
inventory::submit!(Nif {
    name: c"utf8_validate".as_ptr(),
    arity: 1,
    flags: 0,
    raw_func: utf8_validate
});
