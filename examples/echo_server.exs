# A WebSocket server that sends each message back, with native unmasking and native validation.
#
#     elixir examples/echo_server.exs
#
# It listens on port 4000, or on the one in PORT.

# What a project's own dependencies are. In a project that has them, nothing is to be installed.
unless Code.ensure_loaded?(BanditNative) do
  Mix.install([:bandit, :websock_adapter, {:bandit_native, path: Path.expand("..", __DIR__)}])
end

defmodule EchoSocket do
  @behaviour WebSock
  use BanditNative.ValidateText

  @impl true
  def init(options), do: {:ok, options}

  @impl true
  def handle_in({message, opcode: opcode}, state), do: {:push, {opcode, message}, state}

  @impl true
  def handle_info(_message, state), do: {:ok, state}
end

defmodule Router do
  use Plug.Router

  plug :match
  plug :dispatch

  get "/" do
    # EchoSocket validates text, and Bandit need not.
    WebSockAdapter.upgrade(conn, EchoSocket, [], validate_text_frames: false)
  end

  match _ do
    send_resp(conn, 404, "not found")
  end
end

IO.inspect(BanditNative.info(), label: "bandit_native")

{:ok, _server} =
  Bandit.start_link(
    plug: Router,
    port: String.to_integer(System.get_env("PORT", "4000")),
    websocket_options: [primitive_ops_module: BanditNative.WebSocket]
  )

Process.sleep(:infinity)
