defmodule BanditNative.Bench.Report do
  @moduledoc false
  # What the benchmarks say about where they ran, and the files that bench/charts.py draws.

  @doc """
  The machine, and the versions of all that is measured.
  """
  def environment do
    info = BanditNative.info()

    [
      cpu: cpu(),
      schedulers: System.schedulers_online(),
      elixir: System.version(),
      otp: System.otp_release(),
      bandit: Application.spec(:bandit, :vsn) || "none",
      bandit_native: "#{info.version} (#{info.tiers.ws_mask})"
    ]
  end

  @doc """
  The same, to be printed.
  """
  def environment_text,
    do: Enum.map_join(environment(), "\n", fn {name, value} -> "#{name}: #{value}" end)

  @doc """
  Writes comma-separated values, with the environment and the command in lines that begin with #.
  """
  def save(nil, _command, _columns, _rows), do: :ok

  def save(file, command, columns, rows) do
    environment =
      for {name, value} <- [{:command, command} | environment()], do: "# #{name}: #{value}\n"

    rows =
      for row <- [columns | rows], do: [row |> Enum.map(&cell/1) |> Enum.intersperse(","), "\n"]

    File.mkdir_p!(Path.dirname(file))
    File.write!(file, [environment, rows])
    IO.puts("\nSaved to #{file}")
  end

  defp cell(number) when is_float(number), do: :erlang.float_to_binary(number, decimals: 2)
  defp cell(term), do: if(to_string(term) =~ ",", do: ~s("#{term}"), else: to_string(term))

  defp cpu do
    with {:ok, text} <- File.read("/proc/cpuinfo"),
         [_line, model] <- Regex.run(~r/^model name\s*: (.*)$/m, text) do
      model
    else
      _unknown -> to_string(:erlang.system_info(:system_architecture))
    end
  end
end
