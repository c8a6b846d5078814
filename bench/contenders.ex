# The NIFs in first_attempt, which this builds where there is cargo.
defmodule BanditNative.Bench.FirstAttempt do
  @moduledoc false

  def build do
    target = Path.join(Mix.Project.build_path(), "first_attempt")
    folder = Path.join(__DIR__, "first_attempt")

    {_output, 0} =
      System.cmd("cargo", ~w(build -q --release --locked --target-dir) ++ [target], cd: folder)

    [library] = Path.wildcard(Path.join(target, "release/*first_attempt.{so,dylib,dll}"))
    without_extension = Path.join(target, "first_attempt")
    # The VM looks for .so on macOS too.
    File.cp!(library, without_extension <> BanditNative.Library.extension())
    :ok = :erlang.load_nif(String.to_charlist(without_extension), 0)
  end

  def ws_mask(_payload, _mask), do: :erlang.nif_error(:not_loaded)
  def utf8_validate(_text), do: :erlang.nif_error(:not_loaded)
end

defmodule BanditNative.Bench.Contenders do
  @moduledoc false
  # The ways in which Elixir servers mask payloads and validate text, or once did, or might: each is
  # {name, what the idea is, function}. And what they are measured with.

  import Bitwise

  alias BanditNative.{Fallback, SelfTest, WebSocket}
  alias BanditNative.Bench.FirstAttempt

  @compile {:no_warn_undefined, [Bandit.PrimitiveOps.WebSocket, BanditNative.Naive]}

  @ours "BanditNative"

  @doc """
  The functions that mask.
  """
  def masking do
    [
      {"4 bytes, binary", "4 bytes at a time, appended to a binary", &words/2},
      {"4 bytes, iolist", "4 bytes at a time, appended to an iolist", &iolist/2},
      {"256-bit integers", "32 bytes at a time, as one integer", &mask_256/2},
      {"512-bit integers", "64 bytes at a time, as one integer", &mask_512/2},
      {"1,024-bit integers", "128 bytes at a time, as one integer", &mask_1024/2},
      {"adaptive", "4 bytes at a time, and 512-bit integers from 64 bytes up", &adaptive/2},
      {":crypto.exor", "the key repeated to the payload's size, and :crypto.exor/2", &exor/2},
      {"32 bytes unrolled",
       "eight 4-byte integers at a time, the idea of Bandit 1.12.5; our fallback",
       &Fallback.ws_mask/2}
    ] ++
      bandit() ++
      first_attempt("a byte-wise Rustler NIF, as a first attempt has it", &FirstAttempt.ws_mask/2) ++
      [{@ours, "this package", &WebSocket.ws_mask/2}]
  end

  @doc """
  The functions that tell whether a text is UTF-8.
  """
  def validation do
    [{"String.valid?/1", "what Bandit calls", &String.valid?/1}] ++
      fast_ascii() ++
      [
        {"32-bit ASCII", "4 bytes at a time while they are ASCII, else a code point",
         &ascii_32/1},
        {"64-bit ASCII", "8 bytes at a time", &ascii_64/1},
        {"512-bit ASCII", "64 bytes at a time", &ascii_512/1},
        {"1,024-bit ASCII", "128 bytes at a time", &ascii_1024/1},
        {"automaton", "a byte at a time through nine states, the idea of Cowboy", &automaton/1}
      ] ++
      first_attempt("a Rustler NIF that calls std::str::from_utf8", &FirstAttempt.utf8_validate/1) ++
      [{@ours, "this package", &WebSocket.utf8_validate/1}]
  end

  @doc """
  The functions that mask the payloads of several frames.
  """
  def batches do
    singly = fn ws_mask -> &for({payload, mask} <- &1, do: ws_mask.(payload, mask)) end

    for({name, idea, ws_mask} <- bandit(), do: {name, idea, singly.(ws_mask)}) ++
      [
        {"#{@ours}, single", "ws_mask/2 for each frame", singly.(&WebSocket.ws_mask/2)},
        {"#{@ours}, batch", "ws_mask_batch/1", &WebSocket.ws_mask_batch/1}
      ]
  end

  @doc """
  Builds the NIFs that need it. Without cargo they are left out.
  """
  def build do
    if System.find_executable("cargo"),
      do: FirstAttempt.build(),
      else: IO.puts("cargo is not installed: the first attempt in Rust is left out\n")
  end

  @doc """
  Raises unless all functions do the same as the naive definitions, also with what broke others.
  """
  def check! do
    # In the tests, Mix has compiled it.
    unless Code.ensure_loaded?(BanditNative.Naive),
      do: Code.require_file("../test/support/naive.ex", __DIR__)

    for {name, _idea, ws_mask} <- masking(),
        do: check!(name, SelfTest.mask_checks(ws_mask, &BanditNative.Naive.ws_mask/2))

    for {name, _idea, utf8_validate} <- validation(),
        do: check!(name, SelfTest.utf8_checks(utf8_validate, &BanditNative.Naive.utf8_validate/1))

    for {count, size} <- batch_sizes(), {name, _idea, batch} <- batches() do
      frames = frames(count, size)
      expected = for {payload, mask} <- frames, do: BanditNative.Naive.ws_mask(payload, mask)
      if batch.(frames) != expected, do: raise("#{name}: wrong for #{count} × #{size}")
    end

    :ok
  end

  defp check!(contender, checks) do
    for {check, _cases, [failure | _]} <- checks, do: raise("#{contender}: #{check}: #{failure}")
  end

  # What is measured

  @doc """
  The sizes of payloads and texts, in bytes: those of the option --sizes, or all.
  """
  def sizes(nil), do: [10, 102, 500, 1002, 5000, 10_002, 100_000, 500_000, 1_000_000, 16_000_000]
  def sizes(option), do: option |> String.split(",") |> Enum.map(&String.to_integer/1)

  def batch_sizes,
    do: for(count <- [1, 2, 5, 10, 20], size <- [16, 128, 1024, 8192], do: {count, size})

  @doc """
  A payload as a server has it: it begins six bytes into a packet.
  """
  def payload(size), do: binary_part(SelfTest.bytes(size + 6), 6, size)

  @doc """
  A masking key for each call.
  """
  def key(call), do: band(call * 0x9E3779B1, 0xFFFFFFFF)

  def frames(count, size), do: for(call <- 1..count, do: {payload(size), key(call)})

  # Mostly ASCII, with a character now and then that is not; what applications send is like this.
  json = """
  [{"id":"01HV3K5R8M","topic":"room:lobby","event":"new_message","ref":184,"payload":{"user":\
  {"id":48151,"name":"Zoë Müller","online":true},"body":"See you at the station at half past eight. \
  The trains are late again, so don't hurry.","sent_at":"2024-04-09T18:24:31.482Z","attachments":[],\
  "reactions":{"+1":3,"🎉":1}}},{"id":"01HV3K5RZQ","topic":"orders:eu-west","event":"price_changed",\
  "ref":185,"payload":{"symbol":"ACME","bid":104.275,"ask":104.31,"volume":1250000,"currency":"EUR",\
  "history":[104.1,104.16,104.2,104.275],"note":null}}]
  """

  @texts [
    ASCII: "The quick brown fox jumps over the lazy dog. ",
    JSON: json,
    CJK: "いろはにほへとちりぬるを。天地玄黃宇宙洪荒。"
  ]

  def texts, do: Keyword.keys(@texts)

  @doc """
  A text of `size` bytes; where the last character would not fit, spaces take its place.
  """
  def text(name, size) do
    pattern = @texts[name]
    text = pattern |> :binary.copy(div(size, byte_size(pattern)) + 1) |> binary_part(0, size)

    case :unicode.characters_to_binary(text) do
      {:incomplete, whole, rest} -> whole <> :binary.copy(" ", byte_size(rest))
      whole -> whole
    end
  end

  # Contenders that are not everywhere

  defp bandit do
    if Code.ensure_loaded?(Bandit.PrimitiveOps.WebSocket),
      do: [{"Bandit", "Bandit's own", &Bandit.PrimitiveOps.WebSocket.ws_mask/2}],
      else: []
  end

  defp fast_ascii do
    if function_exported?(String, :valid?, 2),
      do: [
        {":fast_ascii", "String.valid?/2 with :fast_ascii",
         &apply(String, :valid?, [&1, :fast_ascii])}
      ],
      else: []
  end

  defp first_attempt(idea, function) do
    FirstAttempt.utf8_validate("") && [{"first Rust NIF", idea, function}]
  rescue
    # Not built.
    ErlangError -> []
  end

  # Masking

  defp words(payload, mask), do: words(payload, mask, <<>>)

  defp words(<<word::32, rest::binary>>, mask, masked),
    do: words(rest, mask, <<masked::binary, bxor(word, mask)::32>>)

  defp words(rest, mask, masked), do: <<masked::binary, last(rest, mask)::binary>>

  # Up to three bytes, with the first bytes of the key.
  defp last(rest, mask) do
    bits = bit_size(rest)
    <<bxor(:binary.decode_unsigned(rest), mask >>> (32 - bits))::size(bits)>>
  end

  defp iolist(payload, mask), do: IO.iodata_to_binary(iolist(payload, mask, []))

  defp iolist(<<word::32, rest::binary>>, mask, masked),
    do: iolist(rest, mask, [masked | <<bxor(word, mask)::32>>])

  defp iolist(rest, mask, masked), do: [masked | last(rest, mask)]

  for bits <- [256, 512, 1024] do
    name = :"mask_#{bits}"
    # Times this, a key becomes one that is repeated to the integer's size.
    repeat = for _ <- 1..div(bits, 32), reduce: 0, do: (integer -> integer <<< 32 ||| 1)

    defp unquote(name)(payload, mask),
      do: unquote(name)(payload, mask, mask * unquote(repeat), <<>>)

    defp unquote(name)(<<integer::unquote(bits), rest::binary>>, mask, key, masked) do
      masked = <<masked::binary, bxor(integer, key)::unquote(bits)>>
      unquote(name)(rest, mask, key, masked)
    end

    defp unquote(name)(rest, mask, _key, masked), do: words(rest, mask, masked)
  end

  defp adaptive(payload, mask) when byte_size(payload) < 64, do: words(payload, mask)
  defp adaptive(payload, mask), do: mask_512(payload, mask)

  defp exor(payload, mask) do
    size = byte_size(payload)
    key = :binary.copy(<<mask::32>>, div(size + 3, 4))
    :crypto.exor(payload, binary_part(key, 0, size))
  end

  # Validation

  for bits <- [32, 64, 512, 1024] do
    name = :"ascii_#{bits}"
    high_bits = for _ <- 1..div(bits, 8), reduce: 0, do: (integer -> integer <<< 8 ||| 0x80)

    defp unquote(name)(<<integer::unquote(bits), rest::binary>>)
         when band(integer, unquote(high_bits)) == 0,
         do: unquote(name)(rest)

    defp unquote(name)(<<_::utf8, rest::binary>>), do: unquote(name)(rest)
    defp unquote(name)(rest), do: rest == <<>>
  end

  # Unicode 15, Table 3-7. A function is a state, by the bytes that may come next; the ninth state,
  # in which the text is not UTF-8, is `false`.
  defp automaton(<<byte, rest::binary>>) do
    cond do
      byte < 0x80 -> automaton(rest)
      byte < 0xC2 -> false
      byte < 0xE0 -> one(rest)
      byte == 0xE0 -> after_e0(rest)
      byte == 0xED -> after_ed(rest)
      byte < 0xF0 -> two(rest)
      byte == 0xF0 -> after_f0(rest)
      byte < 0xF4 -> three(rest)
      byte == 0xF4 -> after_f4(rest)
      true -> false
    end
  end

  defp automaton(<<>>), do: true

  for {state, first, last, next} <- [
        {:one, 0x80, 0xBF, :automaton},
        {:two, 0x80, 0xBF, :one},
        {:three, 0x80, 0xBF, :two},
        {:after_e0, 0xA0, 0xBF, :one},
        {:after_ed, 0x80, 0x9F, :one},
        {:after_f0, 0x90, 0xBF, :two},
        {:after_f4, 0x80, 0x8F, :two}
      ] do
    defp unquote(state)(<<byte, rest::binary>>) when byte in unquote(first)..unquote(last),
      do: unquote(next)(rest)

    defp unquote(state)(_rest), do: false
  end
end
