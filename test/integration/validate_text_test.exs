defmodule BanditNative.Integration.ValidateTextTest do
  # The events of one connection at a time are looked at.
  use ExUnit.Case, async: false

  import BanditNative.RawClient

  alias BanditNative.{LiveServer, Messages}

  @moduletag skip: LiveServer.skip()
  @moduletag :capture_log
  @moduletag timeout: 120_000

  @compile {:no_warn_undefined, :telemetry}

  setup do
    observer = self()

    :telemetry.attach_many(
      __MODULE__,
      [
        [:bandit, :websocket, :start],
        [:bandit, :websocket, :stop],
        [:thousand_island, :connection, :stop]
      ],
      &__MODULE__.telemetry_event/4,
      observer
    )

    :ok = :logger.add_handler(__MODULE__, __MODULE__, %{config: observer})

    on_exit(fn ->
      :telemetry.detach(__MODULE__)
      :logger.remove_handler(__MODULE__)
    end)

    ports =
      for name <- [:bandit, :masking_and_text],
          do: {name, LiveServer.start(name, observer: observer)}

    {:ok, ports: ports}
  end

  # Left out are times, numbers of segments, and references that are new in each span.
  def telemetry_event(event, measurements, metadata, observer) do
    measurements = Map.drop(measurements, [:monotonic_time, :duration, :recv_cnt, :send_cnt])
    measurements = Map.update(measurements, :compress, nil, &(&1 != nil))
    send(observer, {:event, :telemetry, {event, measurements, metadata[:error]}})
  end

  # What a crash is reported with; the texts have the handler's name and process in them.
  def log(%{level: level, meta: meta}, %{config: observer}) do
    send(observer, {:event, :log, {level, meta[:crash_reason]}})
  end

  for {name, compressed?} <- [{"", false}, {" compressed", true}] do
    test "each#{name} text that is not UTF-8 ends a connection as Bandit's own check does",
         %{ports: ports} do
      for text <- Messages.invalid_texts(), frames <- ways_to_send(text, unquote(compressed?)) do
        events = assert_same_events(ports, frames, compress: unquote(compressed?))

        reason = "Received non UTF-8 text frame (RFC6455§8.1)"
        assert {:terminate, {:error, reason}} in events
        assert [{:close, 1007}, {:error, :closed}] = Enum.take(events[:client], -2)
        refute Keyword.has_key?(events, :handle_in)

        assert [{_event, _measurements, ^reason}] =
                 for({:telemetry, {[:bandit, _, :stop], _, _} = event} <- events, do: event)
      end
    end

    test "each#{name} text that is UTF-8 gets to the handler as with Bandit's own check",
         %{ports: ports} do
      noncharacters = "\uFFFF\uFFFE\uFDD0\u{10FFFF}\u0000\uD7FF\uE000"

      for text <- ["", "a", noncharacters | Enum.map([125, 126, 70_000], &Messages.text/1)],
          frames <- ways_to_send(text, unquote(compressed?)) do
        events = assert_same_events(ports, [frames | close()], compress: unquote(compressed?))

        assert {:handle_in, {text, opcode: :text}} in events
        assert {:terminate, :remote} in events
      end
    end
  end

  test "binary messages are not validated", %{ports: ports} do
    for binary <- Messages.invalid_texts() do
      frames = [frame(:binary, binary), fragments(:binary, binary, [1]) | close()]
      events = assert_same_events(ports, frames, [])
      assert {:handle_in, {binary, opcode: :binary}} in events
    end
  end

  test "what surrounds a text that is not UTF-8 is dealt with as by Bandit", %{ports: ports} do
    good = frame(:text, "κόσμε")
    bad = frame(:text, "κόσμε\xFF")

    for frames <- [
          [good, bad, good],
          [frame(:binary, <<0xFF>>), frame(:ping, "?"), bad, frame(:close, <<1000::16>>)],
          [frame(:text, "\xFF", fin: false), good],
          [frame(:text, "\xFF", fin: false), frame(:close, <<1000::16>>)],
          [frame(:text, "\xFF", fin: false), frame(:continuation, "a", fin: false), bad],
          [frame(:text, "stop"), bad],
          [bad, bad]
        ] do
      assert_same_events(ports, frames, [])
    end
  end

  test "a connection's option comes before the server's" do
    bad = frame(:text, "a\xFF")

    validated = fn websocket_options, handler, connection_options ->
      options = [observer: self(), connection_options: connection_options]
      port = LiveServer.start(websocket_options, handler, options)
      frames(port, [bad | close()], []) |> Enum.member?({:close, 1007})
    end

    on = [validate_text_frames: true]
    off = [validate_text_frames: false]

    assert validated.([], LiveServer.PlainEcho, [])
    assert validated.([], LiveServer.ValidatingEcho, [])
    assert validated.([], LiveServer.ValidatingEcho, off)
    assert validated.(off, LiveServer.ValidatingEcho, [])
    assert validated.(off, LiveServer.PlainEcho, on)
    # Nobody validates.
    refute validated.([], LiveServer.PlainEcho, off)
    refute validated.(off, LiveServer.PlainEcho, [])
  end

  defp close, do: [frame(:close, <<1000::16>>)]

  defp ways_to_send(text, compressed?) do
    payload = if compressed?, do: compress(text), else: text
    options = [compressed: compressed?, mask: 0x37FA213D]
    size = byte_size(payload)
    whole = frame(:text, payload, options)

    # Up to Bandit 1.12.5 no fragment but the first and the last may be empty.
    cuts =
      Enum.filter([[1], [div(size, 2)], [size - 1], [1, 1, 1]], fn sizes ->
        size > 0 and Enum.sum(sizes) <= size
      end)

    [whole] ++
      Enum.map(cuts, &fragments(:text, payload, &1, [between: frame(:ping, "\xFF")] ++ options))
  end

  defp assert_same_events(ports, frames, options) do
    [bandit, ours] =
      for {name, port} <- ports do
        {client, handler} = events(port, frames, options)
        assert {:init, _} = List.keyfind(handler, :init, 0), inspect(name)
        [{:client, client} | List.keyreplace(handler, :init, 0, {:init, :process})]
      end

    assert ours == bandit
    ours
  end

  defp frames(port, frames, options), do: port |> events(frames, options) |> elem(0)

  # What the client gets, and what happens in the connection's process, in this order.
  defp events(port, frames, options) do
    socket = connect(port, options)
    assert_receive {:event, :init, handler}, 10_000
    monitor = Process.monitor(handler)
    # An answer after it says that the monitor is in place.
    :sys.get_state(handler)
    send_bytes(socket, frames)
    client = read_to_end(socket)
    :gen_tcp.close(socket)
    assert_receive {:DOWN, ^monitor, :process, ^handler, reason}, 10_000
    {client, [{:init, handler} | received()] ++ [exit: reason]}
  end

  defp received do
    receive do
      {:event, name, what} -> [{name, what} | received()]
    after
      0 -> []
    end
  end
end
