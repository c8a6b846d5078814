# ws_mask and utf8_validate beside the other ways to do the same, in a table:
#
#     mix run bench/table.exs
#
# Needs nothing but this package. Bandit's own function is there where Bandit is, and a first attempt
# in Rust where cargo is. Options, after the file: --sizes 102,1002 for fewer, and --save FILE to
# write the results for bench/charts.py. The contenders are in bench/contenders.ex. Before they are
# timed, all have given the same results. They take turns, and the times are medians, the loop
# counted in. Takes some two minutes.

Code.require_file("report.ex", __DIR__)
Code.require_file("contenders.ex", __DIR__)

defmodule BanditNative.Bench.Table do
  alias BanditNative.Bench.{Contenders, Report}
  alias BanditNative.Timer

  def run(arguments) do
    {options, []} = OptionParser.parse!(arguments, strict: [sizes: :string, save: :string])
    sizes = Contenders.sizes(options[:sizes])

    IO.puts(Report.environment_text() <> "\n")
    Contenders.build()
    Contenders.check!()

    rows =
      masking(sizes) ++ Enum.flat_map(Contenders.texts(), &validation(&1, sizes)) ++ batches()

    command = Enum.join(["mix run bench/table.exs" | arguments], " ")
    Report.save(options[:save], command, ~w(function input contender bytes ns), rows)
  end

  defp masking(sizes) do
    contenders = Contenders.masking()
    ideas(contenders)

    measure("ws_mask", "bytes", contenders, sizes, fn ws_mask, size ->
      payload = Contenders.payload(size)
      fn call -> ws_mask.(payload, Contenders.key(call)) end
    end)
  end

  defp validation(name, sizes) do
    contenders = Contenders.validation()
    if name == hd(Contenders.texts()), do: ideas(contenders)

    measure("utf8_validate", name, contenders, sizes, fn utf8_validate, size ->
      text = Contenders.text(name, size)
      fn _call -> utf8_validate.(text) end
    end)
  end

  # The bytes are those of each frame, and the time is that of all.
  defp batches do
    contenders = Contenders.batches()
    ideas(contenders)

    for {count, sizes} <- Enum.group_by(Contenders.batch_sizes(), &elem(&1, 0), &elem(&1, 1)),
        row <-
          measure("ws_mask_batch", "#{count} frames", contenders, sizes, fn batch, size ->
            frames = Contenders.frames(count, size)
            fn _call -> batch.(frames) end
          end),
        do: row
  end

  defp ideas(contenders) do
    for {name, idea, _function} <- contenders, do: IO.puts("  #{pad(name)} #{idea}")
    IO.puts("")
  end

  # A line for each contender, a column for each size. `call` makes what is timed.
  defp measure(function, input, contenders, sizes, call) do
    names = for {name, _idea, _function} <- contenders, do: name

    columns =
      for size <- sizes,
          do: Timer.medians(for {_name, _idea, function} <- contenders, do: call.(function, size))

    lines = Enum.zip(names, Enum.zip_with(columns, & &1))
    line("#{function}, #{input}", Enum.map(sizes, &count/1))
    for {name, times} <- lines, do: line(name, Enum.map(times, &time/1))
    IO.puts("")

    for {name, times} <- lines,
        {size, time} <- Enum.zip(sizes, times),
        do: [function, input, name, size, time]
  end

  defp line(name, cells),
    do: IO.puts(["  ", pad(name), Enum.map(cells, &String.pad_leading(&1, 11))])

  defp pad(name), do: String.pad_trailing(name, 25)

  defp count(integer),
    do: integer |> to_string() |> String.replace(~r/\d(?=(\d{3})+$)/, "\\0,")

  defp time(ns) when ns < 1.0e4, do: "#{round(ns)} ns"
  defp time(ns) when ns < 1.0e7, do: "#{round(ns / 1.0e3)} µs"
  defp time(ns), do: "#{round(ns / 1.0e6)} ms"
end

BanditNative.Bench.Table.run(System.argv())
