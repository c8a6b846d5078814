//! The standard library's validator: portable, and with a fast path for ASCII.

/// See [`super::Kernel`].
pub fn is_utf8(text: &[u8]) -> bool {
    std::str::from_utf8(text).is_ok()
}
