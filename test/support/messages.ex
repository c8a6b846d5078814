defmodule BanditNative.Messages do
  @moduledoc """
  Messages for live connections.
  """

  # Where the length of a frame is written in another way (RFC 6455 §5.2), and up to what Bandit
  # accepts by default.
  def sizes, do: [0, 1, 125, 126, 65_535, 65_536, 1_048_576, 7_999_000]

  @characters ~w(a é € 😀 { " : 7 } Ж 語 \u0000 \uFFFF) ++ [" "]

  @doc "Text of this many bytes, in which no two places look the same."
  def text(size) do
    characters = List.to_tuple(@characters)

    text =
      for <<byte <- :rand.bytes(div(size, 2))>>, into: "" do
        elem(characters, rem(byte, tuple_size(characters)))
      end

    fit(text, size)
  end

  # Cut where a character ends, and made long enough.
  defp fit(text, size) when byte_size(text) <= size,
    do: text <> String.duplicate(".", size - byte_size(text))

  defp fit(text, size) do
    cut = Enum.find(size..0//-1, &(&1 == 0 or :binary.at(text, &1) not in 0x80..0xBF))
    text |> binary_part(0, cut) |> fit(size)
  end

  def binary(size), do: :rand.bytes(size)

  @doc "Texts that are not UTF-8, and that some other program has taken for it."
  def invalid_texts do
    spaces =
      for n <- 126..129, do: String.duplicate(" ", n) <> <<0xD8>> <> String.duplicate(" ", 128)

    digits = "123456789012345678901234567890"

    one_character =
      for hex <- ~w(F08FBFBF C0AF E09FBF C1BF EDA080 EDBFBF EDA080EDB080 F4908080 FF 80
                    C241 E141 E041 ED41 F041 F141 F441 C3 E282 F09F98),
          do: Base.decode16!(hex)

    spaces ++
      [
        String.duplicate("a", 63) <> <<0xC3>> <> String.duplicate("a", 64),
        "\"" <> digits <> <<0xC2>> <> "134567890\"",
        String.duplicate("a", 63) <> <<0xC3>>,
        String.duplicate("a", 63) <> "é" <> <<0xFF>>,
        text(65_536) <> <<0xF0>>,
        text(100_000) <> <<0xED, 0xA0, 0x80>> <> text(100_000)
      ] ++ one_character
  end
end
