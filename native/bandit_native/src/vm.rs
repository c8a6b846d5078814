//! Functions of the VM, made safe for as long as a call lasts.
//!
//! The NIFs that are called for each frame are raw functions, registered through [`rustler::Nif`],
//! and use these. The wrapper that `#[rustler::nif]` makes collects the arguments into a `Vec` and
//! boxes the result, which is about half of what a call with a small payload costs; a raw function
//! costs what one written in C does (`bench/limits.exs`). The price is `unsafe`: terms and
//! environments may only be used within the call that they came with, which the lifetime of [`Env`]
//! stands for, and panics must not reach the VM, which [`catch`] sees to.

use std::ffi::{CStr, c_int, c_uint};
use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::{ptr, slice};

use rustler::Env;
use rustler::sys::{self, ErlNifBinary, ErlNifEnv, ErlNifTerm};
use rustler::types::atom::{false_, true_};

/// Calls `body`, and raises `nif_panicked` where that panics: a panic that reached the VM would end
/// it.
pub fn catch(env: Env<'_>, body: impl FnOnce() -> ErlNifTerm) -> ErlNifTerm {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|_panic| raise(env, c"nif_panicked"))
}

pub fn raise(env: Env<'_>, reason: &CStr) -> ErlNifTerm {
    // SAFETY: `env` is that of this call.
    unsafe { sys::enif_raise_exception(env.as_c_arg(), atom(env, reason)) }
}

pub fn atom(env: Env<'_>, name: &CStr) -> ErlNifTerm {
    // SAFETY: `env` is that of this call.
    unsafe { sys::enif_make_atom(env.as_c_arg(), name.as_ptr()) }
}

#[cold]
pub fn bad_argument(env: Env<'_>) -> ErlNifTerm {
    // SAFETY: `env` is that of this call.
    unsafe { sys::enif_make_badarg(env.as_c_arg()) }
}

pub fn boolean(value: bool) -> ErlNifTerm {
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
pub fn aligned(env: Env<'_>, term: ErlNifTerm, bytes: &[u8]) -> ErlNifTerm {
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

/// A NIF as the VM calls it: with the environment, and the arguments' number and place.
pub type RawNif = unsafe extern "C" fn(*mut ErlNifEnv, c_int, *const ErlNifTerm) -> ErlNifTerm;

/// Has `function` called with `args` once it is the process's turn again. The result is what the
/// calling function must return.
pub fn reschedule(env: Env<'_>, name: &CStr, function: RawNif, args: &[ErlNifTerm]) -> ErlNifTerm {
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
