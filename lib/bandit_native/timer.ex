defmodule BanditNative.Timer do
  @moduledoc false
  # How long calls take: for `mix bandit_native` and for the benchmarks.

  @rounds 9
  @nanoseconds_a_round 5_000_000

  @doc """
  The median times of a call of each function, in nanoseconds; the loop is counted in.

  A function is given the number of the call, so that no two calls need be the same. The functions
  take turns, so that whatever else the machine does falls on all.
  """
  @spec medians([(pos_integer() -> term())]) :: [float()]
  def medians(functions) do
    functions = for function <- functions, do: {function, calls_in_a_round(function)}

    rounds =
      for _ <- 1..@rounds, do: for({function, calls} <- functions, do: time(function, calls))

    for times <- Enum.zip_with(rounds, & &1),
        do: times |> Enum.sort() |> Enum.at(div(@rounds, 2))
  end

  # The first call warms up; where it alone takes longer than a round, one call is a round.
  defp calls_in_a_round(function) do
    if time(function, 1) > @nanoseconds_a_round,
      do: 1,
      else: max(1, round(@nanoseconds_a_round / time(function, 10)))
  end

  # The garbage of another function is not to be collected in this one's time.
  defp time(function, calls) do
    :erlang.garbage_collect()
    start = System.monotonic_time(:nanosecond)
    repeat(function, calls)
    (System.monotonic_time(:nanosecond) - start) / calls
  end

  defp repeat(_function, 0), do: :ok

  defp repeat(function, call) do
    function.(call)
    repeat(function, call - 1)
  end
end
