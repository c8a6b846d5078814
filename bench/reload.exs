# The library is loaded over itself under load: mix run bench/reload.exs [RELOADS]
#
# A process for each size masks and validates without a break, while the module is loaded again
# RELOADS times (1000). No call may fail or give a wrong result, and the node must stay native.
# Before each reload the old code is purged softly, as a release upgrade with soft_purge does: when
# no process is in a call of it any more.

Code.require_file("report.ex", __DIR__)

defmodule BanditNative.Bench.Reload do
  alias BanditNative.Bench.Report
  alias BanditNative.NIF

  @sizes [0, 125, 65_536, 1_000_000]
  @mask 0x37FA213D

  def run(reloads) do
    IO.puts(Report.environment_text())

    payload = :binary.copy("aé€😀", div(Enum.max(@sizes), 10))
    masked = NIF.ws_mask(payload, @mask)

    callers =
      for size <- @sizes do
        payload = binary_part(payload, 0, size)
        masked = binary_part(masked, 0, size)
        Task.async(fn -> call(payload, masked, String.valid?(payload), 0) end)
      end

    # Not to wait for its turn behind them all.
    Process.flag(:priority, :high)
    {microseconds, waits} = :timer.tc(fn -> Enum.sum(for _ <- 1..reloads, do: reload(0)) end)
    for caller <- callers, do: send(caller.pid, :stop)
    calls = callers |> Task.await_many(:infinity) |> Enum.sum()

    IO.puts(
      "#{reloads} reloads in #{div(microseconds, 1_000_000)} s, #{waits} times in wait of calls under " <>
        "way; #{calls} calls, none failed; native: #{BanditNative.info().native}"
    )
  end

  defp reload(waits) do
    if :code.soft_purge(NIF) do
      {:module, NIF} = :code.load_file(NIF)
      true = BanditNative.info().native
      waits
    else
      Process.sleep(1)
      reload(waits + 1)
    end
  end

  # A failed match ends the caller and, as it is linked, all of this.
  defp call(payload, masked, valid, calls) do
    receive do
      :stop -> calls
    after
      0 ->
        ^masked = NIF.ws_mask(payload, @mask)
        ^valid = NIF.utf8_validate(payload)
        call(payload, masked, valid, calls + 2)
    end
  end
end

reloads = with [reloads] <- System.argv(), do: String.to_integer(reloads), else: (_ -> 1000)
BanditNative.Bench.Reload.run(reloads)
