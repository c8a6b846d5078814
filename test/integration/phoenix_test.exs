if Code.ensure_loaded?(Phoenix) and Code.ensure_loaded?(Bandit) do
  defmodule BanditNative.Integration.PhoenixTest do
    # One endpoint, and calls of a function are counted.
    use ExUnit.Case, async: false

    alias BanditNative.{Clients, Messages, MintClient}

    @moduletag :capture_log

    defmodule RoomChannel do
      use Phoenix.Channel

      @impl true
      def join("room:" <> _name, _parameters, socket), do: {:ok, socket}

      @impl true
      def handle_in("echo", payload, socket), do: {:reply, {:ok, payload}, socket}

      def handle_in("shout", payload, socket) do
        broadcast!(socket, "shout", payload)
        {:noreply, socket}
      end
    end

    defmodule PhoenixFirst do
      use Phoenix.Socket
      use BanditNative.ValidateText

      channel "room:*", RoomChannel

      @impl true
      def connect(_parameters, socket, _connect_info), do: {:ok, socket}

      @impl true
      def id(_socket), do: nil
    end

    defmodule PhoenixLast do
      use BanditNative.ValidateText
      use Phoenix.Socket

      channel "room:*", RoomChannel

      @impl true
      def connect(_parameters, socket, _connect_info), do: {:ok, socket}

      @impl true
      def id(_socket), do: nil
    end

    defmodule Transport do
      @behaviour Phoenix.Socket.Transport
      use BanditNative.ValidateText

      @impl true
      def child_spec(_options), do: :ignore

      @impl true
      def connect(_info), do: {:ok, :state}

      @impl true
      def init(state), do: {:ok, state}

      @impl true
      def handle_in({payload, opcode: opcode}, state), do: {:reply, :ok, {opcode, payload}, state}

      @impl true
      def handle_info(_message, state), do: {:ok, state}

      @impl true
      def terminate(_reason, _state), do: :ok
    end

    defmodule UncheckedTransport do
      defdelegate child_spec(options), to: Transport
      defdelegate connect(info), to: Transport
      defdelegate init(state), to: Transport
      defdelegate handle_info(message, state), to: Transport
      defdelegate terminate(reason, state), to: Transport
      def handle_in(_message, state), do: {:reply, :ok, {:text, "unchecked"}, state}
    end

    defmodule Endpoint do
      use Phoenix.Endpoint, otp_app: :bandit_native

      socket "/socket", PhoenixFirst, drainer: false
      socket "/phoenix_last", PhoenixLast, drainer: false
      socket "/transport", Transport, drainer: false
      socket "/unchecked", UncheckedTransport, drainer: false

      plug Plug.Static, at: "/phoenix", from: {:phoenix, "priv/static"}
      plug :page

      def page(conn, _options) do
        {:ok, body, conn} = Plug.Conn.read_body(conn)

        if conn.method == "POST",
          do: send(Application.fetch_env!(:bandit_native, :observer), {:report, body})

        conn
        |> Plug.Conn.put_resp_content_type("text/html")
        |> Plug.Conn.send_resp(200, File.read!("test/clients/phoenix.html"))
      end
    end

    setup_all do
      Application.put_env(:phoenix, :json_library, Jason)

      Application.put_env(:bandit_native, Endpoint,
        adapter: Bandit.PhoenixAdapter,
        http: [
          ip: :loopback,
          port: 0,
          websocket_options: [
            primitive_ops_module: BanditNative.WebSocket,
            validate_text_frames: false
          ]
        ],
        server: true,
        pubsub_server: BanditNative.Integration.PubSub,
        secret_key_base: String.duplicate("a", 64)
      )

      start_supervised!({Phoenix.PubSub, name: BanditNative.Integration.PubSub})
      # It says where it can be reached.
      ExUnit.CaptureLog.capture_log(fn -> start_supervised!(Endpoint) end)
      {:ok, {_address, port}} = Endpoint.server_info(:http)
      {:ok, port: port}
    end

    # The channel protocol of Phoenix.Socket.V2.JSONSerializer.
    defp push(client, message) do
      client = MintClient.send_frame(client, {:text, Jason.encode!(message)})
      {[{:text, answer}], client} = MintClient.receive_frames(client)
      {Jason.decode!(answer), client}
    end

    for path <- ["/socket", "/phoenix_last"] do
      @tag skip: MintClient.skip()
      test "a channel of a socket at #{path} is joined and talked to", %{port: port} do
        :erlang.trace_pattern({BanditNative.WebSocket, :ws_mask, 2}, true, [:call_count])
        :erlang.trace_pattern({BanditNative.WebSocket, :utf8_validate, 1}, true, [:call_count])

        client = MintClient.connect(port, unquote(path) <> "/websocket?vsn=2.0.0")
        {answer, client} = push(client, ["1", "1", "room:lobby", "phx_join", %{}])
        assert ["1", "1", "room:lobby", "phx_reply", %{"status" => "ok"}] = answer

        for size <- [10, 200, 100_000], reduce: client do
          client ->
            payload = %{"text" => Messages.text(size)}
            {answer, client} = push(client, ["1", "2", "room:lobby", "echo", payload])
            assert Enum.at(answer, 4) == %{"response" => payload, "status" => "ok"}
            client
        end

        for function <- [ws_mask: 2, utf8_validate: 1] do
          {name, arity} = function
          call = {BanditNative.WebSocket, name, arity}
          assert {:call_count, 4} = :erlang.trace_info(call, :call_count)
          :erlang.trace_pattern(call, false, [:call_count])
        end
      end
    end

    @tag skip: MintClient.skip()
    test "text that is not UTF-8 gets to no socket and to no transport", %{port: port} do
      for path <- ["/socket", "/phoenix_last", "/transport"],
          text <- Messages.invalid_texts() do
        client = MintClient.connect(port, path <> "/websocket?vsn=2.0.0")
        client = MintClient.send_frame(client, {:text, text})
        assert {[{:close, 1007, _reason}], _client} = MintClient.receive_frames(client)
      end
    end

    @tag skip: MintClient.skip()
    test "text that is not UTF-8 gets to a transport that does not validate it", %{
      port: port
    } do
      client = MintClient.connect(port, "/unchecked/websocket?vsn=2.0.0")
      client = MintClient.send_frame(client, {:text, "\xFF"})
      assert {[{:text, "unchecked"}], _client} = MintClient.receive_frames(client)
    end

    case Clients.install(:chromium) do
      {:skip, reason} -> @tag skip: reason
      {:ok, command} -> @tag command: command
    end

    test "Phoenix's own client joins a channel from Chromium", %{port: port, command: command} do
      Application.put_env(:bandit_native, :observer, self())
      assert Clients.browse(command, "http://localhost:#{port}/") == "joined, echoed, broadcast"
    end
  end
else
  defmodule BanditNative.Integration.PhoenixTest do
    use ExUnit.Case

    @tag skip: "Phoenix or Bandit is not available: see BANDIT_NATIVE_DEPS_DIR in mix.exs"
    test "a channel of a Phoenix endpoint is joined and talked to"
  end
end
