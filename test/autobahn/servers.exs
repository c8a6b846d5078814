# Servers for the Autobahn test suite to connect to as a fuzzing client.
#
#     MIX_ENV=test mix run test/autobahn/servers.exs
#
# starts a Bandit as it ships on port 9001, one with native masking on 9002, and one with native
# masking and validation on 9003. compare.exs then compares the suite's reports.

for {name, port} <- [bandit: 9001, masking: 9002, masking_and_text: 9003] do
  {websocket_options, handler} = BanditNative.LiveServer.settings(name)

  # The suite's largest messages have 16 MiB.
  connection_options = [max_frame_size: 20_000_000, max_fragmented_message_size: 20_000_000]

  {:ok, _server} =
    Bandit.start_link(
      plug: {BanditNative.LiveServer, {handler, connection_options: connection_options}},
      ip: :loopback,
      port: port,
      websocket_options: websocket_options
    )
end

Process.sleep(:infinity)
