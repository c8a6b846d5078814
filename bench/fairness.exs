# Who waits for whom: mix run bench/fairness.exs [SECONDS]
#
# On every scheduler a worker masks or validates large payloads, SECONDS long (3) for each line of the
# tables. After each it waits for its turn, as a connection does for its next frame. Beside them as
# many neighbours sleep for 1 ms again and again.
#
#   held     the longest that a worker held its scheduler, by the VM's own long_schedule monitor, and
#            how often that was 2 ms or more. The monitor sees whole milliseconds, from 1 on.
#   late     how much later than due a neighbour ran, at worst and in the worst of 1000 cases. A timer
#            has whole milliseconds too: up to 1 ms is the timer's own.
#   reductions  what a call costs its process, for each MiB
#
# What the machine itself does (others that take the CPU away from the whole VM) is in the first two
# lines: nobody beside the neighbours, and workers that only count.

Code.require_file("reference.ex", __DIR__)
Code.require_file("report.ex", __DIR__)

defmodule BanditNative.Bench.Fairness do
  alias BanditNative.Bench.{Reference, Report}
  alias BanditNative.{Fallback, NIF}

  @mask 0x37FA213D
  @default_slices nil
  # More than any payload: so that a call is one slice.
  @one_slice 1_000_000_000_000

  def run(seconds) do
    IO.puts(Report.environment_text() <> "\n#{seconds} s a line\n")

    header("The machine")
    measure("nobody", fn -> Process.sleep(:infinity) end, 0, seconds)
    measure("plain Elixir that counts", fn -> count(1_000_000) end, 0, seconds)

    for megabytes <- [8, 64] do
      payload = :crypto.strong_rand_bytes(megabytes * 1_000_000)
      header("ws_mask, #{megabytes} MB")

      for {name, slices, function} <- masks() do
        with_slices(slices, fn ->
          measure(name, fn -> function.(payload) end, byte_size(payload), seconds)
        end)
      end
    end

    text = :binary.copy("Grüße, κόσμε! €5 {\"id\": 12345, \"ok\": true} 😀 ", div(200_000_000, 57))

    header("utf8_validate, #{div(byte_size(text), 1_000_000)} MB")

    for {name, slices, function} <- validations() do
      with_slices(slices, fn ->
        measure(name, fn -> true = function.(text) end, byte_size(text), seconds)
      end)
    end

    cost_of_yielding(text)
  end

  defp masks do
    [
      {"this package", @default_slices, &NIF.ws_mask(&1, @mask)},
      {"this package, in one slice", @one_slice, &NIF.ws_mask(&1, @mask)},
      elixir_mask(),
      {":crypto.exor", @default_slices, &crypto_mask/1},
      {"a blocking NIF in C", @default_slices, &Reference.mask_blocking(&1, @mask)},
      {"a dirty NIF in C", @default_slices, &Reference.mask_dirty(&1, @mask)}
    ]
  end

  defp elixir_mask do
    bandit = Bandit.PrimitiveOps.WebSocket

    if Code.ensure_loaded?(bandit) do
      {"Bandit #{Application.spec(:bandit, :vsn)}'s Elixir", nil,
       fn payload -> bandit.ws_mask(payload, @mask) end}
    else
      {"the Elixir fallback (no Bandit)", nil, &Fallback.ws_mask(&1, @mask)}
    end
  end

  # The key is another one in each frame, so that to repeat it is a part of the work.
  defp crypto_mask(payload) do
    key = :binary.copy(<<@mask::32>>, div(byte_size(payload) + 3, 4))
    :crypto.exor(payload, binary_part(key, 0, byte_size(payload)))
  end

  defp validations do
    [
      {"this package", @default_slices, &NIF.utf8_validate/1},
      {"this package, in one slice", @one_slice, &NIF.utf8_validate/1},
      {"String.valid?", @default_slices, &String.valid?/1},
      {"a blocking NIF in C", @default_slices, &Reference.validate_blocking/1},
      {"a dirty NIF in C", @default_slices, &Reference.validate_dirty/1}
    ]
  end

  defp with_slices(bytes, function) do
    if bytes, do: Application.put_env(:bandit_native, :slice_bytes, bytes)
    reload()
    function.()
  after
    Application.delete_env(:bandit_native, :slice_bytes)
    reload()
  end

  defp reload do
    :code.purge(NIF)
    {:module, NIF} = :code.load_file(NIF)
  end

  defp count(0), do: :ok
  defp count(n), do: count(n - 1)

  defp header(title) do
    IO.puts("\n#{title}\n")
    line(["", "held ms", ">= 2 ms", "late ms", "99.9 %", "GB/s", "reductions/MiB"])
    line(["---", "---", "---", "---", "---", "---", "---"])
  end

  defp line([name | cells]) do
    cells = for cell <- cells, do: String.pad_leading(cell, 9)
    IO.puts("| " <> Enum.join([String.pad_trailing(name, 32) | cells], " | ") <> " |")
  end

  defp measure(name, function, bytes, seconds) do
    reductions = if bytes > 0, do: reductions(function) / (bytes / 1_048_576)
    main = self()
    count = System.schedulers_online()
    start = System.monotonic_time()
    until = start + System.convert_time_unit(seconds, :second, :native)

    monitor = spawn_link(fn -> collect_holds(main, []) end)
    :erlang.system_monitor(monitor, [{:long_schedule, 1}])
    workers = for _ <- 1..count, do: spawn_link(fn -> work(function, main) end)

    neighbours = for _ <- 1..count, do: Task.async(fn -> delays(until, []) end)

    delays = neighbours |> Task.await_many(:infinity) |> List.flatten() |> Enum.sort(:desc)
    :erlang.system_monitor(:undefined)
    send(monitor, {:report, workers})
    holds = receive(do: ({:holds, holds} -> holds))

    calls =
      for worker <- workers do
        monitor = Process.monitor(worker)
        Process.unlink(worker)
        Process.exit(worker, :kill)
        receive(do: ({:DOWN, ^monitor, _, _, _} -> calls_of(worker, 0)))
      end

    seconds = (System.monotonic_time() - start) / System.convert_time_unit(1, :second, :native)

    line([
      name,
      Enum.max(holds, fn -> 0 end) |> to_string(),
      Enum.count(holds, &(&1 >= 2)) |> to_string(),
      milliseconds(hd(delays)),
      milliseconds(Enum.at(delays, div(length(delays), 1000))),
      if(bytes > 0, do: decimal(Enum.sum(calls) * bytes / seconds / 1.0e9, 2), else: ""),
      if(reductions, do: reductions |> round() |> to_string(), else: "")
    ])

    :erlang.garbage_collect()
  end

  # The least of three: to collect garbage costs reductions too.
  defp reductions(function) do
    Enum.min(
      for _ <- 1..3 do
        in_new_process(fn ->
          {:reductions, before} = Process.info(self(), :reductions)
          function.()
          {:reductions, afterwards} = Process.info(self(), :reductions)
          afterwards - before
        end)
      end
    )
  end

  defp in_new_process(function), do: function |> Task.async() |> Task.await(:infinity)

  defp work(function, main) do
    function.()
    send(main, {:call, self()})
    :erlang.yield()
    work(function, main)
  end

  defp calls_of(worker, calls) do
    receive do
      {:call, ^worker} -> calls_of(worker, calls + 1)
    after
      0 -> calls
    end
  end

  defp delays(until, delays) do
    before = System.monotonic_time()
    receive after: (1 -> :ok)
    now = System.monotonic_time()
    late = System.convert_time_unit(now - before, :native, :microsecond) - 1000
    if now < until, do: delays(until, [late | delays]), else: [late | delays]
  end

  defp collect_holds(main, holds) do
    receive do
      {:monitor, pid, :long_schedule, info} ->
        collect_holds(main, [{pid, info[:timeout]} | holds])

      {:report, workers} ->
        send(main, {:holds, for({pid, milliseconds} <- holds, pid in workers, do: milliseconds)})
    end
  end

  # The same calls in slices and in one, by turns, with nobody beside them. The best of each: what
  # others take from the machine only ever adds.
  defp cost_of_yielding(text) do
    IO.puts("\nWhat yielding costs: the best of many calls, in slices and in one\n")
    line(["", "slices ms", "one ms", "lost %"])
    line(["---", "---", "---", "---"])

    for bytes <- [16_384, 65_536, 131_072, 1_048_576, 8_000_000, 64_000_000],
        {name, function} <- [
          {"ws_mask", &NIF.ws_mask(&1, @mask)},
          {"utf8_validate", &NIF.utf8_validate/1}
        ] do
      payload = binary_part(text, 0, bytes)
      calls = max(5, div(4_000_000, bytes))

      times =
        for _ <- 1..20, slices <- [@default_slices, @one_slice] do
          with_slices(slices, fn -> {slices, best(function, payload, calls)} end)
        end

      [sliced, whole] =
        for slices <- [@default_slices, @one_slice],
            do: Enum.min(for {^slices, time} <- times, do: time)

      lost = decimal((sliced - whole) / whole * 100, 1)
      line(["#{name}, #{bytes} B", decimal(sliced / 1.0e6, 4), decimal(whole / 1.0e6, 4), lost])
    end
  end

  defp best(function, payload, calls) do
    in_new_process(fn -> Enum.min(for _ <- 1..calls, do: time(function, payload)) end)
  end

  defp time(function, payload) do
    before = System.monotonic_time(:nanosecond)
    function.(payload)
    System.monotonic_time(:nanosecond) - before
  end

  defp milliseconds(microseconds), do: decimal(microseconds / 1000, 1)
  defp decimal(number, places), do: :erlang.float_to_binary(number / 1, decimals: places)
end

seconds = with [seconds] <- System.argv(), do: String.to_integer(seconds), else: (_ -> 3)
BanditNative.Bench.Fairness.run(seconds)
