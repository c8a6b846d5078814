defmodule BanditNative.BuildTest do
  # Builds in copies of this project, and in an application that has it as a dependency.
  use ExUnit.Case, async: true

  @moduletag :tmp_dir
  @moduletag timeout: 600_000

  # One target folder for all, so that cargo compiles the dependencies once.
  setup %{tmp_dir: tmp_dir} do
    target = System.get_env("CARGO_TARGET_DIR") || Path.expand("target")
    # With no other packages, which the copies have no need of.
    packages = Path.expand("packages", tmp_dir)
    File.mkdir_p!(packages)
    env = [{"MIX_ENV", "prod"}, {"MIX_BUILD_PATH", nil}, {"CARGO_TARGET_DIR", target}]
    %{env: [{"BANDIT_NATIVE_DEPS_DIR", packages} | env], dir: Path.expand(tmp_dir)}
  end

  defp copy_project(dir) do
    File.mkdir_p!(dir)

    for path <- ~w(lib native Cargo.toml Cargo.lock .cargo mix.exs) do
      {_output, 0} = System.cmd("cp", ["-r", path, dir])
    end

    dir
  end

  defp mix(arguments, dir, env) do
    System.cmd("mix", arguments, cd: dir, env: env, stderr_to_stdout: true)
  end

  defp library(dir),
    do: Path.join(dir, "_build/prod/lib/bandit_native/priv/native/bandit_native.so")

  @building "Building the native library of bandit_native with cargo"

  # A folder with links to the programs that Mix needs, and no cargo.
  defp path_without_cargo(dir) do
    bin = Path.join(dir, "bin")
    File.mkdir_p!(bin)

    for program <- ~w(mix elixir erl sh bash env dirname readlink uname sed expr basename cat),
        path = System.find_executable(program) do
      File.ln_s!(path, Path.join(bin, program))
    end

    bin
  end

  # Code that is compiled without an instruction set has a function in place of each of its
  # instructions. Where that happens within a kernel, results are right, and slow.
  @tag skip: if(System.find_executable("nm"), do: false, else: "nm is not installed")
  test "no kernel calls a function for an instruction" do
    library = Application.app_dir(:bandit_native, "priv/native/bandit_native.so")
    {symbols, 0} = System.cmd("nm", [library])
    assert symbols =~ "websocket_kernels"
    assert Regex.scan(~r/^.*core_arch.*(?:sse|avx|bmi|neon).*$/m, symbols, capture: :first) == []
  end

  test "cargo runs when a Rust source has changed, and not otherwise", %{dir: dir, env: env} do
    project = copy_project(dir)
    {output, 0} = mix(["compile", "--warnings-as-errors"], project, env)
    assert output =~ @building
    assert File.exists?(library(project))

    {output, 0} = mix(["compile"], project, env)
    refute output =~ @building

    # A new time is no change.
    source = Path.join(project, "native/bandit_native/src/vm.rs")
    File.touch!(source, System.os_time(:second) + 10)
    {output, 0} = mix(["compile"], project, env)
    refute output =~ @building

    File.write!(source, "\n// A change.\n", [:append])
    {output, 0} = mix(["compile"], project, env)
    assert output =~ @building

    # A library that has gone missing is put back.
    File.rm!(library(project))
    {output, 0} = mix(["compile"], project, env)
    assert output =~ @building
    assert File.exists?(library(project))

    {_output, 0} = mix(["clean"], project, env)
    refute File.exists?(library(project))
  end

  test "versions that share a target folder get their own library each", %{dir: dir, env: env} do
    info = fn project ->
      {output, 0} = mix(["run", "-e", "IO.inspect(BanditNative.info())"], project, env)
      output
    end

    one = copy_project(Path.join(dir, "one"))
    other = copy_project(Path.join(dir, "other"))
    version = Mix.Project.config()[:version]

    for file <- ~w(mix.exs Cargo.toml Cargo.lock), path = Path.join(other, file) do
      File.write!(path, path |> File.read!() |> String.replace(~s("#{version}"), ~s("99.0.0")))
    end

    assert info.(one) =~ "native: true"
    assert info.(other) =~ ~r/native: true.*"99.0.0"/s

    # Of this one cargo says now that it is up to date.
    File.rm_rf!(Path.join(one, "_build"))
    assert info.(one) =~ ~r/native: true.*"#{version}"/s
  end

  test "a source that does not compile is reported, with what is needed", %{dir: dir, env: env} do
    project = copy_project(dir)
    File.write!(Path.join(project, "native/bandit_native/src/lib.rs"), "fn wrong() -> {}")
    {output, status} = mix(["compile"], project, env)
    assert status != 0
    assert output =~ "error"
    assert output =~ "cargo could not build the native library"
    assert output =~ "Rust 1.91 or later"
  end

  test "without cargo, an error says what to install and what to do instead", context do
    %{dir: dir, env: env} = context
    project = copy_project(Path.join(dir, "project"))
    env = [{"PATH", path_without_cargo(dir)} | env]
    {output, status} = mix(["compile"], project, env)
    assert status != 0
    assert output =~ "cargo is not installed"
    assert output =~ "Rust 1.91 or later"
    assert output =~ "BANDIT_NATIVE_LIB=/path/to/library"
    assert output =~ "BANDIT_NATIVE_BUILD=skip"
  end

  test "BANDIT_NATIVE_BUILD=skip builds nothing, and the fallback serves", context do
    %{dir: dir, env: env} = context
    project = copy_project(Path.join(dir, "project"))
    env = [{"PATH", path_without_cargo(dir)}, {"BANDIT_NATIVE_BUILD", "skip"} | env]
    {_output, 0} = mix(["compile"], project, env)
    refute File.exists?(library(project))
    {output, status} = mix(["bandit_native"], project, env)
    assert status == 1
    assert output =~ "NOT in use: there is no"
    assert output =~ "Self-test: passed"
  end

  test "BANDIT_NATIVE_LIB is used as it is, and its absence reported", %{dir: dir, env: env} do
    project = copy_project(Path.join(dir, "project"))
    built = Path.join(dir, "built-elsewhere.so")
    File.cp!(Application.app_dir(:bandit_native, "priv/native/bandit_native.so"), built)
    env = [{"PATH", path_without_cargo(dir)} | env]
    {_output, 0} = mix(["compile"], project, [{"BANDIT_NATIVE_LIB", built} | env])
    assert File.read!(library(project)) == File.read!(built)

    {output, status} = mix(["compile"], project, [{"BANDIT_NATIVE_LIB", built <> ".not"} | env])
    assert status != 0
    assert output =~ "BANDIT_NATIVE_LIB=#{built}.not: no such file or directory"

    {output, status} = mix(["compile"], project, [{"BANDIT_NATIVE_LIB", "here.so"} | env])
    assert status != 0
    assert output =~ "not an absolute path"

    cut_off = built <> ".cut-off"
    File.write!(cut_off, built |> File.read!() |> binary_part(0, 100_000))
    {output, status} = mix(["compile"], project, [{"BANDIT_NATIVE_LIB", cut_off} | env])
    assert status != 0
    assert output =~ "BANDIT_NATIVE_LIB: #{cut_off} is cut off"
    assert File.read!(library(project)) == File.read!(built)
  end

  test "a library that is built while another is in use takes its place", context do
    %{dir: dir, env: env} = context
    project = copy_project(Path.join(dir, "project"))
    built = File.read!(Application.app_dir(:bandit_native, "priv/native/bandit_native.so"))
    tier = to_string(BanditNative.info().tiers.ws_mask)
    File.write!(Path.join(dir, "one.so"), built)
    # The same, but for the name that it has for its tier.
    File.write!(Path.join(dir, "two.so"), String.replace(built, tier, String.upcase(tier)))
    env = [{"BANDIT_NATIVE_LIB", Path.join(dir, "one.so")} | env]

    script = """
    IO.puts("first: \#{BanditNative.info().tiers.ws_mask}")
    System.put_env("BANDIT_NATIVE_LIB", "\#{System.fetch_env!("TWO")}")
    Mix.Task.rerun("compile.bandit_native", [])
    IO.puts("then: \#{BanditNative.info().tiers.ws_mask}")
    """

    {output, 0} = mix(["run", "-e", script], project, [{"TWO", Path.join(dir, "two.so")} | env])
    assert output =~ "first: #{tier}\nthen: #{String.upcase(tier)}\n"
  end

  test "an application that has it as a dependency compiles, and boots as a release, also with the library deleted",
       %{dir: dir, env: env} do
    {_output, 0} = mix(["new", "parent", "--sup"], dir, env)
    parent = Path.join(dir, "parent")
    mix_exs = Path.join(parent, "mix.exs")
    source = File.read!(mix_exs)

    File.write!(
      mix_exs,
      String.replace(
        source,
        ~r/defp deps do\n    \[/,
        ~s(\\0{:bandit_native, path: "#{File.cwd!()}"},)
      )
    )

    File.mkdir_p!(Path.join(parent, "config"))
    File.write!(Path.join(parent, "config/config.exs"), "import Config\n")

    File.write!(
      Path.join(parent, "config/runtime.exs"),
      "import Config\nconfig :bandit_native, max_tier: :portable\n"
    )

    File.write!(Path.join(parent, "lib/parent/application.ex"), """
    defmodule Parent.Application do
      def start(_type, _args) do
        masked = BanditNative.WebSocket.ws_mask("Hello", 0x37FA213D)
        IO.puts("info: " <> Base.encode16(:erlang.term_to_binary({BanditNative.info(), masked})))
        System.stop()
        Supervisor.start_link([], strategy: :one_for_one)
      end
    end
    """)

    {output, 0} = mix(["release", "--quiet"], parent, env)
    assert output =~ @building
    release = Path.join(parent, "_build/prod/rel/parent")
    {info, output} = boot(release, env)
    assert %{native: true, tiers: %{ws_mask: :portable}} = info
    refute output =~ "bandit_native:"

    [library] = Path.wildcard(Path.join(release, "lib/bandit_native-*/priv/native/*.so"))
    File.rm!(library)
    {info, output} = boot(release, env)
    refute info.native
    assert [_once] = Regex.scan(~r/\[warn.*bandit_native: .* there is no/, output)
  end

  # Starts the release, whose application reports and stops the system.
  defp boot(release, env) do
    env = [{"RELEASE_DISTRIBUTION", "none"} | env]

    {output, 0} =
      System.cmd(Path.join(release, "bin/parent"), ["start"], env: env, stderr_to_stdout: true)

    [_match, term] = Regex.run(~r/info: ([0-9A-F]+)/, output) || flunk(output)
    {info, masked} = term |> Base.decode16!() |> :erlang.binary_to_term()
    assert masked == <<0x7F, 0x9F, 0x4D, 0x51, 0x58>>
    {info, output}
  end
end
