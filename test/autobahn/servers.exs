# Servers for the Autobahn test suite to connect to as a fuzzing client.
#
#     MIX_ENV=test mix run test/autobahn/servers.exs
#
# starts a Bandit as it ships on port 9001, one with native masking on 9002, and one with native
# masking and validation on 9003. compare.exs then compares the suite's reports.

for {name, port} <- [bandit: 9001, masking: 9002, masking_and_text: 9003] do
  {websocket_options, handler} = BanditNative.LiveServer.settings(name)

  {:ok, _server} =
    Bandit.start_link(
      plug: {BanditNative.LiveServer, {handler, []}},
      ip: :loopback,
      port: port,
      websocket_options: websocket_options
    )
end

Process.sleep(:infinity)
