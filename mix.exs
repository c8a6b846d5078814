defmodule BanditNative.MixProject do
  use Mix.Project

  # The same as in Cargo.toml: the library refuses to load into Elixir code of another version.
  @version "0.1.0"

  # The public repository's address, once there is one: Hex and the documentation then link to it.
  @source_url nil

  def project do
    [
      app: :bandit_native,
      version: @version,
      elixir: "~> 1.14",
      # The native library comes last: its compiler is a part of this project.
      compilers: Mix.compilers() ++ [:bandit_native],
      elixirc_paths: elixirc_paths(Mix.env()),
      # Run by hand, and no tests of ExUnit.
      test_ignore_filters: [&String.starts_with?(&1, "test/autobahn/")],
      start_permanent: Mix.env() == :prod,
      deps: deps(),
      aliases: [bench: "run bench/benchee.exs"],
      # For Elixir 1.14; later ones look into cli/0.
      preferred_cli_env: [bench: :bench],
      name: "BanditNative",
      description: "Native WebSocket masking and UTF-8 validation for the Bandit web server",
      source_url: @source_url,
      package: package(),
      docs: docs()
    ]
  end

  # Benchee is a dependency in an environment of its own.
  def cli, do: [preferred_envs: [bench: :bench]]

  def application do
    [extra_applications: [:crypto, :logger], mod: {BanditNative.Application, []}]
  end

  defp elixirc_paths(:test), do: ["lib", "test/support"]
  defp elixirc_paths(_env), do: ["lib"]

  # Nothing is needed to build or to run. Bandit is optional: named here, so that Mix compiles it
  # first and checks its version. The others are for those who work on this package.
  #
  # Where Hex is not installed, none can be had. BANDIT_NATIVE_DEPS_DIR=DIR takes whatever packages
  # are in DIR (DIR/bandit, DIR/plug, ...) instead, to test with versions that are not released.
  defp deps do
    cond do
      dir = System.get_env("BANDIT_NATIVE_DEPS_DIR") ->
        for package <- File.ls!(dir) do
          {String.to_atom(package), path: Path.expand(package, dir), override: true}
        end

      Code.ensure_loaded?(Hex) ->
        [
          {:bandit, "~> 1.6", optional: true},
          {:benchee, "~> 1.3", only: :bench, runtime: false},
          {:ex_doc, "~> 0.34", only: :dev, runtime: false},
          # Servers and clients of the integration tests.
          {:jason, "~> 1.4", only: :test},
          {:mint_web_socket, "~> 1.0", only: :test},
          {:phoenix, "~> 1.7", only: :test},
          {:phoenix_live_view, "~> 1.0", only: :test}
        ]

      true ->
        []
    end
  end

  defp package do
    [
      licenses: ["MIT"],
      links:
        for(url <- List.wrap(@source_url), into: %{}, do: {"Source", url})
        |> Map.put("RFC 6455", "https://www.rfc-editor.org/rfc/rfc6455"),
      # What the library is built from, the documents, and the frames for `mix bandit_native`.
      files:
        ~w(lib mix.exs .formatter.exs Cargo.toml Cargo.lock .cargo) ++
          ~w(native/bandit_native native/websocket_kernels/Cargo.toml native/websocket_kernels/src) ++
          ~w(test/fixtures/frames/manifest.tsv test/fixtures/frames/*.gz) ++
          ~w(README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md THIRD_PARTY.md LICENSE guides examples)
    ]
  end

  defp docs do
    [
      main: "readme",
      source_ref: "v#{@version}",
      extras: [
        "README.md",
        "guides/setup.md",
        "guides/building.md",
        "guides/operations.md",
        "guides/how_it_works.md",
        "guides/try_it.livemd",
        "CHANGELOG.md",
        "SECURITY.md",
        "CONTRIBUTING.md",
        "THIRD_PARTY.md",
        {"LICENSE", title: "License"}
      ],
      # README's charts.
      assets: %{"docs/images" => "docs/images"},
      groups_for_extras: [Guides: ~r"^guides/"],
      groups_for_modules: ["In the server": [BanditNative.WebSocket, BanditNative.ValidateText]]
    ]
  end
end
