# Compares reports of the Autobahn test suite about servers.exs, which are folders with an index.json:
#
#     elixir test/autobahn/compare.exs BANDITS_OWN OTHER...
#
# The verdict on Bandit as it ships is what the other ones must be, case by case.

defmodule Verdicts do
  # In each report: the behaviour in the case, and when closing. The file is plain enough for this.
  @verdict ~r/"(\d+(?:\.\d+)+)": \{\s*"behavior": "([^"]+)",\s*"behaviorClose": "([^"]+)"/

  def read(folder) do
    text = File.read!(Path.join(folder, "index.json"))

    for [_all, name, behavior, close] <- Regex.scan(@verdict, text),
        into: %{},
        do: {name, {behavior, close}}
  end
end

[first | others] = System.argv()
expected = Verdicts.read(first)

IO.puts(
  "#{map_size(expected)} cases in #{first}: #{inspect(Enum.frequencies(Map.values(expected)))}"
)

differences =
  for folder <- others,
      verdicts = Verdicts.read(folder),
      name <- Map.keys(Map.merge(expected, verdicts)),
      verdicts[name] != expected[name] do
    IO.puts(
      "#{folder}: case #{name} is #{inspect(verdicts[name])}, not #{inspect(expected[name])}"
    )
  end

IO.puts("#{length(differences)} differences")
if differences != [] or expected == %{}, do: System.halt(1)
