defmodule BanditNative.Application do
  @moduledoc false
  # In a release the library is loaded, with all modules, before config/runtime.exs is evaluated.
  # What that says of the tier holds from the application's start on.

  use Application

  alias BanditNative.NIF

  @impl true
  def start(_type, _args) do
    NIF.warn_unless_warned()
    max_tier = Application.get_env(:bandit_native, :max_tier)

    if NIF.set_max_tier(max_tier) == :error do
      :logger.warning(
        "bandit_native: #{inspect(max_tier)} is no tier and is ignored. Set max_tier in the " <>
          "configuration of :bandit_native to :portable, :sse42, :avx2, :avx512 or :neon"
      )
    end

    Supervisor.start_link([], strategy: :one_for_one)
  end
end
