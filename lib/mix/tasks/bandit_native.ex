defmodule Mix.Tasks.BanditNative do
  @shortdoc "Checks and measures the native library of bandit_native"

  @moduledoc """
  Says whether the native library is in use on this machine, tests it, and measures it.

      mix bandit_native

    1. Whether the library is loaded, and for which CPU instructions; if it is not, why.
    2. A self-test: the examples of RFC 6455, every small size at every alignment, inputs that broke
       other implementations, and frames recorded from real clients.
    3. Where Bandit is there: a server on the loopback address, a real client's frames sent to it,
       and the calls counted that Bandit made.
    4. The time that calls take, beside the plain Elixir functions that serve where the library
       can't be loaded.

  Your application is not started. Takes less than half a minute. The exit status is 1 if a test fails
  or the library is not in use.
  """

  use Mix.Task

  alias BanditNative.{Fallback, SelfTest, Timer, WebSocket}

  # Of the application that this runs in, what it is configured to do is of interest, and no more.
  @requirements ["app.config"]

  @impl true
  def run(_args) do
    {:ok, _started} = Application.ensure_all_started(:bandit_native)
    info = BanditNative.info()
    report(info)
    checks = SelfTest.run(WebSocket, Fallback)
    Enum.each(checks, &report_check/1)
    server_check = check_server()
    report_check(server_check)
    failed? = Enum.any?([server_check | checks], &match?({_name, _cases, [_ | _]}, &1))
    say("\nSelf-test: #{if failed?, do: "FAILED", else: "passed"}")

    cond do
      failed? ->
        exit({:shutdown, 1})

      info.native ->
        measure()
        say("\nThe native library is in use and works.")

      true ->
        say("\nThe native library is NOT in use: #{info.reason}")
        exit({:shutdown, 1})
    end
  end

  defp report(info) do
    say("""
    bandit_native #{info.version}, Elixir #{System.version()}, OTP #{System.otp_release()}, \
    #{:erlang.system_info(:system_architecture)}

    Native library:  #{if info.native, do: "in use", else: "NOT in use: #{info.reason}"}
      ws_mask        #{info.tiers.ws_mask}
      utf8_validate  #{info.tiers.utf8_validate}
      this CPU has   #{Enum.map_join(info.cpu_tiers, ", ", &to_string/1)}

    Self-test
    """)
  end

  defp report_check({name, cases, []}), do: say("  ok      #{name} (#{cases})")
  defp report_check({name, :skipped, reason}), do: say("  skipped #{name}: #{reason}")

  defp report_check({name, cases, failures}) do
    say("  FAILED  #{name}: #{length(failures)} of #{cases}, the first of them:")
    for failure <- Enum.take(failures, 3), do: say("            #{failure}")
  end

  defp say(text), do: Mix.shell().info(text)

  @server_check "a loopback Bandit echoes what a real client sent"

  if Code.ensure_loaded?(Bandit) do
    defmodule Upgrade do
      @moduledoc false

      def init(options), do: options

      def call(conn, _options),
        do: Plug.Conn.upgrade_adapter(conn, :websocket, {Mix.Tasks.BanditNative.Echo, nil, []})
    end

    defmodule Echo do
      @moduledoc false

      def init(state), do: {:ok, state}
      def handle_in({data, opcode: opcode}, state), do: {:push, {opcode, data}, state}
      def handle_info(_message, state), do: {:ok, state}
      def terminate(_reason, state), do: {:ok, state}
    end

    defp check_server do
      case SelfTest.clients() do
        [] -> {@server_check, :skipped, "the recorded frames are not there"}
        [client | _others] -> check_server(client)
      end
    end

    defp check_server(client) do
      {:ok, _started} = Application.ensure_all_started(:bandit)

      {:ok, server} =
        Bandit.start_link(
          plug: Upgrade,
          ip: :loopback,
          port: 0,
          startup_log: false,
          websocket_options: [primitive_ops_module: WebSocket]
        )

      {:ok, {_ip, port}} = ThousandIsland.listener_info(server)
      call_count(true)
      echoes = echoes(port, SelfTest.stream(client))
      {:call_count, calls} = :erlang.trace_info({WebSocket, :ws_mask, 2}, :call_count)
      call_count(false)
      Supervisor.stop(server)

      expected = for {frame, digest} <- SelfTest.messages(client), do: {frame.opcode, digest}
      say("          Bandit called BanditNative.WebSocket.ws_mask/2 #{calls} times:")

      cond do
        echoes != expected -> {@server_check, length(expected), ["the echo differs"]}
        calls < length(expected) -> {@server_check, length(expected), ["it did not call us"]}
        true -> {@server_check, length(expected), []}
      end
    end

    defp call_count(value),
      do: :erlang.trace_pattern({WebSocket, :ws_mask, 2}, value, [:call_count])

    # What the server sends back for the bytes that a client sent, until it closes.
    defp echoes(port, stream) do
      {:ok, socket} = :gen_tcp.connect({127, 0, 0, 1}, port, [:binary, active: false])

      # RFC 6455 §4.1, with the key of its example.
      :ok =
        :gen_tcp.send(socket, """
        GET / HTTP/1.1\r
        Host: localhost\r
        Upgrade: websocket\r
        Connection: Upgrade\r
        Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r
        Sec-WebSocket-Version: 13\r
        \r
        """)

      {:ok, "HTTP/1.1 101 " <> _headers} = :gen_tcp.recv(socket, 0, 10_000)
      sender = Task.async(fn -> :gen_tcp.send(socket, stream) end)
      frames = receive_all(socket, [])
      :ok = Task.await(sender)

      for {opcode, payload} <- server_frames(frames),
          opcode in [1, 2],
          do: {opcode, :crypto.hash(:sha256, payload)}
    end

    defp receive_all(socket, received) do
      case :gen_tcp.recv(socket, 0, 10_000) do
        {:ok, data} -> receive_all(socket, [received | data])
        {:error, :closed} -> IO.iodata_to_binary(received)
      end
    end

    # RFC 6455 §5.2. A server does not mask.
    defp server_frames(<<_::4, opcode::4, 127, n::64, data::binary-size(n), rest::binary>>),
      do: [{opcode, data} | server_frames(rest)]

    defp server_frames(<<_::4, opcode::4, 126, n::16, data::binary-size(n), rest::binary>>),
      do: [{opcode, data} | server_frames(rest)]

    defp server_frames(<<_::4, opcode::4, n, data::binary-size(n), rest::binary>>),
      do: [{opcode, data} | server_frames(rest)]

    defp server_frames(<<>>), do: []
  else
    defp check_server, do: {@server_check, :skipped, "Bandit is not a dependency here"}
  end

  @sizes [0, 8, 32, 64, 125, 1024, 16_384, 65_536, 1_048_576, 16_777_216]

  @texts [
    ASCII: "The quick brown fox jumps over the lazy dog. ",
    JSON: ~s({"user":"Zoë","id":48151,"tags":["a","b"],"text":"déjà vu"},),
    Latin: "Voyez le brick géant que j'examine près du wharf à côté. ",
    Cyrillic: "Съешь же ещё этих мягких французских булок, да выпей чаю. ",
    CJK: "いろはにほへとちりぬるを。天地玄黃宇宙洪荒。",
    emoji: "😀🎉🚀🌍👍"
  ]

  # Payloads lie as Bandit's do: six bytes into a packet.
  defp measure do
    say("\nMedians; the loop is counted in. 1 GB/s is a byte a nanosecond.\n")
    heading("ws_mask, bytes")

    for size <- @sizes do
      payload = binary_part(SelfTest.bytes(size + 6), 6, size)

      measure(
        number(size),
        size,
        fn _call -> WebSocket.ws_mask(payload, 0x37FA213D) end,
        fn _call -> Fallback.ws_mask(payload, 0x37FA213D) end
      )
    end

    say("")
    heading("utf8_validate, bytes")

    for {name, text} <- @texts, size <- [64, 1024, 65_536] do
      text = :binary.copy(text, max(div(size, byte_size(text)), 1))

      measure(
        "#{name} #{number(byte_size(text))}",
        byte_size(text),
        fn _call -> WebSocket.utf8_validate(text) end,
        fn _call -> Fallback.utf8_validate(text) end
      )
    end
  end

  defp heading(what),
    do: row([what, "ns a call", "GB/s", "plain Elixir, ns", "times faster"])

  defp measure(name, size, native, elixir) do
    [native, elixir] = Timer.medians([native, elixir])

    row([
      name,
      number(round(native)),
      decimal(size / native),
      number(round(elixir)),
      decimal(elixir / native)
    ])
  end

  defp row([name | columns]) do
    columns = Enum.map(columns, &String.pad_leading(&1, 18))
    say("  #{String.pad_trailing(name, 20)}#{columns}")
  end

  defp decimal(number), do: :erlang.float_to_binary(number, decimals: 1)

  defp number(integer) do
    integer |> Integer.to_string() |> String.replace(~r/\d(?=(\d{3})+$)/, "\\0,")
  end
end
