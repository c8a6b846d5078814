defmodule BanditNativeTest do
  use ExUnit.Case, async: true

  doctest BanditNative
  doctest BanditNative.WebSocket

  test "the native library is in use where these tests run, with the best tier of the CPU" do
    info = BanditNative.info()
    assert info.reason == nil
    assert info.native

    assert info.tiers == %{
             ws_mask: List.last(info.cpu_tiers),
             utf8_validate: List.last(info.cpu_tiers)
           }
  end

  test "the Elixir code and the library have the same version" do
    assert BanditNative.info().version == Mix.Project.config()[:version]
    assert File.read!("Cargo.toml") =~ ~s(\nversion = "#{Mix.Project.config()[:version]}"\n)
  end

  test "the module is Bandit's behaviour wherever Bandit is there" do
    behaviours = BanditNative.WebSocket.module_info(:attributes)[:behaviour] || []

    assert Code.ensure_loaded?(Bandit.PrimitiveOps.WebSocket) ==
             Bandit.PrimitiveOps.WebSocket in behaviours
  end
end
