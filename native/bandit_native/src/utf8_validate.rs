//! `utf8_validate/1`.

use std::ffi::c_int;
use std::time::Instant;

use rustler::codegen_runtime::inventory;
use rustler::sys::{self, ErlNifEnv, ErlNifTerm};
use rustler::{Env, Nif};
use websocket_kernels::cut;

use crate::kernels;
use crate::slices::{charge_for_a_slice, charged, slice_bytes};
use crate::vm::{aligned, bad_argument, boolean, bytes, catch, reschedule};

inventory::submit!(Nif {
    name: c"utf8_validate".as_ptr(),
    arity: 1,
    flags: 0,
    raw_func: utf8_validate
});

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
        if text.len() > slice_bytes() {
            return utf8_validate_in_slices(env, text_term, text);
        }
        boolean(charged(env, text.len(), move || kernels().is_utf8(text)))
    })
}

/// Begins to validate a text of more than a slice.
#[cold]
fn utf8_validate_in_slices(env: Env<'_>, text_term: ErlNifTerm, text: &[u8]) -> ErlNifTerm {
    let text_term = aligned(env, text_term, text);
    utf8_validate_slices(env, text_term, text, 0)
}

/// Goes on where [`utf8_validate_slices`] left off.
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

/// Validates slice by slice from the byte `from` on, where a character begins, until the process's
/// time slice or the text is at its end.
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
