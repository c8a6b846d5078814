# Does anything leak? mix run bench/soak.exs [SECONDS]
#
# 1,000 processes mask and validate payloads of mixed sizes for SECONDS (600). All the time some of
# them are killed, in the middle of a call as often as not, and replaced. Before and after: what the VM
# holds, and what the system has given it. The exit status tells whether all of it came back.

Code.require_file("report.ex", __DIR__)

defmodule BanditNative.Bench.Soak do
  import Bitwise

  alias BanditNative.Bench.Report
  alias BanditNative.{Fallback, NIF}

  @processes 1000
  # From what fits a frame's shortest header to what is sliced many times. Few are large.
  @sizes [0, 1, 7, 64, 65, 125, 126, 1000, 4096, 16_384, 65_536, 200_000, 1_000_000, 8_000_000]

  def run(seconds) do
    IO.puts(Report.environment_text())

    true = BanditNative.info().native
    parent = :crypto.strong_rand_bytes(8_000_100)
    text = :binary.copy("aé€😀", 800_000)

    Process.flag(:priority, :high)

    # What grows once and stays (atoms of modules, allocators' carriers) is there before the start.
    load(5, parent, text)
    _first = inspect(state())
    before = state()
    IO.puts("before: #{inspect(before)}")
    {rounds, kills} = load(seconds, parent, text)
    IO.puts("#{rounds} rounds of three calls, #{kills} processes killed")
    afterwards = state()
    IO.puts("after:  #{inspect(afterwards)}")

    leaks =
      for {key, allowed} <- [binary: 1_000_000, total: 5_000_000, rss: 50_000_000] ++ counts(),
          afterwards[key] - before[key] > allowed,
          do: key

    IO.puts(if leaks == [], do: "all came back", else: "leaked: #{inspect(leaks)}")
    if leaks != [], do: System.halt(1)
  end

  defp counts, do: [processes: 0, ports: 0, atoms: 0, ets: 0]

  defp load(seconds, parent, text) do
    counter = :counters.new(1, [:write_concurrency])
    until = System.monotonic_time(:second) + seconds
    start = fn -> spawn_monitor(fn -> work(parent, text, counter) end) end
    workers = Map.new(1..@processes, fn i -> {i, start.()} end)
    {workers, kills} = kill_until(until, workers, start, 0)
    kill(Map.values(workers))
    {:counters.get(counter, 1), kills}
  end

  defp kill_until(until, workers, start, kills) do
    Process.sleep(:rand.uniform(5))

    if System.monotonic_time(:second) < until do
      victims = for _ <- 1..:rand.uniform(5), uniq: true, do: :rand.uniform(@processes)
      kill(for i <- victims, do: Map.fetch!(workers, i))
      workers = for i <- victims, into: workers, do: {i, start.()}
      kill_until(until, workers, start, kills + length(victims))
    else
      {workers, kills}
    end
  end

  # A worker never ends by itself: with another reason than :killed a result was wrong.
  defp kill(workers) do
    for {pid, _monitor} <- workers, do: Process.exit(pid, :kill)

    for {pid, monitor} <- workers do
      receive(do: ({:DOWN, ^monitor, :process, ^pid, reason} -> :killed = reason))
    end
  end

  defp work(parent, text, counter) do
    size = Enum.at(@sizes, min(:rand.uniform(length(@sizes)), :rand.uniform(length(@sizes))) - 1)
    mask = :rand.uniform(1 <<< 32) - 1
    payload = binary_part(parent, :rand.uniform(100) - 1, size)
    masked = NIF.ws_mask(payload, mask)
    ^size = byte_size(masked)

    if size <= 1000 do
      ^masked = Fallback.ws_mask(payload, mask)
    else
      ^payload = NIF.ws_mask(masked, mask)
    end

    true = NIF.utf8_validate(binary_part(text, 0, size - rem(size, 10)))
    :counters.add(counter, 1, 1)
    # Else the killer would have to wait until 1,000 others have had their turns.
    Process.sleep(:rand.uniform(2000))
    work(parent, text, counter)
  end

  # When all garbage is collected, and what is freed has been given back.
  defp state do
    for _ <- 1..5 do
      for pid <- Process.list(), do: :erlang.garbage_collect(pid)
      Process.sleep(200)
    end

    %{
      binary: :erlang.memory(:binary),
      total: :erlang.memory(:total),
      rss: rss(),
      processes: length(Process.list()),
      ports: length(:erlang.ports()),
      atoms: :erlang.system_info(:atom_count),
      ets: length(:ets.all())
    }
  end

  # In bytes; 0 where the system is not Linux.
  defp rss do
    with {:ok, status} <- File.read("/proc/self/status"),
         [_match, kilobytes] <- Regex.run(~r/VmRSS:\s+(\d+) kB/, status) do
      1024 * String.to_integer(kilobytes)
    else
      _no_such_file -> 0
    end
  end
end

seconds = with [seconds] <- System.argv(), do: String.to_integer(seconds), else: (_ -> 600)
BanditNative.Bench.Soak.run(seconds)
