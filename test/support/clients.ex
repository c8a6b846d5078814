defmodule BanditNative.Clients do
  @moduledoc """
  WebSocket clients that nobody here wrote, with the programs of `test/clients` around them.

  Their libraries are installed into the build folder, once.
  """

  alias BanditNative.LiveServer

  @programs Path.expand("../clients", __DIR__)

  @doc """
  Installs a client: `{:ok, command}`, the program and its first arguments, or `{:skip, reason}`.
  """
  def install(client) do
    if reason = LiveServer.skip() do
      {:skip, reason}
    else
      folder = Path.join([Mix.Project.build_path(), "clients", to_string(client)])
      File.mkdir_p!(folder)

      case install(client, folder) do
        [_ | _] = command -> {:ok, command}
        reason -> {:skip, reason}
      end
    end
  end

  @doc "Opens a page in a browser, and gives what the page reports to the server, this process."
  def browse([program | arguments], url) do
    {browser, os_pid} = start_program(program, arguments ++ [url])

    report =
      receive do
        {:report, report} -> report
      after
        60_000 -> "nothing in a minute"
      end

    # Until it has ended, it may send what is counted as the next test's: it closes its connections.
    System.cmd("kill", [to_string(os_pid)])

    receive do
      {^browser, {:exit_status, _status}} -> report
    after
      60_000 -> raise "the browser does not end"
    end
  end

  @doc "Starts a program that runs until it is killed; its output goes to this process."
  def start_program(program, arguments, environment \\ []) do
    port =
      Port.open({:spawn_executable, System.find_executable(program)}, [
        :exit_status,
        :stderr_to_stdout,
        args: arguments,
        env: for({name, value} <- environment, do: {to_charlist(name), to_charlist(value)})
      ])

    {:os_pid, os_pid} = Port.info(port, :os_pid)
    {port, os_pid}
  end

  @doc "The port that a started program's Bandit says it listens on, and all that it said so far."
  def listening_port(program, output \\ "") do
    case Regex.run(~r/ at [^ ]+:(\d+) \(http\)/, output) do
      [_line, port] ->
        {String.to_integer(port), output}

      nil ->
        receive do
          {^program, {:data, data}} -> listening_port(program, output <> to_string(data))
        after
          60_000 -> raise "the program does not listen. It says:\n\n#{output}"
        end
    end
  end

  # Built from a copy, so that no Cargo.lock appears in the repository.
  defp install(:tungstenite, folder) do
    File.cp_r!(Path.join(@programs, "tungstenite"), folder)

    with :ok <- run("cargo", ~w(build --quiet --release --target-dir target), folder),
         do: [Path.join(folder, "target/release/client_tungstenite")]
  end

  # Run from a copy, as node looks for packages next to the file that imports them.
  defp install(:ws, folder) do
    File.cp!(Path.join(@programs, "client_ws.mjs"), Path.join(folder, "client.mjs"))
    File.write!(Path.join(folder, "package.json"), "{}")

    with :ok <- executable("node"),
         :ok <- once(folder, "npm", ~w(install --silent ws@8.23.0)),
         do: ["node", Path.join(folder, "client.mjs")]
  end

  defp install(:websockets, folder) do
    python = Path.join(folder, "bin/python")

    with :ok <- once(folder, "python3", ~w(-m venv .)),
         :ok <- once(folder, python, ~w(-m pip install --quiet websockets==17.4)),
         do: [python, Path.join(@programs, "client_websockets.py")]
  end

  # Without its sandbox, which needs more than a container's root has, as it sees this test's page only.
  defp install(:chromium, folder) do
    options =
      ~w(--headless --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run) ++
        ["--user-data-dir=#{folder}"]

    case Enum.find(~w(chromium chromium-browser google-chrome), &System.find_executable/1) do
      nil -> "Chromium is not installed"
      name -> [name | options]
    end
  end

  defp executable(name) do
    if System.find_executable(name), do: :ok, else: "#{name} is not installed"
  end

  # Not again where it has succeeded.
  defp once(folder, program, arguments) do
    command = Enum.join([Path.basename(program) | arguments], " ")
    done = Path.join(folder, "#{:erlang.phash2(command)}.done")

    if File.exists?(done) do
      :ok
    else
      with :ok <- run(program, arguments, folder), do: File.write(done, command)
    end
  end

  defp run(program, arguments, folder) do
    with :ok <- executable(program) do
      case System.cmd(program, arguments, cd: folder, stderr_to_stdout: true) do
        {_output, 0} -> :ok
        {output, _status} -> "`#{Enum.join([program | arguments], " ")}` failed: #{output}"
      end
    end
  end
end
