defmodule BanditNative do
  @moduledoc """
  Native WebSocket primitives for the [Bandit](https://hexdocs.pm/bandit) web server.

  Bandit unmasks every frame that a client sends
  ([RFC 6455 §5.3](https://www.rfc-editor.org/rfc/rfc6455#section-5.3)). Name
  `BanditNative.WebSocket` in the server's options, and native code does it:

      {Bandit, plug: MyApp.Router, websocket_options: [primitive_ops_module: BanditNative.WebSocket]}

  With Phoenix, in the endpoint's configuration:

      config :my_app, MyAppWeb.Endpoint,
        adapter: Bandit.PhoenixAdapter,
        http: [websocket_options: [primitive_ops_module: BanditNative.WebSocket]]

  To see that it works, and how fast, run `mix bandit_native`. In a running node, `info/0` tells
  what is in use. To turn it off, remove the option.

  The option is the server's. Bandit does not look for it where a connection is upgraded or a socket
  is mounted. Other options in `config/runtime.exs` are merged with these. In an umbrella project,
  each endpoint has its own configuration, and the applications with endpoints depend on this package;
  the library is there once.

  Masking is half of what a text message costs, and to check that it is UTF-8 is the other half. For
  that in native code too, see `BanditNative.ValidateText`.

  ## Configuration

    * `:max_tier` - the most capable instruction sets that may be used: `:portable`, `:sse42`,
      `:avx2` or `:avx512` on x86-64, `:portable` or `:neon` on AArch64. Left out, the best that the
      CPU and the operating system support are used. It is read when the library is loaded.

          config :bandit_native, max_tier: :avx2

  ## Where the library can't be loaded

  A library that is missing from a release, was built for another system, or is of another version,
  stops nothing. One warning is logged with the reason, and plain Elixir functions do the same work
  with the same results, about as fast as Bandit's own.
  """

  alias BanditNative.NIF

  @typedoc "The implementation of a function: native code for a set of CPU instructions, or `:elixir`."
  @type tier :: :avx512 | :avx2 | :sse42 | :neon | :portable | :elixir

  @typedoc """
    * `:native` - whether the native library is in use
    * `:reason` - if it is not, why
    * `:tiers` - the implementation of each function
    * `:cpu_tiers` - all that this CPU has, from the least to the most capable
    * `:version` - the version of this package
  """
  @type info :: %{
          native: boolean(),
          reason: String.t() | nil,
          tiers: %{ws_mask: tier(), utf8_validate: tier()},
          cpu_tiers: [tier()],
          version: String.t()
        }

  @doc """
  Tells whether the native library is in use in this node, and if not, why.

      iex> info = BanditNative.info()
      iex> info.native
      true
      iex> info.tiers.ws_mask in info.cpu_tiers
      true
  """
  @doc since: "0.1.0"
  @spec info() :: info()
  def info do
    info = NIF.native_info()

    %{
      native: info.reason == nil,
      reason: info.reason,
      tiers: Map.take(info, [:ws_mask, :utf8_validate]),
      cpu_tiers: info.cpu_tiers,
      version: info.version
    }
  end
end
