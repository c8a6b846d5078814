# A Phoenix application in one file, a chat, with native unmasking and native validation.
#
#     elixir examples/phoenix.exs
#
# Then open http://localhost:4000, or the port in PORT, in two windows of a browser.

# What a project's own dependencies are. In a project that has them, nothing is to be installed.
unless Code.ensure_loaded?(BanditNative) do
  Mix.install([:bandit, :jason, :phoenix, {:bandit_native, path: Path.expand("..", __DIR__)}])
end

defmodule Chat.RoomChannel do
  use Phoenix.Channel

  @impl true
  def join("room:lobby", _parameters, socket), do: {:ok, socket}

  @impl true
  def handle_in("message", %{"text" => text}, socket) do
    broadcast!(socket, "message", %{text: text})
    {:reply, :ok, socket}
  end
end

defmodule Chat.UserSocket do
  use Phoenix.Socket
  use BanditNative.ValidateText

  channel "room:*", Chat.RoomChannel

  @impl true
  def connect(_parameters, socket, _connect_info), do: {:ok, socket}

  @impl true
  def id(_socket), do: nil
end

defmodule Chat.Router do
  use Plug.Router

  plug :match
  plug :dispatch

  get "/" do
    conn
    |> put_resp_content_type("text/html")
    |> send_resp(200, """
    <!doctype html>
    <title>Chat</title>
    <script src="/phoenix/phoenix.js"></script>
    <input placeholder="Message" autofocus>
    <div></div>
    <script>
      const socket = new Phoenix.Socket("/socket")
      socket.connect()
      const channel = socket.channel("room:lobby")
      channel.join()
      channel.on("message", ({text}) => document.querySelector("div").append(text, document.createElement("br")))
      document.querySelector("input").onchange = ({target}) => {
        channel.push("message", {text: target.value})
        target.value = ""
      }
    </script>
    """)
  end

  match _ do
    send_resp(conn, 404, "not found")
  end
end

defmodule Chat.Endpoint do
  use Phoenix.Endpoint, otp_app: :chat

  socket "/socket", Chat.UserSocket

  plug Plug.Static, at: "/phoenix", from: {:phoenix, "priv/static"}, only: ["phoenix.js"]
  plug Chat.Router
end

# In a project, this is in config/config.exs and config/runtime.exs.
Application.put_env(:phoenix, :json_library, Jason)

Application.put_env(:chat, Chat.Endpoint,
  adapter: Bandit.PhoenixAdapter,
  http: [
    port: String.to_integer(System.get_env("PORT", "4000")),
    websocket_options: [
      primitive_ops_module: BanditNative.WebSocket,
      # Each socket of the endpoint has `use BanditNative.ValidateText`.
      validate_text_frames: false
    ]
  ],
  server: true,
  pubsub_server: Chat.PubSub,
  secret_key_base: Base.encode64(:crypto.strong_rand_bytes(48))
)

IO.inspect(BanditNative.info(), label: "bandit_native")

{:ok, _supervisor} =
  Supervisor.start_link([{Phoenix.PubSub, name: Chat.PubSub}, Chat.Endpoint],
    strategy: :one_for_one
  )

Process.sleep(:infinity)
