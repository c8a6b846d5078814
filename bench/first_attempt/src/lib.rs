//! The two functions as a first attempt with Rustler has them: a byte at a time into a `Vec`, which
//! is then copied into a binary, and the standard library's validation. Built and loaded by
//! ../contenders.ex. A call is not interrupted, however long it takes.

use rustler::{Binary, Env, OwnedBinary};

#[rustler::nif]
fn ws_mask<'a>(env: Env<'a>, payload: Binary<'a>, mask: u32) -> Binary<'a> {
    let key = mask.to_be_bytes();
    let masked: Vec<u8> = payload
        .iter()
        .enumerate()
        .map(|(index, byte)| byte ^ key[index % 4])
        .collect();
    let mut binary = OwnedBinary::new(masked.len());
    binary.as_mut_slice().copy_from_slice(&masked);
    binary.release(env)
}

#[rustler::nif]
fn utf8_validate(text: Binary) -> bool {
    std::str::from_utf8(text.as_slice()).is_ok()
}

rustler::init!("Elixir.BanditNative.Bench.FirstAttempt");
