defmodule Mix.Tasks.Compile.BanditNative do
  @moduledoc false
  # Builds the native library with cargo and puts it where releases take it from:
  # priv/native in the application's build folder.

  use Mix.Task.Compiler

  alias BanditNative.Library

  # What the library depends on. Tests, benchmarks and the fuzzer are no part of it.
  @sources [
    "Cargo.{toml,lock}",
    ".cargo/config.toml",
    "native/*/Cargo.toml",
    "native/*/src/**/*.rs"
  ]

  # What cargo lets the user change about the library.
  @cargo_variables ~w(CARGO_BUILD_TARGET CARGO_BUILD_RUSTFLAGS CARGO_ENCODED_RUSTFLAGS RUSTFLAGS)

  @alternatives """
  Or set one of these when you compile:

    BANDIT_NATIVE_LIB=/path/to/library   use this library, which was built elsewhere from the same
                                         version for the system that it is to run on
    BANDIT_NATIVE_BUILD=skip             build nothing, and run on the plain Elixir fallback
  """

  @no_cargo """
  cargo is not installed.

  bandit_native needs Rust 1.91 or later to build its native library: install it with your system's
  package manager or from https://rustup.rs, so that `cargo` is in the PATH.

  """

  @cargo_needs """
  What it needs:

    * Rust 1.91 or later
    * a C compiler, which Rust links with
    * the network, or crates that were downloaded before
    * a folder that can be written to: target/ here, or an absolute path in CARGO_TARGET_DIR

  """

  @impl true
  def run(args) do
    source = source()
    fingerprint = fingerprint(source)

    cond do
      source == :skip ->
        Mix.shell().info(
          "bandit_native is not built (BANDIT_NATIVE_BUILD=skip): plain Elixir serves"
        )

        clean()
        {:noop, []}

      "--force" not in args and File.read(manifest()) == {:ok, fingerprint} and
        File.exists?(library()) and File.exists?(Library.seal_of(library())) ->
        {:noop, []}

      true ->
        source |> fetch(Base.encode16(fingerprint)) |> install()
        File.mkdir_p!(Path.dirname(manifest()))
        File.write!(manifest(), fingerprint)
        {:ok, []}
    end
  end

  @impl true
  def manifests, do: [manifest()]

  # By `mix clean` this is called when the project's other modules are gone already.
  @impl true
  def clean do
    File.rm_rf!(folder())
    File.rm(manifest())
    :ok
  end

  defp source do
    case {System.get_env("BANDIT_NATIVE_LIB", ""), System.get_env("BANDIT_NATIVE_BUILD", "")} do
      {"", ""} ->
        :cargo

      {"", "skip"} ->
        :skip

      {"", other} ->
        Mix.raise("BANDIT_NATIVE_BUILD can be skip or unset, but is #{inspect(other)}")

      {path, _build} ->
        {:library, path}
    end
  end

  # By content, not by time: a checkout or a copied build cache changes the times of all files.
  defp fingerprint(:skip), do: nil

  # A relative path would be taken from this package's folder.
  defp fingerprint({:library, path}) do
    if Path.type(path) != :absolute,
      do: Mix.raise("BANDIT_NATIVE_LIB=#{path}: not an absolute path")

    case File.read(path) do
      {:ok, content} -> digest({path, content})
      {:error, reason} -> Mix.raise("BANDIT_NATIVE_LIB=#{path}: #{:file.format_error(reason)}")
    end
  end

  defp fingerprint(:cargo) do
    sources = for pattern <- @sources, path <- Path.wildcard(pattern), do: path
    contents = Enum.map(sources, &{&1, File.read!(&1)})
    digest({contents, Enum.map(@cargo_variables, &System.get_env/1)})
  end

  defp digest(term), do: :erlang.md5(:erlang.term_to_binary(term))

  defp fetch({:library, path}, _build_id) do
    with {:error, reason} <- Library.check(path), do: Mix.raise("BANDIT_NATIVE_LIB: #{reason}")
    File.read!(path)
  end

  defp fetch(:cargo, build_id) do
    cargo = System.find_executable("cargo") || Mix.raise(@no_cargo <> @alternatives)

    Mix.shell().info(
      "Building the native library of bandit_native with cargo (some 20 seconds the first time)"
    )

    library = build(cargo, build_id)

    # Cargo gives the library one name, whatever it is built from. Where several versions share a
    # target folder, or one is built with several flags, the file may be of another build, even if
    # cargo says that it is up to date. An id that is new makes cargo build it.
    if library =~ build_id, do: library, else: build(cargo, "#{build_id} #{System.os_time()}")
  end

  # The content of the library that cargo built.
  defp build(cargo, build_id) do
    # Progress and errors go to standard error as they come. Standard output says, as lines of
    # JSON, which files were made: cargo alone knows where, with its target folder and target
    # platform to be set in many ways.
    arguments =
      ~w(build --release --locked --package bandit_native) ++
        ~w(--message-format json-render-diagnostics)

    case System.cmd(cargo, arguments, env: [{"BANDIT_NATIVE_BUILD_ID", build_id}]) do
      {output, 0} ->
        output |> built_library() |> File.read!()

      {_output, status} ->
        {version, _status} = System.cmd(cargo, ["--version"], stderr_to_stdout: true)

        Mix.raise(
          "cargo could not build the native library (exit status #{status}, see above; this is " <>
            "#{String.trim(version)}).\n\n" <> @cargo_needs <> @alternatives
        )
    end
  end

  # The path of the library in cargo's message about this crate.
  defp built_library(output) do
    name = ~r/"filenames":\["((?:[^"\\]|\\.)*bandit_native\.(?:so|dll|dylib))"/

    case Regex.run(name, output) do
      [_match, path] -> Regex.replace(~r/\\(["\\])/, path, "\\1")
      nil -> Mix.raise("cargo built no library that the VM could load. It said:\n\n#{output}")
    end
  end

  # By renaming, as a library that is in use must not be written to. Where a module is loaded that
  # found an older one (`recompile` in IEx), the next call loads it anew. It would get the older one
  # as long as that is in memory: the system takes libraries of one name for the same.
  defp install(content) do
    File.mkdir_p!(folder())
    # Of this process alone: two builds at once must not write to one file.
    new = "#{library()}.#{System.pid()}.new"
    File.write!(new, content)
    File.rm(Library.seal_of(library()))
    File.rename!(new, library())
    Library.seal(library())
    :code.purge(BanditNative.NIF)
    :code.delete(BanditNative.NIF)
    purge_after_calls(100)
  end

  # To purge a module ends the processes that are in a call of it. Such a call takes milliseconds.
  defp purge_after_calls(0), do: :code.purge(BanditNative.NIF)

  defp purge_after_calls(tries) do
    unless :code.soft_purge(BanditNative.NIF) do
      Process.sleep(10)
      purge_after_calls(tries - 1)
    end
  end

  defp folder, do: Path.join(Mix.Project.app_path(), "priv/native")
  defp library, do: Path.join(folder(), "bandit_native" <> Library.extension())
  defp manifest, do: Path.join(Mix.Project.manifest_path(), "compile.bandit_native")
end
