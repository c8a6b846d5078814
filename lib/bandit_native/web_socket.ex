defmodule BanditNative.WebSocket do
  @moduledoc """
  WebSocket primitive operations in native code, for Bandit's `:primitive_ops_module`.

  All functions are pure. A call with a large binary is done in parts: it costs its process
  reductions in proportion to the size, and lets other processes run in between.
  """

  alias BanditNative.NIF

  if Code.ensure_loaded?(Bandit.PrimitiveOps.WebSocket) do
    @behaviour Bandit.PrimitiveOps.WebSocket
    @impl Bandit.PrimitiveOps.WebSocket
  end

  @doc """
  Masks or unmasks a frame's payload
  ([RFC 6455 §5.3](https://www.rfc-editor.org/rfc/rfc6455#section-5.3)).

  The mask is the masking key as Bandit reads it from the frame: its four bytes as a big-endian
  integer. The result is as long as the payload and has memory of its own: it keeps neither the
  payload nor the packet that this came in from being freed. Masking it again with the same mask
  gives the payload.

      iex> BanditNative.WebSocket.ws_mask("Hello", 0x37FA213D)
      <<0x7F, 0x9F, 0x4D, 0x51, 0x58>>
      iex> BanditNative.WebSocket.ws_mask(<<0x7F, 0x9F, 0x4D, 0x51, 0x58>>, 0x37FA213D)
      "Hello"

  Raises `ArgumentError` if the payload is not a binary (a bitstring or iodata is none), or if the
  mask is not an integer from `0` to `0xFFFFFFFF`.
  """
  @doc since: "0.1.0"
  @spec ws_mask(payload :: binary(), mask :: 0..0xFFFFFFFF) :: binary()
  defdelegate ws_mask(payload, mask), to: NIF

  @doc """
  Masks or unmasks the payloads of several frames in one call.

  Takes a list of `{payload, mask}`, each as for `ws_mask/2`, and gives the list of results in the
  same order. For small payloads that is several times cheaper than a call for each.

      iex> BanditNative.WebSocket.ws_mask_batch([{"Hello", 0x37FA213D}, {"", 1}, {"abc", 0}])
      [<<0x7F, 0x9F, 0x4D, 0x51, 0x58>>, "", "abc"]

  Results of more than 64 bytes share memory: up to 256 of them, and up to 128 KiB together, are
  parts of one binary, which is freed when none of them is used any longer. They keep nothing else.
  To keep a small one for long, copy it with `:binary.copy/1`.

  Raises `ArgumentError` if the argument is not a list of such tuples; then nothing is done.
  """
  @doc since: "0.1.0"
  @spec ws_mask_batch([{payload :: binary(), mask :: 0..0xFFFFFFFF}]) :: [binary()]
  # Of NIF, Dialyzer sees the Elixir functions only. :too_large is the library's.
  @dialyzer {:no_match, ws_mask_batch: 1}
  def ws_mask_batch([{payload, mask}]), do: [ws_mask(payload, mask)]

  def ws_mask_batch(frames) do
    with :too_large <- NIF.ws_mask_batch(frames) do
      {head, tail} = Enum.split(frames, div(length(frames), 2))
      ws_mask_batch(head) ++ ws_mask_batch(tail)
    end
  end

  @doc """
  Tells whether a binary is well-formed UTF-8, as a text message must be
  ([RFC 6455 §8.1](https://www.rfc-editor.org/rfc/rfc6455#section-8.1)).

  The rules are those of `String.valid?/1`, which are those of
  [Unicode 15, Table 3-7](https://www.unicode.org/versions/Unicode15.0.0/ch03.pdf): surrogates,
  overlong forms and numbers above `U+10FFFF` are not well-formed; noncharacters and NUL are.

      iex> BanditNative.WebSocket.utf8_validate("κόσμε")
      true
      iex> BanditNative.WebSocket.utf8_validate(<<0xED, 0xA0, 0x80>>)
      false

  A message that came in fragments is to be checked as a whole: a character may begin in one
  fragment and end in the next.

  Raises `ArgumentError` if the argument is not a binary.
  """
  @doc since: "0.1.0"
  @spec utf8_validate(binary()) :: boolean()
  defdelegate utf8_validate(binary), to: NIF
end
