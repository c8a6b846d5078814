defmodule BanditNative.Integration.ClientsTest do
  use ExUnit.Case, async: true

  alias BanditNative.{Clients, LiveServer, Messages, MintClient}

  @moduletag timeout: 120_000
  @moduletag :tmp_dir
  @moduletag :capture_log

  @sizes Enum.join(Messages.sizes(), ",")

  # Text and binary messages of each size and a fragmented text; with those clients that compress,
  # each text again. An empty message that follows another one is compressed to nothing by Erlang's
  # zlib, where a zero is due (RFC 7692 §7.2.3.6), so there is none but the first.
  sizes = length(Messages.sizes())
  plain = 2 * sizes + 1
  compressed = sizes + 1

  for {client, echoed} <- [
        tungstenite: plain,
        ws: plain + compressed,
        websockets: plain + compressed
      ] do
    case Clients.install(client) do
      {:skip, reason} -> @tag skip: reason
      {:ok, command} -> @tag command: command
    end

    test "#{client} gets its messages back, and 1007 for what is not UTF-8", context do
      port = LiveServer.start(:masking_and_text)
      invalid_texts = Messages.invalid_texts()
      file = Path.join(context.tmp_dir, "invalid_texts")
      File.write!(file, Enum.map_join(invalid_texts, "\n", &Base.encode16/1))

      [program | arguments] = context.command
      arguments = arguments ++ ["ws://127.0.0.1:#{port}/", @sizes, file]
      {output, status} = System.cmd(program, arguments, stderr_to_stdout: true)

      assert {output, status} ==
               {"#{unquote(echoed)} messages echoed, #{length(invalid_texts)} texts refused\n", 0}
    end
  end

  case Clients.install(:chromium) do
    {:skip, reason} -> @tag skip: reason
    {:ok, command} -> @tag command: command
  end

  test "Chromium gets its messages back", context do
    page = File.read!("test/clients/browser.html")

    for {compress?, expected} <- [
          {false, "#{unquote(2 * sizes)} messages echoed without compression, closed with 1000"},
          {true, "#{unquote(sizes)} messages echoed with compression, closed with 1000"}
        ] do
      options = [observer: self(), page: page, connection_options: [compress: compress?]]
      port = LiveServer.start(:masking_and_text, options)
      url = "http://localhost:#{port}/?sizes=#{@sizes}"
      assert Clients.browse(context.command, url) == expected
    end
  end

  @tag skip: LiveServer.skip() || MintClient.skip()
  test "mint_web_socket gets its messages back, and 1007 for what is not UTF-8" do
    port = LiveServer.start(:masking_and_text)

    for {options, opcodes} <- [{[], [:text, :binary]}, {[compress: true], [:text]}] do
      client = MintClient.connect(port, "/", options)

      for opcode <- opcodes, size <- Messages.sizes(), reduce: client do
        client ->
          payload = apply(Messages, opcode, [size])
          client = MintClient.send_frame(client, {opcode, payload})
          {[{received_as, received}], client} = MintClient.receive_frames(client)
          assert received_as == opcode
          # Megabytes are not to be printed.
          assert :erlang.md5(received) == :erlang.md5(payload)
          client
      end
    end

    for text <- Messages.invalid_texts() do
      client = MintClient.connect(port) |> MintClient.send_frame({:text, text})
      assert {[{:close, 1007, _reason}], _client} = MintClient.receive_frames(client)
    end
  end
end
