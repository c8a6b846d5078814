defmodule BanditNative.LiveServer do
  @moduledoc """
  A Bandit on a free port of the loopback interface, and what it serves.

  The servers that the tests compare are named by what they use of this package:

    * `:bandit` - nothing
    * `:masking` - `primitive_ops_module` only
    * `:masking_and_text` - both settings
  """

  # Also compiled where these are not available, and all tests with them are skipped.
  @compile {:no_warn_undefined, [Bandit, Plug.Conn, ThousandIsland]}

  defmodule Echo do
    @moduledoc """
    Sends each message back, and tells an observer, if there is one, of each callback.
    """

    defmacro __using__(_options) do
      quote do
        def init(observer) do
          if observer, do: send(observer, {:event, :init, self()})
          {:ok, observer}
        end

        def handle_in({"stop", opcode: :text} = message, observer) do
          if observer, do: send(observer, {:event, :handle_in, message})
          {:stop, :normal, observer}
        end

        def handle_in({payload, opcode: opcode} = message, observer) do
          if observer, do: send(observer, {:event, :handle_in, message})
          {:push, {opcode, payload}, observer}
        end

        def handle_control({payload, opcode: opcode}, observer) do
          if observer, do: send(observer, {:event, opcode, payload})
          {:ok, observer}
        end

        def handle_info(_message, observer), do: {:ok, observer}

        def terminate(reason, observer) do
          if observer, do: send(observer, {:event, :terminate, reason})
          :ok
        end
      end
    end
  end

  defmodule PlainEcho do
    @moduledoc false
    use BanditNative.LiveServer.Echo
  end

  defmodule ValidatingEcho do
    @moduledoc false
    use BanditNative.LiveServer.Echo
    use BanditNative.ValidateText
  end

  @doc "Why the tests that need a Bandit are skipped, or `false`."
  def skip do
    not Code.ensure_loaded?(Bandit) &&
      "Bandit is not available: it comes from Hex, or from the folder BANDIT_NATIVE_DEPS_DIR"
  end

  @doc "The options of `websocket_options`, and the handler, that make a server."
  def settings(:bandit), do: {[], PlainEcho}

  def settings(:masking),
    do: {[primitive_ops_module: BanditNative.WebSocket], PlainEcho}

  def settings(:masking_and_text),
    do:
      {[primitive_ops_module: BanditNative.WebSocket, validate_text_frames: false],
       ValidatingEcho}

  @doc """
  Starts a server under the test's supervisor, and gives its port.

  `options` are for all of its connections: `:observer`, a process, and `:connection_options`.
  What is requested other than a WebSocket gets the `:page`, and is reported to the `:observer`.
  """
  def start(name, options \\ []) do
    {websocket_options, handler} = settings(name)
    start(websocket_options, handler, options)
  end

  def start(websocket_options, handler, options) do
    server =
      ExUnit.Callbacks.start_supervised!(
        {Bandit,
         plug: {__MODULE__, {handler, options}},
         ip: :loopback,
         port: 0,
         startup_log: false,
         websocket_options: websocket_options},
        id: make_ref()
      )

    {:ok, {_address, port}} = ThousandIsland.listener_info(server)
    port
  end

  # The plug's part.

  def init(options), do: options

  def call(conn, {handler, options}) do
    observer = options[:observer]

    # In any case of letters (RFC 6455 §4.2.1).
    upgrade = for header <- Plug.Conn.get_req_header(conn, "upgrade"), do: String.downcase(header)

    if upgrade == ["websocket"] do
      connection_options = Keyword.merge([compress: true], options[:connection_options] || [])
      Plug.Conn.upgrade_adapter(conn, :websocket, {handler, observer, connection_options})
    else
      {:ok, body, conn} = Plug.Conn.read_body(conn)
      if conn.method == "POST", do: send(observer, {:report, body})

      conn
      |> Plug.Conn.put_resp_content_type("text/html")
      |> Plug.Conn.send_resp(200, Keyword.get(options, :page, ""))
    end
  end
end
