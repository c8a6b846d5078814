defmodule BanditNative.Fallback do
  @moduledoc false
  # What the native library does, in plain Elixir: for a node that can't load it.

  import Bitwise

  defguardp is_mask(mask) when is_integer(mask) and mask >= 0 and mask <= 0xFFFFFFFF

  # RFC 6455 §5.3. The accumulator grows in place, with room to spare; the copy gives that back, and
  # is what a native result is: a binary that refers to nothing else.
  def ws_mask(payload, mask) when is_binary(payload) and is_mask(mask) do
    payload |> mask_words(mask, <<>>) |> :binary.copy()
  end

  def ws_mask(payload, mask), do: :erlang.error(:badarg, [payload, mask])

  # Eight words a step: to look at the rest of the payload and to make room in the accumulator costs
  # about as much as to mask that many.
  defp mask_words(
         <<a::32, b::32, c::32, d::32, e::32, f::32, g::32, h::32, rest::binary>>,
         mask,
         masked
       ) do
    mask_words(
      rest,
      mask,
      <<masked::binary, bxor(a, mask)::32, bxor(b, mask)::32, bxor(c, mask)::32,
        bxor(d, mask)::32, bxor(e, mask)::32, bxor(f, mask)::32, bxor(g, mask)::32,
        bxor(h, mask)::32>>
    )
  end

  defp mask_words(<<word::32, rest::binary>>, mask, masked) do
    mask_words(rest, mask, <<masked::binary, bxor(word, mask)::32>>)
  end

  # One to three bytes are masked with the first bytes of the key.
  defp mask_words(<<word::24>>, mask, masked), do: <<masked::binary, bxor(word, mask >>> 8)::24>>
  defp mask_words(<<word::16>>, mask, masked), do: <<masked::binary, bxor(word, mask >>> 16)::16>>
  defp mask_words(<<word::8>>, mask, masked), do: <<masked::binary, bxor(word, mask >>> 24)::8>>
  defp mask_words(<<>>, _mask, masked), do: masked

  def ws_mask_batch([{payload, mask} | frames]),
    do: [ws_mask(payload, mask) | ws_mask_batch(frames)]

  def ws_mask_batch([]), do: []
  def ws_mask_batch(term), do: :erlang.error(:badarg, [term])

  def utf8_validate(binary) when is_binary(binary), do: String.valid?(binary)
  def utf8_validate(term), do: :erlang.error(:badarg, [term])
end
