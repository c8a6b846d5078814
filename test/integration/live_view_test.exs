if Code.ensure_loaded?(Phoenix.LiveView) and Code.ensure_loaded?(Bandit) do
  defmodule BanditNative.Integration.LiveViewTest do
    # One endpoint, and one observer.
    use ExUnit.Case, async: false

    alias BanditNative.{Clients, Messages, MintClient}

    @moduletag :capture_log

    # As the documentation of BanditNative.ValidateText says.
    defmodule LiveSocket do
      use Phoenix.LiveView.Socket
      use BanditNative.ValidateText
    end

    defmodule EchoLive do
      use Phoenix.LiveView

      @impl true
      def mount(_parameters, _session, socket), do: {:ok, assign(socket, text: "")}

      @impl true
      def handle_event("say", %{"text" => text}, socket) do
        send(Application.fetch_env!(:bandit_native, :observer), {:said, text})
        {:noreply, assign(socket, text: text)}
      end

      @impl true
      def render(assigns) do
        ~H"""
        <form phx-submit="say"><input name="text" /></form>
        <p>{@text}</p>
        """
      end
    end

    defmodule Page do
      use Phoenix.Component

      # Its script waits for LiveView to join, sends a text, and waits for it to be shown.
      def root(assigns) do
        ~H"""
        <!doctype html>
        <meta charset="utf-8" />
        <script src="/phoenix/phoenix.js">
        </script>
        <script src="/phoenix_live_view/phoenix_live_view.js">
        </script>
        {@inner_content}
        <script type="module">
          const text = 'aé€😀{":7}Ж語\uFFFF'.repeat(10000);

          async function until(condition, what) {
            for (let i = 0; i < 500 && !condition(); i++) await new Promise((go) => setTimeout(go, 100));
            if (!condition()) throw `not ${what}`;
          }

          async function run() {
            new LiveView.LiveSocket('/live', Phoenix.Socket).connect();
            await until(() => document.querySelector('.phx-connected'), 'joined');
            document.querySelector('input').value = text;
            document.querySelector('form').requestSubmit();
            await until(() => document.querySelector('p').textContent === text, 'shown');
            return 'joined, shown';
          }

          const report = await run().catch((error) => `failed: ${error}`);
          fetch('/report', { method: 'POST', body: report });
        </script>
        """
      end
    end

    defmodule Endpoint do
      use Phoenix.Endpoint, otp_app: :bandit_native

      socket "/live", LiveSocket, drainer: false

      plug Plug.Static, at: "/phoenix", from: {:phoenix, "priv/static"}
      plug Plug.Static, at: "/phoenix_live_view", from: {:phoenix_live_view, "priv/static"}
      plug :page

      def page(%{method: "POST"} = conn, _options) do
        {:ok, body, conn} = Plug.Conn.read_body(conn)
        send(Application.fetch_env!(:bandit_native, :observer), {:report, body})
        Plug.Conn.send_resp(conn, 200, "")
      end

      def page(conn, _options) do
        conn
        |> Phoenix.Controller.put_format("html")
        |> Phoenix.Controller.put_root_layout(html: {Page, :root})
        |> Phoenix.LiveView.Controller.live_render(EchoLive)
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
        pubsub_server: BanditNative.Integration.LivePubSub,
        live_view: [signing_salt: "salt of the tests"],
        secret_key_base: String.duplicate("a", 64)
      )

      start_supervised!({Phoenix.PubSub, name: BanditNative.Integration.LivePubSub})
      # It says where it can be reached.
      ExUnit.CaptureLog.capture_log(fn -> start_supervised!(Endpoint) end)
      {:ok, {_address, port}} = Endpoint.server_info(:http)
      {:ok, port: port}
    end

    setup do
      Application.put_env(:bandit_native, :observer, self())
    end

    # Joins as LiveView's client does, with what the page has been given.
    defp join(port) do
      page = Endpoint.call(Plug.Test.conn(:get, "/"), []).resp_body

      [id, session, static] =
        for name <- ["id", "data-phx-session", "data-phx-static"] do
          [_attribute, value] = Regex.run(~r/#{name}="([^"]+)"/, page)
          value
        end

      client = MintClient.connect(port, "/live/websocket?vsn=2.0.0")
      parameters = %{url: "http://localhost/", params: %{}, session: session, static: static}

      {answer, client} =
        push(client, Jason.encode!(["1", "1", "lv:" <> id, "phx_join", parameters]))

      assert {:text, answer} = answer
      assert ["1", "1", _topic, "phx_reply", %{"status" => "ok"}] = Jason.decode!(answer)
      {client, "lv:" <> id}
    end

    # An event of the page with this text, not escaped.
    defp say(topic, text) do
      event = %{type: "click", event: "say", value: %{text: "TEXT"}}
      ["1", "2", topic, "event", event] |> Jason.encode!() |> String.replace("TEXT", text)
    end

    defp push(client, text) do
      client = MintClient.send_frame(client, {:text, text})
      {[answer], client} = MintClient.receive_frames(client)
      {answer, client}
    end

    @tag skip: MintClient.skip()
    test "text that is UTF-8 gets to a LiveView, and no other", %{port: port} do
      for bad <- Messages.invalid_texts() do
        {client, topic} = join(port)

        {{:text, answer}, client} = push(client, say(topic, "κόσμε"))
        assert answer =~ "κόσμε"
        assert_received {:said, "κόσμε"}

        assert {{:close, 1007, _reason}, _client} = push(client, say(topic, bad))
        refute_received {:said, _text}
      end
    end

    case Clients.install(:chromium) do
      {:skip, reason} -> @tag skip: reason
      {:ok, command} -> @tag command: command
    end

    test "LiveView's own client joins and sends text from Chromium", context do
      url = "http://localhost:#{context.port}/"
      assert Clients.browse(context.command, url) == "joined, shown"
    end
  end
else
  defmodule BanditNative.Integration.LiveViewTest do
    use ExUnit.Case

    @tag skip: "LiveView or Bandit is not available: see BANDIT_NATIVE_DEPS_DIR in mix.exs"
    test "text that is UTF-8 gets to a LiveView, and no other"
  end
end
