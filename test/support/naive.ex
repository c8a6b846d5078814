defmodule BanditNative.Naive do
  @moduledoc """
  What the functions are to do, in a form that is obviously right and slow.
  """

  import Bitwise

  # RFC 6455 §5.3, byte by byte.
  def ws_mask(payload, mask) do
    key = :binary.bin_to_list(<<mask::32>>)

    for {byte, index} <- Enum.with_index(:binary.bin_to_list(payload)), into: <<>> do
      <<bxor(byte, Enum.at(key, rem(index, 4)))>>
    end
  end

  # Unicode 15, Table 3-7, row by row.
  defguardp is_continuation(byte) when byte in 0x80..0xBF

  def utf8_validate(<<a, rest::binary>>) when a in 0x00..0x7F, do: utf8_validate(rest)

  def utf8_validate(<<a, b, rest::binary>>) when a in 0xC2..0xDF and is_continuation(b),
    do: utf8_validate(rest)

  def utf8_validate(<<a, b, c, rest::binary>>)
      when a == 0xE0 and b in 0xA0..0xBF and is_continuation(c),
      do: utf8_validate(rest)

  def utf8_validate(<<a, b, c, rest::binary>>)
      when a in 0xE1..0xEC and is_continuation(b) and is_continuation(c),
      do: utf8_validate(rest)

  def utf8_validate(<<a, b, c, rest::binary>>)
      when a == 0xED and b in 0x80..0x9F and is_continuation(c),
      do: utf8_validate(rest)

  def utf8_validate(<<a, b, c, rest::binary>>)
      when a in 0xEE..0xEF and is_continuation(b) and is_continuation(c),
      do: utf8_validate(rest)

  def utf8_validate(<<a, b, c, d, rest::binary>>)
      when a == 0xF0 and b in 0x90..0xBF and is_continuation(c) and is_continuation(d),
      do: utf8_validate(rest)

  def utf8_validate(<<a, b, c, d, rest::binary>>)
      when a in 0xF1..0xF3 and is_continuation(b) and is_continuation(c) and is_continuation(d),
      do: utf8_validate(rest)

  def utf8_validate(<<a, b, c, d, rest::binary>>)
      when a == 0xF4 and b in 0x80..0x8F and is_continuation(c) and is_continuation(d),
      do: utf8_validate(rest)

  def utf8_validate(<<>>), do: true
  def utf8_validate(_binary), do: false
end
