# What calls cost, beside the least that a call can cost: mix run bench/limits.exs
#
# The floors are NIFs in C, built here by the system's compiler: one that copies its argument into a
# new binary, and one that only looks at it. The functions take turns, 81 samples each, and the
# ratios are medians of those of each turn, so that whatever else the machine does falls on all.
# The empty loop is subtracted from native calls. Payloads begin six bytes into a packet, as
# Bandit's do. Takes about a minute.

Code.require_file("reference.ex", __DIR__)
Code.require_file("report.ex", __DIR__)

defmodule BanditNative.Bench.Limits do
  alias BanditNative.Bench.{Reference, Report}
  alias BanditNative.{Fallback, NIF, SelfTest, WebSocket}

  @compile {:no_warn_undefined, Bandit.PrimitiveOps.WebSocket}

  @mask 0x37FA213D
  @samples 81
  @nanoseconds_a_sample 500_000

  @texts [
    ASCII: "The quick brown fox jumps over the lazy dog. ",
    JSON: ~s({"user":"Zoë","id":48151,"tags":["a","b"],"text":"déjà vu"},)
  ]

  def run do
    IO.puts(Report.environment_text() <> "\n")

    elixir_functions =
      if Code.ensure_loaded?(Bandit.PrimitiveOps.WebSocket),
        do: [{&bandit/2, "Bandit #{Application.spec(:bandit, :vsn)}"}, {&fallback/2, "fallback"}],
        else: [{&fallback/2, "fallback"}]

    IO.puts("ws_mask: time against the C copy, and how many times faster than Elixir code\n")

    row([
      "bytes",
      "ns",
      "C copy, ns",
      "ratio",
      "target" | Enum.flat_map(elixir_functions, &[elem(&1, 1), "target"])
    ])

    for size <- [
          0,
          8,
          16,
          32,
          64,
          65,
          125,
          512,
          1024,
          4096,
          16_384,
          65_536,
          262_144,
          1_048_576,
          4_194_304,
          16_777_216
        ] do
      payload = binary_part(SelfTest.bytes(size + 6), 6, size)
      [native, floor] = compare([&mask/2, &copy/2], payload)
      ratio = ratio(native, floor)
      elixir = for {function, _name} <- elixir_functions, do: compare_elixir(function, payload)
      faster = faster_target(size)

      row(
        [
          size,
          median(native),
          median(floor),
          ratio,
          verdict(Float.round(ratio, 2) <= 1.1, "≤ 1.10")
        ] ++
          Enum.flat_map(elixir, &[&1, faster && verdict(&1 >= faster, "≥ #{faster}")])
      )
    end

    IO.puts("\nutf8_validate: time against the C function that only looks at its argument\n")
    row(["text", "ns", "C inspect, ns", "ratio", "target"])

    for {name, pattern} <- @texts, size <- [8, 32, 64] do
      text = text(pattern, size)
      [native, floor] = compare([&validate/2, &inspect_only/2], text)
      ratio = ratio(native, floor)
      target = if name == :ASCII, do: 1.25, else: 1.6

      row([
        "#{name} #{size}",
        median(native),
        median(floor),
        ratio,
        verdict(Float.round(ratio, 2) <= target, "≤ #{target}")
      ])
    end

    IO.puts("\nws_mask_batch: time against single calls\n")
    row(["frames × bytes", "ns", "single calls, ns", "ratio", "target"])

    for {count, size} <- [
          {20, 128},
          {20, 16},
          {1, 0},
          {1, 64},
          {1, 128},
          {1, 1024},
          {1, 65_536},
          {1, 1_048_576}
        ] do
      frames = for i <- 1..count, do: {binary_part(SelfTest.bytes(size + 6), 6, size), i}
      [batch, single] = compare([&batch/2, &single/2], frames)
      ratio = ratio(batch, single)
      target = if count == 1, do: 1.1, else: if(size == 128, do: 0.35)

      row([
        "#{count} × #{size}",
        median(batch),
        median(single),
        ratio,
        target && verdict(Float.round(ratio, 2) <= target, "≤ #{target}")
      ])
    end
  end

  # Each is a loop around a direct call, as the compiler makes them in an application.
  argument = Macro.var(:argument, __MODULE__)

  for {name, call} <- [
        empty: argument,
        mask: quote(do: NIF.ws_mask(unquote(argument), @mask)),
        copy: quote(do: Reference.copy(unquote(argument), @mask)),
        fallback: quote(do: Fallback.ws_mask(unquote(argument), @mask)),
        bandit: quote(do: Bandit.PrimitiveOps.WebSocket.ws_mask(unquote(argument), @mask)),
        validate: quote(do: NIF.utf8_validate(unquote(argument))),
        inspect_only: quote(do: Reference.inspect(unquote(argument))),
        batch: quote(do: WebSocket.ws_mask_batch(unquote(argument))),
        single: quote(do: mask_each(unquote(argument)))
      ] do
    defp unquote(name)(_argument, 0), do: :ok

    defp unquote(name)(unquote(argument), count) do
      _result = unquote(call)
      unquote(name)(unquote(argument), count - 1)
    end
  end

  defp mask_each([{payload, mask} | frames]),
    do: [WebSocket.ws_mask(payload, mask) | mask_each(frames)]

  defp mask_each([]), do: []

  # The times of each function, less those of the empty loop.
  defp compare(functions, argument) do
    counts = for function <- functions, do: {function, calls_in_a_sample(function, argument)}

    # Each is the first in every other turn: what the first one frees, the second may be given.
    samples =
      for turn <- 1..@samples do
        counts
        |> in_turn(turn)
        |> Enum.map(fn {function, count} ->
          time(function, argument, count) - time(&empty/2, argument, count)
        end)
        |> in_turn(turn)
      end

    Enum.zip_with(samples, & &1)
  end

  defp in_turn(list, turn), do: if(rem(turn, 2) == 0, do: Enum.reverse(list), else: list)

  # How many times faster the native function is, the loop counted in.
  defp compare_elixir(function, payload) do
    [native, elixir] = compare([&mask/2, function], payload)
    ratio(elixir, native)
  end

  defp calls_in_a_sample(function, argument) do
    time(function, argument, 3)
    max(1, round(@nanoseconds_a_sample / time(function, argument, 3)))
  end

  # The garbage of another function is not to be collected in this one's time, nor is the memory that
  # was given back with it to be got from the system again.
  defp time(function, argument, count) do
    :erlang.garbage_collect()
    function.(argument, min(count, 100))
    start = :erlang.monotonic_time(:nanosecond)
    function.(argument, count)
    (:erlang.monotonic_time(:nanosecond) - start) / count
  end

  defp ratio(these, those), do: median(Enum.zip_with(these, those, &(&1 / max(&2, 0.1))))
  defp median(values), do: Enum.at(Enum.sort(values), div(length(values), 2))

  defp text(pattern, size) do
    text = binary_part(:binary.copy(pattern, 9), 0, size)
    # Cut at a character, and filled up.
    if String.valid?(text), do: text, else: binary_part(text, 0, size - 1) <> " "
  end

  # The targets of "times faster" that there are.
  defp faster_target(size) when size <= 64, do: 4
  defp faster_target(65), do: 1.4
  defp faster_target(125), do: 2
  defp faster_target(size) when size in 65_536..4_194_304, do: 30
  defp faster_target(_size), do: nil

  defp verdict(true, target), do: target <> " met"
  defp verdict(false, target), do: target <> " MISSED"

  defp row(columns),
    do: IO.puts(Enum.map_join(columns, &(&1 |> cell() |> String.pad_leading(17))))

  defp cell(nil), do: ""

  defp cell(number) when is_float(number),
    do: :erlang.float_to_binary(number, decimals: if(number < 1000, do: 2, else: 0))

  defp cell(term), do: to_string(term)
end

BanditNative.Bench.Limits.run()
