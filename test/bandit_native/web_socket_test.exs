defmodule BanditNative.WebSocketTest do
  # The contract, for the native functions and for the fallback alike.
  use ExUnit.Case, async: true

  import Bitwise

  alias BanditNative.{Fallback, Naive, SelfTest, WebSocket}

  for {name, module} <- [native: WebSocket, fallback: Fallback] do
    describe "#{name}:" do
      @describetag functions: module

      test "the self-test of mix bandit_native passes", %{functions: module} do
        checks = SelfTest.run(module, Naive)
        assert for({name, _cases, [_ | _] = failures} <- checks, do: {name, failures}) == []
        assert Enum.all?(checks, fn {_name, cases, _failures} -> cases > 0 end)
        assert SelfTest.clients() == ["tungstenite", "websockets", "ws"]
      end

      test "ws_mask/2 gives what RFC 6455 says at sizes around every limit", %{functions: module} do
        for size <- [
              255,
              256,
              257,
              511,
              512,
              513,
              1000,
              65_535,
              65_536,
              131_071,
              131_072,
              131_073
            ] do
          payload = binary_part(SelfTest.bytes(size + 6), 6, size)
          assert module.ws_mask(payload, 0x37FA213D) == Naive.ws_mask(payload, 0x37FA213D)
        end
      end

      test "ws_mask/2 twice gives the payload back, also when it takes many slices", context do
        %{functions: module} = context

        for size <- [0, 1, 125, 8_000_000] do
          payload = SelfTest.bytes(size)
          masked = module.ws_mask(payload, 0xDEADBEEF)
          assert size == 0 or masked != payload
          assert module.ws_mask(masked, 0xDEADBEEF) == payload
        end
      end

      test "ws_mask/2 gives a binary that refers to no more memory than its own", %{
        functions: module
      } do
        for size <- [0, 1, 8, 63, 64, 65, 100, 125, 126, 1000, 65_536, 300_001],
            mask <- [0, 0x37FA213D] do
          payload = binary_part(SelfTest.bytes(size + 1000), 6, size)
          masked = module.ws_mask(payload, mask)
          # OTP 27 counts the bits of binaries of up to 64 bytes, which are on the heap.
          assert :binary.referenced_byte_size(masked) in [size, if(size <= 64, do: 8 * size)]
        end
      end

      test "ws_mask/2 leaves the payload and what is beside it as they are", %{functions: module} do
        parent = SelfTest.bytes(200)
        copy = :binary.copy(parent)
        assert byte_size(module.ws_mask(binary_part(parent, 10, 33), 0xFFFFFFFF)) == 33
        assert byte_size(module.ws_mask(binary_part(parent, 43, 33), 0xFFFFFFFF)) == 33
        assert parent == copy
      end

      test "ws_mask/2 takes payloads that begin within a byte", %{functions: module} do
        for size <- [1, 32, 65, 125, 1000, 300_001], bits <- 1..7 do
          payload = SelfTest.bytes(size)
          assert module.ws_mask(shifted(payload, bits), 1234) == module.ws_mask(payload, 1234)
        end
      end

      test "utf8_validate/1 takes texts that begin within a byte", %{functions: module} do
        for text <- ["κόσμε", :binary.copy("日本語", 50_000)], bits <- 1..7 do
          assert module.utf8_validate(shifted(text, bits))
          refute module.utf8_validate(binary_part(shifted(text, bits), 0, byte_size(text) - 1))
        end
      end

      test "utf8_validate/1 finds a fault in any slice of a large text", %{functions: module} do
        text = :binary.copy("aé€😀", 60_000)
        assert module.utf8_validate(text)

        for at <- [0, 1, 131_071, 131_072, 131_073, 262_144, 400_000, byte_size(text) - 1] do
          {head, <<byte, tail::binary>>} = :erlang.split_binary(text, at)
          spoilt = <<head::binary, bxor(byte, 0x80), tail::binary>>
          assert module.utf8_validate(spoilt) == Naive.utf8_validate(spoilt)
        end
      end

      test "utf8_validate/1 says what String.valid?/1 says of arbitrary bytes", %{
        functions: module
      } do
        :rand.seed(:exsss, {1, 2, 3})

        for _ <- 1..2000 do
          size = :rand.uniform(40)
          # Mostly bytes that occur in multi-byte characters.
          bytes =
            for _ <- 1..size,
                into: <<>>,
                do: <<Enum.random([0x41, 0xC3, 0xE2, 0xED, 0xF0, 0xF4, Enum.random(0x80..0xBF)])>>

          assert module.utf8_validate(bytes) == String.valid?(bytes)
        end
      end

      @payloads_that_are_none [
        <<1::3>>,
        <<1, 2, 1::1>>,
        ["Hello"],
        [72, 101],
        [],
        :hello,
        nil,
        1,
        1.0,
        {"a"},
        %{},
        self()
      ]

      test "ws_mask/2 raises ArgumentError for a payload that is no binary", %{functions: module} do
        for payload <- @payloads_that_are_none do
          assert_raise ArgumentError, fn -> module.ws_mask(payload, 0x37FA213D) end
        end
      end

      test "ws_mask/2 raises ArgumentError for a mask of more than 32 bits", %{functions: module} do
        masks = [
          -1,
          0x100000000,
          0x37FA213D37,
          1 <<< 64,
          -(1 <<< 64),
          1.0,
          nil,
          <<1, 2, 3, 4>>,
          "1",
          :a,
          [1],
          make_ref()
        ]

        for mask <- masks, payload <- ["Hello", "", SelfTest.bytes(300_000)] do
          assert_raise ArgumentError, fn -> module.ws_mask(payload, mask) end
        end
      end

      test "utf8_validate/1 raises ArgumentError for what is no binary", %{functions: module} do
        for text <- @payloads_that_are_none do
          assert_raise ArgumentError, fn -> module.utf8_validate(text) end
        end
      end
    end
  end

  defmodule Wrong do
    # Right but for the last byte, and for what is not UTF-8.
    def ws_mask(payload, mask) do
      masked = Fallback.ws_mask(payload, mask)
      if masked == "", do: "", else: binary_part(masked, 0, byte_size(masked) - 1) <> "\0"
    end

    def utf8_validate(_text), do: true
  end

  test "the self-test finds the faults of an implementation that has some" do
    for {name, _cases, failures} <- SelfTest.run(Wrong, Naive),
        do: assert(failures != [], name)
  end

  describe "ws_mask_batch/1" do
    test "gives what ws_mask/2 gives for each frame, in order, for batches of all shapes" do
      parent = SelfTest.bytes(400_000)

      for count <- [0, 1, 2, 20, 255, 256, 257, 1000],
          size <- [0, 1, 64, 65, 125, 1000, 20_000] do
        frames = for i <- 1..count//1, do: {binary_part(parent, i, size + rem(i, 3)), i * 0x10001}
        expected = for {payload, mask} <- frames, do: Fallback.ws_mask(payload, mask)
        assert WebSocket.ws_mask_batch(frames) == expected
        assert Fallback.ws_mask_batch(frames) == expected
      end
    end

    test "takes frames that are too large for a batch among small ones" do
      parent = SelfTest.bytes(2_000_000)
      sizes = [10, 131_072, 131_073, 0, 2_000_000, 125, 125, 70_000, 70_000]
      frames = for size <- sizes, do: {binary_part(parent, 0, size), size}
      expected = for {payload, mask} <- frames, do: Fallback.ws_mask(payload, mask)
      assert WebSocket.ws_mask_batch(frames) == expected
    end

    test "gives results that keep nothing but one another" do
      parent = SelfTest.bytes(1_000_000)
      frames = for i <- 1..100, do: {binary_part(parent, i, 125), i}
      for masked <- WebSocket.ws_mask_batch(frames), do: assert(referenced(masked) == 12_500)
      [masked] = WebSocket.ws_mask_batch([{binary_part(parent, 6, 125), 1}])
      assert referenced(masked) == 125
      [small | _] = WebSocket.ws_mask_batch([{"abc", 1} | frames])
      assert referenced(small) in [3, 8 * 3]
    end

    test "raises ArgumentError for anything but a list of {payload, mask}" do
      good = List.duplicate({SelfTest.bytes(125), 1}, 300)

      bad =
        for frame <-
              [{"a", -1}, {"a", 0x100000000}, {"a", nil}, {<<1::3>>, 1}, {["a"], 1}] ++
                [{"a", 1, 2}, {"a"}, {}, ["a", 1], "a", nil, 1],
            do: [frame]

      for frames <- bad ++ Enum.map(bad, &(good ++ &1)) ++ Enum.map(bad, &(&1 ++ good)),
          do: assert_raise(ArgumentError, fn -> WebSocket.ws_mask_batch(frames) end)

      for no_list <- [nil, "a", {"a", 1}, %{}, [{"a", 1} | :b], good ++ :b, [{"a", 1} | {"a", 1}]] do
        assert_raise ArgumentError, fn -> WebSocket.ws_mask_batch(no_list) end
        assert_raise ArgumentError, fn -> Fallback.ws_mask_batch(no_list) end
      end
    end

    defp referenced(binary), do: :binary.referenced_byte_size(binary)
  end

  # The same bytes, but the first begins `bits` bits into a byte.
  for bits <- 1..7 do
    defp shifted(binary, unquote(bits)) do
      <<_::unquote(bits), shifted::binary>> = <<0::unquote(bits), binary::binary>>
      shifted
    end
  end
end
