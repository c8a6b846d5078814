//! `ws_mask/2`.

use std::ffi::{CStr, c_int, c_void};
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::time::Instant;
use std::{ptr, slice};

use rustler::codegen_runtime::inventory;
use rustler::sys::{
    self, ErlNifBinary, ErlNifEnv, ErlNifResourceFlags, ErlNifResourceType, ErlNifTerm,
};
use rustler::{Env, Nif};

use crate::kernels;
use crate::slices::{charge_for_a_slice, charged, slice_bytes};
use crate::vm::{aligned, bad_argument, bytes, catch, key_of, new_binary, raise, reschedule};

inventory::submit!(Nif {
    name: c"ws_mask".as_ptr(),
    arity: 2,
    flags: 0,
    raw_func: ws_mask
});

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
        if payload.len() > slice_bytes() {
            return ws_mask_in_slices(env, payload_term, payload, key);
        }
        charged(env, payload.len(), move || {
            let (term, out) = new_binary(env, payload.len());
            kernels().mask(payload, key, out);
            term
        })
    })
}

/// Begins to mask a payload of more than a slice.
#[cold]
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

/// Goes on where [`ws_mask_slices`] left off.
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

/// Masks slice by slice, until the process's time slice or the payload is at its end.
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
pub fn load(env: Env) -> Result<(), ()> {
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
