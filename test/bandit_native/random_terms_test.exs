defmodule BanditNative.RandomTermsTest do
  # Calls with terms of all kinds, in a VM of its own: a fault there would end it.
  #
  # RANDOM_CALLS=1000000 mix test test/bandit_native/random_terms_test.exs makes a million calls.
  use ExUnit.Case, async: true

  @calls String.to_integer(System.get_env("RANDOM_CALLS", "50000"))
  @moduletag timeout: :infinity

  # Every answer must be the contract's: what Naive says of arguments that are good, and badarg else.
  @script """
  defmodule RandomTerms do
    import Bitwise
    alias BanditNative.{Naive, NIF}

    def run(0, answers), do: answers

    def run(calls, answers) do
      payload = term(3)
      mask = if one_in(2), do: :rand.uniform(0x100000000) - 1, else: term(2)
      good? = is_binary(payload) and is_integer(mask) and mask in 0..0xFFFFFFFF
      masked = if good?, do: Naive.ws_mask(payload, mask), else: :badarg
      valid = if is_binary(payload), do: Naive.utf8_validate(payload), else: :badarg
      check(:ws_mask, [payload, mask], masked)
      check(:utf8_validate, [payload], valid)
      run(calls - 2, answers |> count(masked) |> count(valid))
    end

    defp count(answers, answer) do
      kind = if is_binary(answer), do: :masked, else: answer
      Map.update(answers, kind, 1, &(&1 + 1))
    end

    # The exception must be that of the function itself, with its arguments.
    defp check(function, arguments, expected) do
      answer =
        try do
          apply(NIF, function, arguments)
        catch
          :error, :badarg ->
            [{NIF, ^function, ^arguments, _} | _] = __STACKTRACE__
            :badarg
        end

      if answer !== expected do
        raise "\#{function}(\#{inspect(arguments, limit: 50)}): \#{inspect(answer)}"
      end
    end

    defp one_in(n), do: :rand.uniform(n) == 1
    defp bytes, do: :rand.bytes(:rand.uniform(300) - 1)

    # Binaries most of the time, on the heap and off it, with and without a parent; then the rest.
    defp term(depth) do
      case :rand.uniform(40) do
        n when n in 1..5 -> bytes()
        n when n in 6..9 -> text()
        n when n in 10..13 -> part(bytes())
        n when n in 14..15 -> part(text())
        16 -> :rand.bytes(:rand.uniform(5000))
        n when n in 17..18 -> shifted(bytes())
        n when n in 19..20 -> shifted(text())
        21 -> <<bytes()::binary, :rand.uniform(127)::size(:rand.uniform(7))>>
        22 -> <<1::size(:rand.uniform(7))>>
        23 -> append(bytes())
        24 -> integer()
        25 -> -integer()
        26 -> Enum.random([0, -1, 0xFFFFFFFF, 0x100000000, 1 <<< 59, 1 <<< 60, 1 <<< 63, 1 <<< 64])
        27 -> :rand.uniform() * integer()
        28 -> Enum.random([nil, true, false, :"", :badarg, :"a\u00E9", RandomTerms])
        29 -> Enum.random([[], "", {}, %{}, -0.0, 0.0])
        30 -> self()
        31 -> make_ref()
        32 -> hd(:erlang.ports())
        33 -> Enum.random([&NIF.ws_mask/2, &bytes/0, fn -> depth end])
        34 -> Enum.random([:erlang.binary_to_term(<<131, 88, 100, 0, 3, ?a, ?@, ?b, 1::32, 2::32, 3::32>>)])
        _ when depth == 0 -> integer()
        35 -> for _ <- 1..:rand.uniform(4), do: term(depth - 1)
        36 -> [term(depth - 1) | term(depth - 1)]
        37 -> {term(depth - 1), term(depth - 1)}
        38 -> %{term(depth - 1) => term(depth - 1)}
        39 -> [bytes(), [text() | bytes()]]
        40 -> Map.new(1..40, &{&1, &1})
      end
    end

    defp integer, do: :rand.uniform(1 <<< :rand.uniform(600))

    defp text do
      for _ <- 1..:rand.uniform(60), into: "", do: Enum.random(["a", "é", "€", "😀", "zzzzzzzz"])
    end

    defp part(binary) do
      from = :rand.uniform(byte_size(binary) + 1) - 1
      binary_part(binary, from, :rand.uniform(byte_size(binary) - from + 1) - 1)
    end

    # A binary that begins within a byte.
    defp shifted(binary) do
      bits = :rand.uniform(7)
      <<_::size(bits), shifted::binary-size(byte_size(binary)), _::bitstring>> =
        <<0::size(bits), binary::binary, 0::size(8 - bits)>>
      shifted
    end

    # A binary with room behind it, which the VM may move when it is appended to.
    defp append(binary), do: binary |> Kernel.<>("x") |> Kernel.<>(text())
  end

  true = BanditNative.info().native
  :rand.seed(:exsss, SEED)

  for {slice_bytes, share} <- [{nil, 3}, {5, 1}], tier <- BanditNative.info().cpu_tiers do
    Application.put_env(:bandit_native, :slice_bytes, slice_bytes)
    :code.purge(BanditNative.NIF)
    {:module, _} = :code.load_file(BanditNative.NIF)
    BanditNative.NIF.set_max_tier(tier)
    calls = div(CALLS * share, 4 * length(BanditNative.info().cpu_tiers))
    IO.inspect({tier, slice_bytes, RandomTerms.run(calls + rem(calls, 2), %{})})
  end

  IO.puts("alive")
  """

  test "terms of all kinds get the contract's answers" do
    seed = :rand.uniform(1_000_000_000)
    script = @script |> String.replace("SEED", "#{seed}") |> String.replace("CALLS", "#{@calls}")

    ebins = Mix.Project.build_path() |> Path.join("lib/*/ebin") |> Path.wildcard()

    arguments = Enum.flat_map(ebins, &["-pa", &1]) ++ ["-e", script]
    {output, status} = System.cmd("elixir", arguments, stderr_to_stdout: true)
    assert {status, output =~ "alive"} == {0, true}, "seed #{seed}: #{output}"
    if @calls > 50_000, do: IO.puts(output)
  end
end
