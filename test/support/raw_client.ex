defmodule BanditNative.RawClient do
  @moduledoc """
  A WebSocket client that sends whatever bytes a test wants it to, and in the segments it wants.
  """

  import Bitwise

  # Long enough for a machine that is busy with other things.
  @timeout 60_000

  @doc "Opens a connection. With `compress: true`, permessage-deflate is asked for (RFC 7692)."
  def connect(port, options \\ []) do
    {:ok, socket} =
      :gen_tcp.connect({127, 0, 0, 1}, port, [:binary, active: false, nodelay: true])

    extensions =
      if options[:compress], do: "sec-websocket-extensions: permessage-deflate\r\n", else: ""

    :ok =
      :gen_tcp.send(socket, """
      GET / HTTP/1.1\r
      host: localhost\r
      connection: Upgrade\r
      upgrade: websocket\r
      sec-websocket-version: 13\r
      sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r
      #{extensions}\r
      """)

    "HTTP/1.1 101 " <> headers = read_headers(socket, "")
    if options[:compress], do: true = headers =~ "permessage-deflate"
    socket
  end

  # Byte by byte, so that nothing of the first frame is taken with it.
  defp read_headers(socket, headers) do
    if String.ends_with?(headers, "\r\n\r\n") do
      headers
    else
      {:ok, byte} = :gen_tcp.recv(socket, 1, @timeout)
      read_headers(socket, headers <> byte)
    end
  end

  def send_bytes(socket, bytes), do: :gen_tcp.send(socket, bytes)

  @doc """
  One frame as a client sends it (RFC 6455 §5.2).

  Options: `fin: false`, `compressed: true` (the payload is compressed already), `:mask`.
  """
  def frame(opcode, payload, options \\ []) do
    fin = if Keyword.get(options, :fin, true), do: 1, else: 0
    compressed = if options[:compressed], do: 1, else: 0
    mask = Keyword.get_lazy(options, :mask, fn -> :rand.uniform(0xFFFFFFFF) end)
    size = byte_size(payload)

    length =
      cond do
        size <= 125 -> <<size::7>>
        size <= 0xFFFF -> <<126::7, size::16>>
        true -> <<127::7, size::64>>
      end

    <<fin::1, compressed::1, 0::2, opcode_number(opcode)::4, 1::1, length::bitstring, mask::32,
      mask(payload, mask)::binary>>
  end

  # Not the masking under test. (RFC 6455 §5.3)
  defp mask(payload, mask) do
    padding = rem(4 - rem(byte_size(payload), 4), 4)
    padded = <<payload::binary, 0::size(padding)-unit(8)>>
    masked = for <<word::32 <- padded>>, into: "", do: <<bxor(word, mask)::32>>
    binary_part(masked, 0, byte_size(payload))
  end

  @doc "A message cut into frames after these numbers of bytes, with other frames in between."
  def fragments(opcode, payload, sizes, options \\ []) do
    {between, options} = Keyword.pop(options, :between, "")
    {first_options, options} = Keyword.split(options, [:compressed])

    {parts, last} = Enum.map_reduce(sizes, payload, &:erlang.split_binary(&2, &1))
    [first | rest] = parts

    [
      frame(opcode, first, [fin: false] ++ first_options ++ options),
      Enum.map(rest, &[between, frame(:continuation, &1, [fin: false] ++ options)]),
      between,
      frame(:continuation, last, options)
    ]
    |> IO.iodata_to_binary()
  end

  @doc "Compresses a message without the context of those before (RFC 7692 §7.2.1)."
  def compress(payload) do
    deflate = :zlib.open()
    :ok = :zlib.deflateInit(deflate, :default, :deflated, -15, 8, :default)
    compressed = deflate |> :zlib.deflate(payload, :sync) |> IO.iodata_to_binary()
    :zlib.close(deflate)

    {compressed, <<0, 0, 0xFF, 0xFF>>} =
      :erlang.split_binary(compressed, byte_size(compressed) - 4)

    compressed
  end

  @doc """
  Reads one frame: `{opcode, payload}`.

  The payload of a close frame is its status code, that of a compressed one `{:compressed, bytes}`.
  """
  def read_frame(socket) do
    case :gen_tcp.recv(socket, 2, @timeout) do
      {:ok, <<1::1, compressed::1, 0::2, opcode::4, 0::1, length::7>>} ->
        size =
          case length do
            126 -> socket |> read(2) |> :binary.decode_unsigned()
            127 -> socket |> read(8) |> :binary.decode_unsigned()
            length -> length
          end

        case {opcode_name(opcode), read(socket, size)} do
          {:close, <<code::16, _reason::binary>>} -> {:close, code}
          {opcode, payload} when compressed == 1 -> {opcode, {:compressed, payload}}
          frame -> frame
        end

      {:error, reason} ->
        {:error, reason}
    end
  end

  @doc "All frames that come until the server closes the connection."
  def read_to_end(socket) do
    case read_frame(socket) do
      {:error, reason} -> [{:error, reason}]
      frame -> [frame | read_to_end(socket)]
    end
  end

  defp read(_socket, 0), do: ""

  defp read(socket, size) do
    {:ok, bytes} = :gen_tcp.recv(socket, size, @timeout)
    bytes
  end

  @opcodes [continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10]
  for {name, number} <- @opcodes do
    defp opcode_number(unquote(name)), do: unquote(number)
    defp opcode_name(unquote(number)), do: unquote(name)
  end
end
