//! `ws_mask_batch/1`: many small payloads in one call, the results in one allocation.
//!
//! What a small payload costs is the call and the allocation of the result, and both are made once
//! here. A batch is bounded, so that it takes no longer than a slice of a large payload does, and
//! needs no slices of its own. `BanditNative.WebSocket` halves what is over the bounds.

use std::ffi::c_int;
use std::mem::MaybeUninit;
use std::ptr;
use std::time::Instant;

use rustler::codegen_runtime::inventory;
use rustler::sys::{self, ErlNifEnv, ErlNifTerm};
use rustler::{Env, Nif};

use crate::kernels;
use crate::slices::{charge_for_a_slice, slice_bytes};
use crate::vm::{atom, bad_argument, bytes, catch, key_of, new_binary};

/// Payloads in a batch, each of which takes some 50 ns.
const MAX_FRAMES: usize = 256;

/// Up to this many bytes a binary is on the process's heap, where it costs no allocation: it has
/// memory of its own. (`ERL_ONHEAP_BIN_LIMIT`)
const HEAP_BINARY_BYTES: usize = 64;

unsafe extern "C" fn ws_mask_batch(
    env: *mut ErlNifEnv,
    _argc: c_int,
    argv: *const ErlNifTerm,
) -> ErlNifTerm {
    // SAFETY: the VM calls with an environment of this call, and one argument.
    let (env, list) = unsafe { (Env::new(&env, env), *argv) };
    catch(env, || {
        let mut size = Size::default();
        match mask_list(env, list, &mut size) {
            Ok(masked) => {
                if size.is_more_than_half() {
                    charge_for_a_slice(env, &mut Instant::now());
                }
                masked.list
            }
            Err(Refusal::BadArgument) => bad_argument(env),
            Err(Refusal::TooLarge) => atom(env, c"too_large"),
        }
    })
}

/// Why a batch is not masked.
enum Refusal {
    BadArgument,
    TooLarge,
}

/// How large a batch is, as far as it has been looked at.
#[derive(Default)]
struct Size {
    frames: usize,
    bytes: usize,
    /// Of the payloads that do not fit on the heap.
    shared_bytes: usize,
}

impl Size {
    fn is_too_large(&self) -> bool {
        self.frames > MAX_FRAMES || self.bytes > slice_bytes()
    }

    fn is_more_than_half(&self) -> bool {
        self.frames > MAX_FRAMES / 2 || self.bytes > slice_bytes() / 2
    }
}

struct Masked<'a> {
    list: ErlNifTerm,
    /// The binary that the larger results are parts of; any term where there are none.
    shared: ErlNifTerm,
    shared_bytes: &'a mut [MaybeUninit<u8>],
}

/// Masks the payloads of `list`. It calls itself for the list's tail: on the way to the end the
/// frames are checked and counted, there the shared binary is made, and on the way back the payloads
/// are masked and the results put in front of one another. The depth is bounded by `MAX_FRAMES`.
fn mask_list<'a>(env: Env<'a>, list: ErlNifTerm, size: &mut Size) -> Result<Masked<'a>, Refusal> {
    let Some((head, tail)) = list_cell(env, list) else {
        // SAFETY: the term is of this call.
        if unsafe { sys::enif_is_empty_list(env.as_c_arg(), list) } == 0 {
            return Err(Refusal::BadArgument);
        }
        let (shared, shared_bytes): (_, &mut [_]) = match size.shared_bytes {
            0 => (list, &mut []),
            len => new_binary(env, len),
        };
        return Ok(Masked {
            list,
            shared,
            shared_bytes,
        });
    };
    let (payload, key) = frame(env, head).ok_or(Refusal::BadArgument)?;
    let from = size.shared_bytes;
    let is_shared = payload.len() > HEAP_BINARY_BYTES;
    size.frames += 1;
    size.bytes += payload.len();
    if is_shared {
        size.shared_bytes += payload.len();
    }
    if size.is_too_large() {
        return Err(Refusal::TooLarge);
    }
    let Masked {
        list: rest,
        shared,
        shared_bytes,
    } = mask_list(env, tail, size)?;
    let masked = if is_shared {
        kernels().mask(payload, key, &mut shared_bytes[from..from + payload.len()]);
        if shared_bytes.len() == payload.len() {
            shared
        } else {
            // SAFETY: the part is within the binary, and all terms are of this call.
            unsafe { sys::enif_make_sub_binary(env.as_c_arg(), shared, from, payload.len()) }
        }
    } else {
        let (own, own_bytes) = new_binary(env, payload.len());
        kernels().mask(payload, key, own_bytes);
        own
    };
    // SAFETY: the terms are of this call.
    let list = unsafe { sys::enif_make_list_cell(env.as_c_arg(), masked, rest) };
    Ok(Masked {
        list,
        shared,
        shared_bytes,
    })
}

/// A list's head and tail; `None` where the term is no list, or an empty one.
fn list_cell(env: Env<'_>, list: ErlNifTerm) -> Option<(ErlNifTerm, ErlNifTerm)> {
    let (mut head, mut tail) = (list, list);
    // SAFETY: the term is of this call, and both can be written.
    let is_cell =
        unsafe { sys::enif_get_list_cell(env.as_c_arg(), list, &raw mut head, &raw mut tail) != 0 };
    is_cell.then_some((head, tail))
}

/// The parts of `{payload, mask}`; `None` for every other term.
fn frame<'a>(env: Env<'a>, term: ErlNifTerm) -> Option<(&'a [u8], u32)> {
    let mut arity = 0;
    let mut elements = ptr::null();
    // SAFETY: the term is of this call, and both can be written. A tuple's elements stay where they
    // are until the call returns.
    let [payload, key] = unsafe {
        if sys::enif_get_tuple(env.as_c_arg(), term, &raw mut arity, &raw mut elements) == 0
            || arity != 2
        {
            return None;
        }
        *elements.cast::<[ErlNifTerm; 2]>()
    };
    Some((bytes(env, payload)?, key_of(env, key)?))
}

inventory::submit!(Nif {
    name: c"ws_mask_batch".as_ptr(),
    arity: 1,
    flags: 0,
    raw_func: ws_mask_batch
});
