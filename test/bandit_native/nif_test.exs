defmodule BanditNative.NIFTest do
  # Changes what is loaded in this VM, so that no other test may run beside it.
  use ExUnit.Case, async: false

  alias BanditNative.{Naive, NIF, SelfTest}

  setup do
    on_exit(fn ->
      Application.delete_env(:bandit_native, :slice_bytes)
      reload()
      assert BanditNative.info().native
    end)
  end

  defp reload do
    :code.purge(NIF)
    {:module, NIF} = :code.load_file(NIF)
  end

  defp reload_with_slices_of(bytes) do
    Application.put_env(:bandit_native, :slice_bytes, bytes)
    reload()
  end

  test "every tier of this CPU passes the self-test" do
    for tier <- BanditNative.info().cpu_tiers do
      assert NIF.set_max_tier(tier) == :ok
      assert BanditNative.info().tiers == %{ws_mask: tier, utf8_validate: tier}

      for {name, _, failures} <- SelfTest.run(NIF, Naive),
          do: assert({name, failures} == {name, []})
    end

    assert NIF.set_max_tier(:sse99) == :error
    assert NIF.set_max_tier("avx2") == :error
    assert NIF.set_max_tier(nil) == :ok
  end

  test "calls that yield give the same results, with the garbage collected between slices" do
    for slice_bytes <- [1, 5, 64] do
      reload_with_slices_of(slice_bytes)
      parent = self()

      {caller, monitor} =
        spawn_monitor(fn ->
          failures = for {_, _, [_ | _] = failures} <- SelfTest.run(NIF, Naive), do: failures
          send(parent, {:failures, failures})
        end)

      collect_while_alive(caller, monitor)
      assert_received {:failures, []}
    end
  end

  defp collect_while_alive(caller, monitor) do
    :erlang.garbage_collect(caller)

    receive do
      {:DOWN, ^monitor, :process, ^caller, reason} -> assert reason == :normal
    after
      1 -> collect_while_alive(caller, monitor)
    end
  end

  test "no call of a megabyte or more is made in one go" do
    payload = SelfTest.bytes(8_000_000)

    for size <- [1_000_000, 8_000_000],
        function <- [&NIF.ws_mask(&1, 1), &NIF.utf8_validate(:binary.copy("a", byte_size(&1)))] do
      payload = binary_part(payload, 0, size)
      {:reductions, before} = Process.info(self(), :reductions)
      function.(payload)
      {:reductions, afterwards} = Process.info(self(), :reductions)
      assert afterwards - before >= 40 * div(size, 131_072)
    end
  end

  test "a batch costs reductions like its bytes, and like its frames" do
    for frames <- [
          for(i <- 1..255, do: {"a", i}),
          for(i <- 1..5, do: {SelfTest.bytes(20_000), i})
        ] do
      {:reductions, before} = Process.info(self(), :reductions)
      assert is_list(NIF.ws_mask_batch(frames))
      {:reductions, afterwards} = Process.info(self(), :reductions)
      assert afterwards - before >= 40
    end

    many = List.duplicate({"a", 1}, 200_000)
    assert NIF.ws_mask_batch(many) == :too_large
    assert length(BanditNative.WebSocket.ws_mask_batch(many)) == 200_000
  end

  test "a large call costs its process reductions, a small one none that count" do
    # The least of five: to collect garbage costs reductions too.
    cost = fn function ->
      Enum.min(
        for _ <- 1..5 do
          {:reductions, before} = Process.info(self(), :reductions)
          function.()
          {:reductions, afterwards} = Process.info(self(), :reductions)
          afterwards - before
        end
      )
    end

    payload = SelfTest.bytes(16_000_000)
    text = :binary.copy("a", 16_000_000)
    assert cost.(fn -> NIF.ws_mask(binary_part(payload, 0, 16_384), 1) end) < 40

    # 1 % of 4,000 reductions, where a process that makes many such calls would hold its scheduler.
    assert cost.(fn -> NIF.ws_mask(binary_part(payload, 0, 65_536), 1) end) >= 40
    assert cost.(fn -> NIF.utf8_validate(binary_part(text, 0, 65_536)) end) >= 40
    # As much for each 128 KiB, or more.
    assert cost.(fn -> NIF.ws_mask(payload, 1) end) >= 122 * 40
    assert cost.(fn -> NIF.utf8_validate(text) end) >= 122 * 40
  end

  test "a call costs what its time costs, also where it takes longer" do
    on_exit(fn -> NIF.set_max_tier(nil) end)
    text = :binary.copy("€", 10_000_000)

    for tier <- BanditNative.info().cpu_tiers do
      NIF.set_max_tier(tier)

      # 4,000 reductions are some 0.25 ms; by bytes alone, the portable tier held on for 16. The best
      # of five, as other programs may take the CPU in between.
      milliseconds_per_time_slice =
        Enum.min(
          for _ <- 1..5 do
            {:reductions, before} = Process.info(self(), :reductions)
            {microseconds, true} = :timer.tc(NIF, :utf8_validate, [text])
            {:reductions, afterwards} = Process.info(self(), :reductions)
            microseconds / 1000 / ((afterwards - before) / 4000)
          end
        )

      assert milliseconds_per_time_slice < 3, "#{tier}: #{milliseconds_per_time_slice} ms"
    end
  end

  test "callers that are killed between slices leave nothing behind" do
    reload_with_slices_of(1024)
    payload = SelfTest.bytes(8_000_000)
    :erlang.garbage_collect()
    before = :erlang.memory(:binary)

    for i <- 1..200 do
      {caller, monitor} = spawn_monitor(fn -> NIF.ws_mask(payload, i) end)
      if rem(i, 3) == 0, do: Process.sleep(1)
      for _ <- 1..rem(i * 37, 200)//1, do: :erlang.yield()
      Process.exit(caller, :kill)
      assert_receive {:DOWN, ^monitor, :process, ^caller, _reason}, 10_000
    end

    :erlang.garbage_collect()
    assert_eventually(fn -> :erlang.memory(:binary) - before < 1_000_000 end)
  end

  defp assert_eventually(condition, tries \\ 50) do
    unless condition.() do
      assert tries > 0
      Process.sleep(20)
      assert_eventually(condition, tries - 1)
    end
  end

  # The callers pause between calls: to load a module, the VM's code server must get its turn several
  # times, and waits long for it beside processes that never pause.
  @tag timeout: 300_000
  test "the library is loaded over itself while calls run, and stays native" do
    payload = SelfTest.bytes(8_000_000)
    expected = NIF.ws_mask(payload, 0x37FA213D)

    callers =
      for size <- [0, 125, 1_000_000, 8_000_000] do
        payload = binary_part(payload, 0, size)
        expected = binary_part(expected, 0, size)
        Task.async(fn -> call_until_told(payload, expected, 0) end)
      end

    deadline = System.monotonic_time(:millisecond) + 5_000

    reloads =
      Enum.take_while(1..100, fn i ->
        # Waits for those who are in the old code, as a release handler does.
        assert_eventually(fn -> :code.soft_purge(NIF) end)
        assert {:module, NIF} = :code.load_file(NIF)
        assert BanditNative.info().native
        i <= 3 or System.monotonic_time(:millisecond) < deadline
      end)

    assert length(reloads) > 2

    for caller <- callers, do: send(caller.pid, :stop)
    for calls <- Task.await_many(callers, 30_000), do: assert(calls > 10)
  end

  defp call_until_told(payload, expected, calls) do
    receive do
      :stop -> calls
    after
      1 ->
        assert NIF.ws_mask(payload, 0x37FA213D) == expected
        assert NIF.utf8_validate("é")
        call_until_told(payload, expected, calls + 1)
    end
  end

  test "results that are kept do not keep their packets, and those that are not are freed" do
    packet = SelfTest.bytes(1_000_000)
    before = :erlang.memory(:binary)

    kept =
      for i <- 1..2000 do
        copy = :binary.copy(packet)
        assert byte_size(NIF.ws_mask(copy, i)) == 1_000_000
        NIF.ws_mask(binary_part(copy, 6, 125), i)
      end

    :erlang.garbage_collect()
    assert_eventually(fn -> :erlang.memory(:binary) - before < 5_000_000 end)
    assert length(kept) == 2000
  end

  test "many callers at once get what each asked for" do
    reload_with_slices_of(4096)

    1..200
    |> Task.async_stream(
      fn i ->
        payload = SelfTest.bytes(20_000 + 997 * i)
        assert NIF.ws_mask(NIF.ws_mask(payload, i), i) == payload
        assert NIF.ws_mask(payload, i) == BanditNative.Fallback.ws_mask(payload, i)
        text = :binary.copy("aé€😀", 2000 + i)
        assert NIF.utf8_validate(text)
        refute NIF.utf8_validate(text <> <<0xE2>>)
      end,
      max_concurrency: 50,
      timeout: 60_000
    )
    |> Stream.run()
  end
end
