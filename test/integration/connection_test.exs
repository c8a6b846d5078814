defmodule BanditNative.Integration.ConnectionTest do
  use ExUnit.Case, async: true

  import BanditNative.RawClient

  alias BanditNative.{LiveServer, Messages}

  @moduletag skip: LiveServer.skip()
  @moduletag timeout: 120_000

  for name <- [:masking, :masking_and_text] do
    describe "a server with #{name}" do
      setup do
        {:ok, port: LiveServer.start(unquote(name))}
      end

      test "echoes messages of each size at which framing changes", %{port: port} do
        socket = connect(port)

        for size <- Messages.sizes(), opcode <- [:text, :binary] do
          payload = apply(Messages, opcode, [size])
          send_bytes(socket, frame(opcode, payload))
          assert_frame(socket, opcode, payload)
        end
      end

      test "echoes the same with every kind of masking key", %{port: port} do
        socket = connect(port)

        for mask <- [0, 1, 1234, 0xFF000001, 0x37FA213D, 0xFFFFFFFF],
            size <- [1, 7, 125, 70_000] do
          text = Messages.text(size)
          send_bytes(socket, frame(:text, text, mask: mask))
          assert_frame(socket, :text, text)
        end
      end

      test "puts fragments together, with control frames in between", %{port: port} do
        socket = connect(port)

        for size <- [10, 126, 65_536, 1_048_576], opcode <- [:text, :binary] do
          payload = apply(Messages, opcode, [size])
          sizes = [1, 2, 3, div(size, 2) - 3]
          send_bytes(socket, fragments(opcode, payload, sizes, between: frame(:ping, "?")))
          for _ping <- sizes, do: assert_frame(socket, :pong, "?")
          assert_frame(socket, opcode, payload)
        end
      end

      test "inflates and deflates compressed messages", %{port: port} do
        socket = connect(port, compress: true)
        inflate = :zlib.open()
        :ok = :zlib.inflateInit(inflate, -15)

        for size <- Messages.sizes() do
          text = Messages.text(size)
          send_bytes(socket, frame(:text, compress(text), compressed: true))
          assert {:text, {:compressed, payload}} = read_frame(socket)
          inflated = :zlib.inflate(inflate, [payload, 0, 0, 0xFF, 0xFF])
          assert IO.iodata_to_binary(inflated) == text
        end
      end

      test "takes thousands of small frames in one segment", %{port: port} do
        socket = connect(port)
        messages = for i <- 1..5_000, do: {Enum.at([:text, :binary], rem(i, 2)), "message #{i}"}
        send_bytes(socket, for({opcode, payload} <- messages, do: frame(opcode, payload)))
        for {opcode, payload} <- messages, do: assert_frame(socket, opcode, payload)
      end

      test "takes frames that come in segments of one byte", %{port: port} do
        socket = connect(port)
        text = Messages.text(1_000)
        frames = frame(:text, "") <> frame(:ping, "?") <> frame(:text, text)
        for <<byte <- frames>>, do: send_bytes(socket, <<byte>>)
        assert_frame(socket, :text, "")
        assert_frame(socket, :pong, "?")
        assert_frame(socket, :text, text)
      end

      test "serves many connections at once", %{port: port} do
        1..200
        |> Task.async_stream(
          fn _connection ->
            socket = connect(port)

            for size <- [10, 200, 5_000, 70_000], opcode <- [:text, :binary] do
              payload = apply(Messages, opcode, [size])
              send_bytes(socket, frame(opcode, payload))
              assert_frame(socket, opcode, payload)
            end
          end,
          max_concurrency: 200,
          timeout: :infinity
        )
        |> Enum.each(&assert {:ok, _} = &1)
      end

      @tag :capture_log
      test "refuses each text that is not UTF-8, whole and in fragments", %{port: port} do
        for text <- Messages.invalid_texts(),
            frames <- [frame(:text, text), fragments(:text, text, [1])] do
          socket = connect(port)
          send_bytes(socket, frames)
          assert_frame(socket, :close, 1007)
        end
      end
    end
  end

  defp assert_frame(socket, opcode, payload) do
    assert {^opcode, received} = read_frame(socket)

    # Megabytes are not to be printed.
    if received != payload do
      flunk("a #{opcode} message is not what was sent: #{inspect(received, limit: 100)}")
    end
  end
end
