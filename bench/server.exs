# What a WebSocket message costs a Bandit server: CPU time of the whole VM, per message received.
#
#     ELIXIR_ERL_OPTIONS="+sbwt none +sbwtdcpu none +sbwtdio none" mix run bench/server.exs
#
# Options, after the file: --rounds 7 --connections 1,64 --sizes 32,125,1024,16384,1000000,
# --save FILE to write the results for bench/charts.py, and --buffer 65536, the most that is read from
# a connection at once: Erlang's default is 1460 bytes, and then to read a large message costs more
# than all that is compared here.
#
# The servers run in one VM, and take turns. The client is another process, and its time is not
# counted. Schedulers that wait for work by spinning would be, so that is turned off above.
# Needs Linux, and cargo for the client.

unless Enum.any?(~w(ELIXIR_ERL_OPTIONS ERL_FLAGS ERL_AFLAGS), fn variable ->
         System.get_env(variable, "") =~ "+sbwt none"
       end) do
  raise "the schedulers spin: see the command at the top of this file"
end

Code.require_file("report.ex", __DIR__)

defmodule Bench.NoOperation do
  @behaviour Bandit.PrimitiveOps.WebSocket

  @impl true
  def ws_mask(payload, _mask), do: payload
end

defmodule Bench.Sink do
  # Counts messages, and says when all are there.
  defmacro __using__(_options) do
    quote do
      @behaviour WebSock

      @impl true
      def init(count), do: {:ok, count}

      @impl true
      def handle_in(_message, 1), do: {:push, {:binary, "done"}, 0}
      def handle_in(_message, count), do: {:ok, count - 1}

      @impl true
      def handle_info(_message, count), do: {:ok, count}
    end
  end
end

defmodule Bench.PlainSink do
  use Bench.Sink
end

defmodule Bench.ValidatingSink do
  use Bench.Sink
  use BanditNative.ValidateText
end

defmodule Bench.Plug do
  def init(sink), do: sink

  def call(conn, sink) do
    count = String.to_integer(conn.query_string)
    Plug.Conn.upgrade_adapter(conn, :websocket, {sink, count, []})
  end
end

defmodule Bench do
  alias BanditNative.Bench.Report

  @native [primitive_ops_module: BanditNative.WebSocket]
  @unvalidated [validate_text_frames: false]

  @servers [
    bandit: {Bench.PlainSink, []},
    masking: {Bench.PlainSink, @native},
    both: {Bench.ValidatingSink, @native ++ @unvalidated},
    unvalidated: {Bench.PlainSink, @native ++ @unvalidated},
    floor: {Bench.PlainSink, [primitive_ops_module: Bench.NoOperation] ++ @unvalidated}
  ]

  def run(arguments) do
    {options, []} =
      OptionParser.parse!(arguments,
        strict: [
          rounds: :integer,
          connections: :string,
          sizes: :string,
          buffer: :integer,
          save: :string
        ]
      )

    rounds = Keyword.get(options, :rounds, 7)
    connections = integers(options[:connections] || "1,64")
    sizes = integers(options[:sizes] || "32,125,1024,16384,1000000")

    client = build_client()
    transport_options = Keyword.take(options, [:buffer])
    ports = Map.new(@servers, fn {name, server} -> {name, start(server, transport_options)} end)

    IO.puts("""
    #{Report.environment_text()}
    read buffer: #{transport_options[:buffer] || "Erlang's default"}

    µs of the server's CPU time per message, medians of #{rounds} rounds

    * bandit: as it ships
    * masking: primitive_ops_module: BanditNative.WebSocket
    * both: the same, with use BanditNative.ValidateText and validate_text_frames: false
    * unvalidated: native masking, and nobody validates text
    * floor: neither is done, the payloads stay masked
    * covered: the share of the way from bandit to floor that both has gone

    |        |           |             |  bandit | masking |    both | unvalidated |   floor | both/bandit | both/unvalidated | covered |
    |--------|----------:|------------:|--------:|--------:|--------:|------------:|--------:|------------:|-----------------:|--------:|
    |        |     bytes | connections |         |         |         |             |         |             |                  |         |\
    """)

    rows =
      for kind <- ["text", "binary"], size <- sizes, connections <- connections do
        # Each run is to take some 300 ms with Bandit as it ships.
        messages = max(1, round(300_000 / (1.5 + size * 0.003) / connections))
        load = [connections, messages, size, kind]

        # The first round, in which memory is still got from the system, does not count.
        results =
          for round <- 0..rounds, {name, port} <- ports, reduce: %{} do
            results ->
              cpu = measure(client, [port | load]) / (connections * messages)
              if round > 0, do: Map.update(results, name, [cpu], &[cpu | &1]), else: results
          end

        result = Map.new(results, fn {name, cpu} -> {name, median(cpu)} end)
        row(kind, size, connections, result)
        for {name, cpu} <- result, do: [kind, size, connections, name, cpu]
      end

    command = Enum.join(["mix run bench/server.exs" | arguments], " ")
    columns = ~w(kind bytes connections server us)
    Report.save(options[:save], command, columns, Enum.concat(rows))
  end

  defp row(kind, size, connections, result) do
    cells = [
      String.pad_trailing(kind, 6),
      pad(size, 9),
      pad(connections, 11),
      time(result.bandit, 7),
      time(result.masking, 7),
      time(result.both, 7),
      time(result.unvalidated, 11),
      time(result.floor, 7),
      time(result.both / result.bandit, 11),
      time(result.both / result.unvalidated, 16),
      pad("#{round(100 * (result.bandit - result.both) / (result.bandit - result.floor))} %", 7)
    ]

    IO.puts("| " <> Enum.join(cells, " | ") <> " |")
  end

  defp time(number, width), do: number |> :erlang.float_to_binary(decimals: 2) |> pad(width)
  defp pad(term, width), do: term |> to_string() |> String.pad_leading(width)
  defp median(list), do: list |> Enum.sort() |> Enum.at(div(length(list), 2))
  defp integers(text), do: text |> String.split(",") |> Enum.map(&String.to_integer/1)

  defp start({sink, websocket_options}, transport_options) do
    {:ok, server} =
      Bandit.start_link(
        plug: {Bench.Plug, sink},
        ip: :loopback,
        port: 0,
        startup_log: false,
        thousand_island_options: [transport_options: transport_options],
        websocket_options: websocket_options
      )

    {:ok, {_address, port}} = ThousandIsland.listener_info(server)
    port
  end

  # From when the client is connected to when it has ended.
  defp measure(client, arguments) do
    port =
      Port.open({:spawn_executable, client}, [
        :binary,
        :exit_status,
        args: Enum.map(arguments, &to_string/1)
      ])

    receive do: ({^port, {:data, "connected\n"}} -> :ok)
    before = cpu_time()
    Port.command(port, "\n")
    receive do: ({^port, {:exit_status, 0}} -> :ok)
    cpu_time() - before
  end

  # In µs, of all threads. /proc/self/stat counts in steps of 10 ms only.
  defp cpu_time do
    for file <- Path.wildcard("/proc/self/task/*/schedstat"), reduce: 0 do
      sum ->
        [nanoseconds | _rest] = file |> File.read!() |> String.split()
        sum + String.to_integer(nanoseconds) / 1000
    end
  end

  defp build_client do
    folder = Path.join(__DIR__, "load_client")
    target = Path.join(Mix.Project.build_path(), "load_client")

    {_output, 0} =
      System.cmd("cargo", ~w(build -q --release --target-dir) ++ [target], cd: folder)

    Path.join(target, "release/load_client")
  end
end

Bench.run(System.argv())
