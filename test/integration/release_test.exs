defmodule BanditNative.Integration.ReleaseTest do
  use ExUnit.Case, async: true

  alias BanditNative.{Clients, LiveServer, RawClient}

  @moduletag :tmp_dir
  @moduletag timeout: 600_000

  @packages ~w(bandit hpax mime plug plug_crypto telemetry thousand_island websock)a

  @tag skip: LiveServer.skip()
  test "a release serves WebSocket frames, natively and with the library deleted", context do
    project = Path.join(context.tmp_dir, "server")
    File.mkdir_p!(Path.join(project, "lib"))
    File.write!(Path.join(project, "mix.exs"), mix_exs())
    File.write!(Path.join(project, "lib/server.ex"), server())

    target = System.get_env("CARGO_TARGET_DIR") || Path.expand("target")
    env = [{"MIX_ENV", "prod"}, {"MIX_BUILD_PATH", nil}, {"CARGO_TARGET_DIR", target}]
    options = [cd: project, env: env, stderr_to_stdout: true]
    {output, status} = System.cmd("mix", ["release", "--quiet"], options)
    assert status == 0, output
    release = Path.join(project, "_build/prod/rel/server")

    assert served(release) == %{native: true, warnings: 0}

    [library] = Path.wildcard(Path.join(release, "lib/bandit_native-*/priv/native/*.so"))
    File.rm!(library)
    assert served(release) == %{native: false, warnings: 1}
  end

  defp mix_exs do
    paths = Map.take(Mix.Project.deps_paths(), @packages)

    deps =
      for {package, path} <- [{:bandit_native, File.cwd!()} | Map.to_list(paths)] do
        {package, path: path, override: true}
      end

    """
    defmodule Server.MixProject do
      use Mix.Project

      def project, do: [app: :server, version: "0.1.0", deps: #{inspect(deps)}]
      def application, do: [extra_applications: [:logger], mod: {Server, []}]
    end
    """
  end

  # Sends each message back, with validation of its own.
  defp server do
    """
    defmodule Server do
      use Application
      use BanditNative.ValidateText

      def start(_type, _arguments) do
        server =
          {Bandit,
           plug: __MODULE__,
           ip: :loopback,
           port: 0,
           websocket_options: [
             primitive_ops_module: BanditNative.WebSocket,
             validate_text_frames: false
           ]}

        IO.puts("native: \#{BanditNative.info().native}")
        Supervisor.start_link([server], strategy: :one_for_one)
      end

      def init(state), do: if(state == [], do: [], else: {:ok, state})
      def call(conn, _), do: Plug.Conn.upgrade_adapter(conn, :websocket, {__MODULE__, nil, []})
      def handle_in({message, opcode: opcode}, state), do: {:push, {opcode, message}, state}
      def handle_info(_message, state), do: {:ok, state}
      def terminate(_reason, _state), do: :ok
    end
    """
  end

  # Whether the release says that it is native, how often it warns that it is not; and it echoes.
  defp served(release) do
    program = Path.join(release, "bin/server")
    {server, os_pid} = Clients.start_program(program, ["start"], RELEASE_DISTRIBUTION: "none")
    on_exit(fn -> System.cmd("kill", [to_string(os_pid)]) end)
    {port, output} = Clients.listening_port(server)

    socket = RawClient.connect(port)

    for {opcode, payload} <- [text: "κόσμε", binary: <<0xFF>>, text: String.duplicate("ü", 500)] do
      RawClient.send_bytes(socket, RawClient.frame(opcode, payload))
      assert RawClient.read_frame(socket) == {opcode, payload}
    end

    RawClient.send_bytes(socket, RawClient.frame(:text, <<0xFF>>))
    assert RawClient.read_frame(socket) == {:close, 1007}

    %{
      native: output =~ "native: true",
      warnings: length(Regex.scan(~r/\[warn.*bandit_native: .* there is no/, output))
    }
  end
end
