defmodule BanditNative.PackageTest do
  # What is shipped beside the code: the documents, and what the package is made of.
  use ExUnit.Case, async: true

  # rustup's names for the systems that differ in what is linked.
  @targets ~w(x86_64-unknown-linux-gnu aarch64-apple-darwin x86_64-pc-windows-msvc)

  test "THIRD_PARTY.md names the crates that are linked, and no others" do
    listed =
      for [_line, name, licence] <-
            Regex.scan(~r/^\| ([\w-]+) \| (.+) \| .+ \|$/m, File.read!("THIRD_PARTY.md")),
          name != "crate",
          do: {name, licence}

    assert Enum.sort(listed) == @targets |> Enum.flat_map(&linked/1) |> Enum.uniq() |> Enum.sort()
  end

  # Those of a procedural macro run when the library is built, and are no part of it.
  defp linked(target) do
    arguments =
      ~w(tree --locked --package bandit_native --edges normal,no-proc-macro --prefix none) ++
        ["--target", target, "--format", "{p}|{l}"]

    {output, 0} = System.cmd("cargo", arguments)

    for line <- String.split(output, "\n", trim: true),
        # Our own have a path behind the version.
        [_line, name, licence] <- [Regex.run(~r/^(\S+) \S+\|(.+)$/, line)],
        do: {name, String.replace(licence, "/", " OR ")}
  end

  test "the package has every file that the library is built from" do
    patterns = Mix.Project.config()[:package][:files]
    packaged = for pattern <- patterns, path <- Path.wildcard(pattern), do: path

    is_packaged = fn file ->
      Enum.any?(packaged, &(file == &1 or String.starts_with?(file, &1 <> "/")))
    end

    sources =
      Path.wildcard("native/{bandit_native,websocket_kernels}/src/**/*.rs") ++
        Path.wildcard("native/{bandit_native,websocket_kernels}/Cargo.toml") ++
        Path.wildcard("lib/**/*.ex") ++ ~w(Cargo.toml Cargo.lock mix.exs)

    assert Enum.reject(sources, is_packaged) == []
    assert ".cargo" in patterns

    documents =
      for extra <- Mix.Project.config()[:docs][:extras],
          do: with({path, _options} <- extra, do: path)

    assert Enum.reject(documents, is_packaged) == []
  end

  test "the cells of the notebook give what it says" do
    notebook = File.read!("guides/try_it.livemd")

    # The first one installs the package.
    [_setup | cells] =
      Regex.scan(
        ~r/```elixir\n(.*?)```(?:\n\n<!-- livebook:{"output":true} -->\n\n```\n(.*?)\n```)?/s,
        notebook,
        capture: :all_but_first
      )

    assert Enum.any?(cells, &match?([_code, _output], &1))

    Enum.reduce(cells, [], fn [code | output], binding ->
      {result, binding} = Code.eval_string(code, binding)
      for expected <- output, do: assert(inspect(result, pretty: true) == expected)
      binding
    end)
  end
end
