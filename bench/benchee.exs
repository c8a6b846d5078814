# ws_mask and utf8_validate beside the other ways to do the same, with Benchee:
#
#     mix bench
#
# The contenders are those of bench/table.exs, which needs no dependency. Benchee adds how the times
# are spread, and the memory that a call takes on the process heap: binaries of more than 64 bytes
# are elsewhere and not counted. Options: --sizes 102,1002 for fewer, --time 0.5 for other seconds
# per contender and size. Takes some ten minutes.

unless Code.ensure_loaded?(Benchee) do
  Mix.raise("Benchee is not a dependency here. mix run bench/table.exs does without.")
end

Code.require_file("contenders.ex", __DIR__)

alias BanditNative.Bench.Contenders

{options, []} = OptionParser.parse!(System.argv(), strict: [sizes: :string, time: :float])

sizes = Contenders.sizes(options[:sizes])
time = Keyword.get(options, :time, 0.5)
seconds = [warmup: time / 2, time: time, memory_time: time / 5, print: [fast_warning: false]]

Contenders.build()
Contenders.check!()

masking =
  for {name, _idea, ws_mask} <- Contenders.masking(),
      into: %{},
      do: {name, fn {payload, key} -> ws_mask.(payload, key) end}

Benchee.run(
  masking,
  [
    title: "ws_mask",
    inputs: for(size <- sizes, do: {"#{size} bytes", Contenders.payload(size)}),
    # Not in the time that is measured.
    before_each: &{&1, Contenders.key(System.unique_integer([:positive]))}
  ] ++ seconds
)

Benchee.run(
  for({name, _idea, utf8_validate} <- Contenders.validation(), do: {name, utf8_validate}),
  [
    title: "utf8_validate",
    inputs:
      for text <- Contenders.texts(), size <- sizes do
        {"#{text}, #{size} bytes", Contenders.text(text, size)}
      end
  ] ++ seconds
)

Benchee.run(
  for({name, _idea, batch} <- Contenders.batches(), do: {name, batch}),
  [
    title: "ws_mask_batch",
    inputs:
      for {count, size} <- Contenders.batch_sizes() do
        {"#{count} × #{size} bytes", Contenders.frames(count, size)}
      end
  ] ++ seconds
)
