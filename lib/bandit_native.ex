defmodule BanditNative do
  @moduledoc """
  Native WebSocket primitives for the [Bandit](https://hexdocs.pm/bandit) web server.

  `BanditNative.WebSocket` is what a server is told to call, and `BanditNative.ValidateText` is for the
  modules that receive text messages: see [Set-up](setup.md). This module tells whether the native
  library is in use. `mix bandit_native` tests and measures it.

  ## Configuration

    * `:max_tier` - the most capable instruction sets that may be used: `:portable`, `:sse42`,
      `:avx2` or `:avx512` on x86-64, `:portable` or `:neon` on AArch64. Left out, the best that the
      CPU and the operating system support are used. See [Operations](operations.md#tiers).

          config :bandit_native, max_tier: :avx2
  """

  alias BanditNative.NIF

  @typedoc "The implementation of a function: native code for a set of CPU instructions, or `:elixir`."
  @type tier :: :avx512 | :avx2 | :sse42 | :neon | :portable | :elixir

  @typedoc """
    * `:native` - whether the native library is in use
    * `:reason` - if it is not, why
    * `:tiers` - the implementation of each function
    * `:cpu_tiers` - all that this CPU has, from the least to the most capable; `[]` where the library,
      which asks the CPU, is not in use
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
