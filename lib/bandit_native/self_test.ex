defmodule BanditNative.SelfTest do
  @moduledoc false
  # Checks an implementation of ws_mask/2 and utf8_validate/1 against RFC 6455, Unicode, inputs that
  # broke other implementations, frames of real clients, and another implementation. The tests and
  # `mix bandit_native` run it.

  import Bitwise

  @fixtures Path.expand("../../test/fixtures/frames", __DIR__)

  @type check :: {name :: String.t(), cases :: pos_integer(), failures :: [String.t()]}

  @doc """
  Runs all checks on `module`.
  """
  @spec run(module(), reference :: module()) :: [check()]
  def run(module, reference) do
    mask_checks(&module.ws_mask/2, &reference.ws_mask/2) ++
      utf8_checks(&module.utf8_validate/1, &reference.utf8_validate/1) ++
      for client <- clients() do
        check("frames that #{client} sent", messages(client), fn message ->
          {frame, digest} = message
          {:crypto.hash(:sha256, module.ws_mask(frame.payload, frame.mask)), digest}
        end)
      end
  end

  @doc """
  Those on a function that masks.
  """
  @spec mask_checks(mask, reference :: mask) :: [check()]
        when mask: (binary(), 0..0xFFFFFFFF -> binary())
  def mask_checks(ws_mask, reference) do
    [
      check("ws_mask: RFC 6455 §5.7, and inputs that broke others", mask_cases(), fn case ->
        {_name, payload, mask, expected} = case
        {ws_mask.(payload, mask), expected}
      end),
      check("ws_mask: a 32-byte text at 34 offsets and 6 sizes", announce_cases(), fn case ->
        {payload, expected} = case
        {ws_mask.(payload, 0x37FA213D), expected}
      end),
      check("ws_mask: sizes 0..256 at 8 alignments with 5 masks", size_cases(), fn case ->
        {payload, mask} = case
        {ws_mask.(payload, mask), reference.(payload, mask)}
      end),
      check("ws_mask: a payload cut anywhere, with the key rotated", cut_cases(), fn case ->
        {head, tail, mask} = case
        parts = ws_mask.(head, mask) <> ws_mask.(tail, rotate(mask, byte_size(head)))
        {parts, ws_mask.(head <> tail, mask)}
      end)
    ]
  end

  @doc """
  Those on a function that validates.
  """
  @spec utf8_checks(validate, reference :: validate) :: [check()]
        when validate: (binary() -> boolean())
  def utf8_checks(utf8_validate, reference) do
    [
      check("utf8_validate: Unicode, and inputs that broke others", utf8_cases(), fn case ->
        {_name, text, expected} = case
        {utf8_validate.(text), expected}
      end),
      check("utf8_validate: faults at every place of texts", fault_cases(), fn text ->
        {utf8_validate.(text), reference.(text)}
      end)
    ]
  end

  defp check(name, cases, results) do
    failures =
      for case <- cases, {actual, expected} = results.(case), actual != expected do
        "#{inspect(case, limit: 20)}: #{inspect(actual, limit: 20)} instead of " <>
          inspect(expected, limit: 20)
      end

    {name, Enum.count(cases), failures}
  end

  @doc """
  `{name, payload, mask, masked payload}`.
  """
  def mask_cases do
    [
      {"RFC 6455 §5.7", "Hello", 0x37FA213D, <<0x7F, 0x9F, 0x4D, 0x51, 0x58>>},
      {"byte order of the tail", <<0::56>>, 0x01020304, <<1, 2, 3, 4, 1, 2, 3>>},
      {"a key with leading zeros", "aaaaaaaaaa", 1234, Base.decode16!("616165B3616165B36161")},
      {"a key of mostly zeros", <<0::56>>, 1, <<0, 0, 0, 1, 0, 0, 0>>},
      {"a key that starts with FF", <<0::136>>, 0xFF000001,
       :binary.copy(<<0xFF, 0, 0, 1>>, 4) <> <<0xFF>>},
      {"no payload", "", 0xFFFFFFFF, ""},
      {"mask 0", "Hello", 0, "Hello"}
    ]
  end

  # The text and its result, over and over, behind 0 to 33 other bytes.
  defp announce_cases do
    text = ~s({"type":"announce", "hash":"123})

    masked = Base.decode16!("4CD85544479F0307159B4F53588F4F5E52D80D1D1592404E5FD81B1F06C81240")

    for size <- [32, 65, 100, 125, 65_536, 1_000_000], offset <- 0..33 do
      {payload(text, offset, size), payload(masked, 0, size)}
    end
  end

  defp payload(pattern, offset, size) do
    parent = :binary.copy(<<0xEE>>, offset) <> :binary.copy(pattern, div(size, 32) + 1)
    binary_part(parent, offset, size)
  end

  defp size_cases do
    parent = bytes(256 + 8)

    for size <- 0..256,
        offset <- 0..7,
        mask <- [0, 1, 0x01020304, 0x80000000, 0xFFFFFFFF],
        do: {binary_part(parent, offset, size), mask}
  end

  defp cut_cases do
    for size <- [1, 2, 3, 4, 7, 16, 33, 65, 125, 130, 300], cut <- 0..size do
      {head, tail} = :erlang.split_binary(bytes(size), cut)
      {head, tail, 0x37FA213D}
    end
  end

  defp rotate(mask, bytes) do
    bits = 8 * rem(bytes, 4)
    (mask <<< bits ||| mask >>> (32 - bits)) &&& 0xFFFFFFFF
  end

  @doc """
  `size` bytes in which no part is like another.
  """
  def bytes(size) do
    binary_part(for(i <- 0..div(size, 4), into: <<>>, do: <<i * 0x9E3779B1::32>>), 0, size)
  end

  @doc """
  `{name, binary, is it well-formed?}`.
  """
  def utf8_cases do
    hex = fn name, digits, expected ->
      for digits <- String.split(digits), do: {name, Base.decode16!(digits), expected}
    end

    forgotten_lead_bytes =
      for size <- 126..129 do
        {"a lead byte between ASCII", spaces(size) <> <<0xD8>> <> spaces(128), false}
      end

    parent = :binary.copy("a", 63) <> <<0xC3, 0xA9>> <> :binary.copy(<<0xFF>>, 64)

    List.flatten([
      forgotten_lead_bytes,
      {"a lead byte at a vector's end",
       :binary.copy("a", 63) <> <<0xC3>> <> :binary.copy("a", 64), false},
      {"a lead byte between ASCII", ~s("123456789012345678901234567890\xC2134567890"), false},
      {"cut off within a character", binary_part(parent, 0, 64), false},
      {"invalid bytes behind", binary_part(parent, 0, 65), true},
      {"invalid bytes within", binary_part(parent, 0, 66), false},
      {"a continuation byte in front", binary_part(<<0x80, 0, 0, 0>>, 1, 3), true},
      {"nothing", "", true},
      {"NUL", <<0>>, true},
      hex.("noncharacter", "EFBFBF EFBFBE EFB790 F48FBFBF", true),
      hex.("overlong", "F08FBFBF C0AF E09FBF C1BF C080", false),
      hex.("surrogate", "EDA080 EDBFBF EDA080EDB080", false),
      hex.("beside the surrogates", "ED9FBF EE8080", true),
      hex.("above U+10FFFF", "F4908080 F5808080 FF", false),
      hex.("ASCII for a continuation byte", "C241 E141 E041 ED41 F041 F141 F441", false),
      hex.("a continuation byte alone", "80 BF C3A980 E282ACAC", false)
    ])
  end

  defp spaces(count), do: :binary.copy(" ", count)

  defp fault_cases do
    for filler <- ["a", "é", "€", "😀"],
        size <- Enum.concat(0..70, [127, 128, 129, 255, 256, 257]),
        fault <- ["", <<0xC3>>, <<0x80>>, <<0xED, 0xA0, 0x80>>, <<0xF4, 0x90, 0x80, 0x80>>],
        rest <- ["", "z", spaces(64)] do
      :binary.copy(filler, div(size, byte_size(filler))) <> fault <> rest
    end
  end

  @doc """
  The clients of whom there are recorded frames: none where this package's fixtures are not there.
  """
  def clients do
    # No wildcard: the path may have characters that mean something in one.
    case File.ls(@fixtures) do
      {:ok, names} ->
        for name <- Enum.sort(names),
            String.ends_with?(name, ".frames.gz"),
            do: Path.basename(name, ".frames.gz")

      {:error, _reason} ->
        []
    end
  end

  @doc """
  What a client sent after the handshake, byte for byte.
  """
  def stream(client) do
    @fixtures |> Path.join(client <> ".frames.gz") |> File.read!() |> :zlib.gunzip()
  end

  @doc """
  A client's data frames, each with the SHA-256 of its payload as the client had it.
  """
  def messages(client) do
    digests =
      for line <- File.stream!(Path.join(@fixtures, "manifest.tsv")),
          [^client, _opcode, _size, digest] <- [line |> String.trim() |> String.split("\t")],
          do: Base.decode16!(digest, case: :lower)

    client
    |> stream()
    |> frames()
    |> Enum.filter(&(&1.opcode in [1, 2]))
    |> Enum.zip(digests)
  end

  # RFC 6455 §5.2. The payload is a part of the packet, as it is in a server.
  defp frames(<<_::4, opcode::4, 1::1, 127::7, size::64, mask::32, rest::binary>>),
    do: frames(opcode, mask, size, rest)

  defp frames(<<_::4, opcode::4, 1::1, 126::7, size::16, mask::32, rest::binary>>),
    do: frames(opcode, mask, size, rest)

  defp frames(<<_::4, opcode::4, 1::1, size::7, mask::32, rest::binary>>),
    do: frames(opcode, mask, size, rest)

  defp frames(<<>>), do: []

  defp frames(opcode, mask, size, rest) do
    {payload, rest} = :erlang.split_binary(rest, size)
    [%{opcode: opcode, mask: mask, payload: payload} | frames(rest)]
  end
end
