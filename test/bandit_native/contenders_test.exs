defmodule BanditNative.ContendersTest do
  # What the benchmarks compare does the same. They check this themselves, with a first attempt in
  # Rust besides, which is not built here.
  use ExUnit.Case, async: true

  @moduletag timeout: 300_000

  Code.require_file("../../bench/contenders.ex", __DIR__)

  alias BanditNative.Bench.Contenders

  test "the contenders of the benchmarks give the same results" do
    assert Contenders.check!() == :ok
    assert length(Contenders.masking()) >= 9
    assert length(Contenders.validation()) >= 7
  end

  test "their payloads and texts have the sizes that they are said to have" do
    for size <- [10, 102, 500, 1002, 5000, 10_002] do
      assert byte_size(Contenders.payload(size)) == size

      for name <- Contenders.texts() do
        assert byte_size(Contenders.text(name, size)) == size
        assert String.valid?(Contenders.text(name, size))
      end
    end
  end
end
