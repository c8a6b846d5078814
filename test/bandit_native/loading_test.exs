defmodule BanditNative.LoadingTest do
  # Each test starts a VM of its own, with a copy of the application that has its library changed.
  use ExUnit.Case, async: true

  @moduletag :tmp_dir
  # A minute is little for several VMs on a busy machine.
  @moduletag timeout: 600_000

  setup %{tmp_dir: tmp_dir} do
    app = Path.join(tmp_dir, "bandit_native")
    File.mkdir_p!(app)
    for folder <- ["ebin", "priv"], do: copy(Application.app_dir(:bandit_native, folder), app)
    %{app: app, library: Path.join(app, "priv/native/bandit_native.so")}
  end

  # Build folders may hold links.
  defp copy(folder, to) do
    {_output, 0} = System.cmd("cp", ["-rL", folder, to])
  end

  @report """
  {:ok, _started} = Application.ensure_all_started(:bandit_native)
  masked = BanditNative.WebSocket.ws_mask("Hello", 0x37FA213D)
  valid = BanditNative.WebSocket.utf8_validate("κόσμε")
  IO.puts("info: " <> Base.encode16(:erlang.term_to_binary({BanditNative.info(), masked, valid})))
  """

  defp run(app, options \\ [], script \\ @report) do
    ebins = [Path.join(app, "ebin") | dependencies()]
    arguments = Enum.flat_map(ebins, &["-pa", &1]) ++ options ++ ["-e", script]
    {output, status} = System.cmd("elixir", arguments, stderr_to_stdout: true)
    assert status == 0, output
    [_match, term] = Regex.run(~r/info: ([0-9A-F]+)/, output) || flunk(output)
    {info, masked, valid} = term |> Base.decode16!() |> :erlang.binary_to_term()
    assert masked == <<0x7F, 0x9F, 0x4D, 0x51, 0x58>>
    assert valid
    {info, Regex.scan(~r/\[warn.*/, output) |> List.flatten()}
  end

  defp dependencies do
    Mix.Project.build_path()
    |> Path.join("lib/*/ebin")
    |> Path.wildcard()
    |> List.delete(Application.app_dir(:bandit_native, "ebin"))
  end

  defp assert_fallback({info, warnings}, reason) do
    refute info.native
    assert info.tiers == %{ws_mask: :elixir, utf8_validate: :elixir}
    assert info.reason =~ reason
    assert info.reason =~ "mix deps.compile bandit_native --force"
    assert [warning] = warnings
    assert warning =~ info.reason
  end

  test "a whole library is used, with no warning", %{app: app} do
    assert {%{native: true, reason: nil}, []} = run(app)
  end

  test "a folder of another name is no obstacle", %{app: app, tmp_dir: tmp_dir} do
    renamed = Path.join(tmp_dir, "renamed")
    File.rename!(app, renamed)
    assert {%{native: true}, []} = run(renamed)
  end

  test "without a library the fallback serves", %{app: app, library: library} do
    File.rm!(library)
    assert_fallback(run(app), "there is no #{library}")
  end

  test "with a library that is cut off the fallback serves", %{app: app, library: library} do
    whole = File.read!(library)

    for size <- [
          0,
          1,
          63,
          64,
          1000,
          65_536,
          div(byte_size(whole), 2),
          div(byte_size(whole) * 4, 5)
        ] do
      File.write!(library, binary_part(whole, 0, size))
      assert_fallback(run(app), ~r/cut off|not what was built/)
    end
  end

  test "with a library that is damaged the fallback serves", %{app: app, library: library} do
    whole = File.read!(library)

    for from <- [4096, 65_536, div(byte_size(whole), 2), div(byte_size(whole) * 3, 4)] do
      File.write!(
        library,
        binary_part(whole, 0, from) <> <<0::size((byte_size(whole) - from) * 8)>>
      )

      assert_fallback(run(app), "is not what was built")
    end
  end

  test "a library without symbols is as good", %{app: app, library: library} do
    if strip = System.find_executable("strip") do
      {_output, 0} = System.cmd(strip, [library])
      assert {%{native: true}, []} = run(app)
    end
  end

  test "a library whose digest is not there is used", %{app: app, library: library} do
    File.rm!(library <> ".md5")
    assert {%{native: true}, []} = run(app)
  end

  test "with something else in the library's place the fallback serves", context do
    %{app: app, library: library} = context
    File.rm!(library)
    File.mkdir!(library)
    assert_fallback(run(app), "is no file but a directory")
    File.rmdir!(library)
    # To read from a pipe that nobody writes to would be to wait for ever.
    {_output, 0} = System.cmd("mkfifo", [library])
    assert_fallback(run(app), "is no file but a other")
    File.rm!(library)
    File.ln_s!(library, library)
    assert_fallback(run(app), "too many levels of symbolic links")
  end

  test "characters that mean something in patterns may be in the path", context do
    %{app: app, tmp_dir: tmp_dir} = context
    strange = Path.join(tmp_dir, "a[1]{b,c}*? d")
    File.mkdir_p!(strange)
    File.rename!(app, Path.join(strange, "bandit_native"))
    assert {%{native: true}, []} = run(Path.join(strange, "bandit_native"))
  end

  test "with a library that is none the fallback serves", %{app: app, library: library} do
    File.rm!(library <> ".md5")
    File.write!(library, :binary.copy("not a library\n", 100_000))
    assert_fallback(run(app), "ELF")
  end

  test "with a library for another CPU the fallback serves", %{app: app, library: library} do
    # e_machine of the ELF header: RISC-V.
    File.rm!(library <> ".md5")
    <<head::binary-18, _machine::little-16, rest::binary>> = File.read!(library)
    File.write!(library, <<head::binary, 0xF3::little-16, rest::binary>>)
    assert_fallback(run(app), ~r/cannot open|ELF|machine/)
  end

  test "with a library for a newer C library the fallback serves", %{app: app, library: library} do
    File.rm!(library <> ".md5")
    newer = library |> File.read!() |> String.replace("GLIBC_2.", "GLIBC_9.")
    File.write!(library, newer)
    assert_fallback(run(app), ~r/version .GLIBC_9.* not found/)
  end

  test "with a library of another version the fallback serves", %{app: app} do
    source =
      String.replace(
        File.read!("lib/bandit_native/nif.ex"),
        "Mix.Project.config()[:version]",
        ~s("0.0.9")
      )

    file = Path.join(app, "nif.ex")
    File.write!(file, source)

    ebin = Path.join(app, "ebin")
    {_output, 0} = System.cmd("elixirc", ["-pa", ebin, "-o", ebin, file], stderr_to_stdout: true)
    assert_fallback(run(app), "another version than this code, 0.0.9")
  end

  test "max_tier is the most that is used", %{app: app} do
    for tier <- BanditNative.info().cpu_tiers do
      assert {info, []} = run(app, ["--erl", "-bandit_native max_tier #{tier}"])
      assert info.tiers == %{ws_mask: tier, utf8_validate: tier}
    end
  end

  test "a max_tier of another CPU architecture bounds nothing", %{app: app} do
    tiers = BanditNative.info().tiers
    foreign = if tiers.ws_mask == :neon, do: :avx2, else: :neon
    assert {%{tiers: ^tiers}, []} = run(app, ["--erl", "-bandit_native max_tier #{foreign}"])
  end

  test "a max_tier that is none is reported and bounds nothing", %{app: app} do
    tiers = BanditNative.info().tiers

    for max_tier <- ["avx3", ~s("avx2"), "7", "[]"] do
      assert {info, [warning]} = run(app, ["--erl", "-bandit_native max_tier #{max_tier}"])
      assert info.native
      assert info.tiers == tiers
      assert warning =~ "is no tier"
    end
  end

  test "nodes on different tiers agree" do
    paths = Enum.flat_map(:code.get_path(), &[~c"-pa", &1])
    portable = [~c"-bandit_native", ~c"max_tier", ~c"portable"]

    {:ok, peer, _node} =
      :peer.start_link(%{connection: :standard_io, args: portable ++ paths, wait_boot: 120_000})

    {:ok, _started} = call(peer, Application, :ensure_all_started, [:bandit_native])
    assert %{tiers: %{ws_mask: :portable}} = call(peer, BanditNative, :info, [])

    for size <- [0, 1, 64, 65, 1000, 300_001], mask <- [0, 1, 0x37FA213D, 0xFFFFFFFF] do
      payload = BanditNative.SelfTest.bytes(size)
      masked = call(peer, BanditNative.WebSocket, :ws_mask, [payload, mask])
      assert BanditNative.WebSocket.ws_mask(masked, mask) == payload

      for text <- [payload, String.duplicate("ж", size)] do
        valid = call(peer, BanditNative.WebSocket, :utf8_validate, [text])
        assert BanditNative.WebSocket.utf8_validate(text) == valid
      end
    end
  end

  # Five seconds, the default, can be too few where the machine is busy.
  defp call(peer, module, function, arguments),
    do: :peer.call(peer, module, function, arguments, 120_000)
end
