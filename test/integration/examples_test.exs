defmodule BanditNative.Integration.ExamplesTest do
  use ExUnit.Case, async: true

  alias BanditNative.{Clients, LiveServer, MintClient}

  @tag skip: LiveServer.skip() || MintClient.skip()
  test "the echo server echoes text, and refuses what is not UTF-8" do
    client = "examples/echo_server.exs" |> run() |> MintClient.connect()
    client = MintClient.send_frame(client, {:text, "κόσμε"})
    assert {[{:text, "κόσμε"}], client} = MintClient.receive_frames(client)
    client = MintClient.send_frame(client, {:text, "\xFF"})
    assert {[{:close, 1007, _reason}], _client} = MintClient.receive_frames(client)
  end

  @tag skip:
         LiveServer.skip() || MintClient.skip() ||
           (not Code.ensure_loaded?(Phoenix) && "Phoenix is not available")
  test "the Phoenix example serves its page, and a channel that broadcasts" do
    port = run("examples/phoenix.exs")
    path = "/socket/websocket?vsn=2.0.0"

    client = MintClient.connect(port, path)
    client = MintClient.send_frame(client, {:text, ~s(["1","1","room:lobby","phx_join",{}])})
    assert {[{:text, answer}], client} = MintClient.receive_frames(client)
    assert answer =~ ~s("status":"ok")

    message = ~s(["1","2","room:lobby","message",{"text":"κόσμε"}])
    client = MintClient.send_frame(client, {:text, message})
    assert {[{:text, broadcast} | _answer], _client} = MintClient.receive_frames(client)
    assert broadcast == ~s([null,null,"room:lobby","message",{"text":"κόσμε"}])

    client = MintClient.connect(port, path)
    client = MintClient.send_frame(client, {:text, "\xFF"})
    assert {[{:close, 1007, _reason}], _client} = MintClient.receive_frames(client)
  end

  # As the user does, but on a free port, and with what is compiled for the tests. Gives the port.
  defp run(example) do
    arguments = ~w(run --no-deps-check --no-compile) ++ [example]
    {server, os_pid} = Clients.start_program("mix", arguments, PORT: 0, MIX_ENV: "test")
    on_exit(fn -> System.cmd("kill", [to_string(os_pid)]) end)
    {port, _output} = Clients.listening_port(server)
    port
  end
end
