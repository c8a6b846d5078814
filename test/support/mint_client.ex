defmodule BanditNative.MintClient do
  @moduledoc """
  A connection of mint_web_socket, which is a library without processes, in blocking calls.
  """

  # Also compiled where it is not available, and the tests with it are skipped.
  @compile {:no_warn_undefined, [Mint.HTTP, Mint.WebSocket, Mint.WebSocket.PerMessageDeflate]}

  @doc "Why the tests that need the library are skipped, or `false`."
  def skip, do: not Code.ensure_loaded?(Mint.WebSocket) && "mint_web_socket is not available"

  def connect(port, path \\ "/", options \\ []) do
    options =
      if options[:compress], do: [extensions: [Mint.WebSocket.PerMessageDeflate]], else: []

    {:ok, http} = Mint.HTTP.connect(:http, "127.0.0.1", port, protocols: [:http1], mode: :passive)
    {:ok, http, request} = Mint.WebSocket.upgrade(:ws, http, path, [], options)
    {:ok, http, responses} = Mint.WebSocket.recv(http, 0, 60_000)

    status = for {:status, ^request, status} <- responses, do: status
    headers = for {:headers, ^request, headers} <- responses, header <- headers, do: header
    [status] = status
    {:ok, http, web_socket} = Mint.WebSocket.new(http, request, status, headers)
    %{http: http, request: request, web_socket: web_socket}
  end

  def send_frame(client, frame) do
    {:ok, web_socket, bytes} = Mint.WebSocket.encode(client.web_socket, frame)
    {:ok, http} = Mint.WebSocket.stream_request_body(client.http, client.request, bytes)
    %{client | http: http, web_socket: web_socket}
  end

  @doc "The next frames, of which there is one at least."
  def receive_frames(client) do
    {:ok, http, responses} = Mint.WebSocket.recv(client.http, 0, 60_000)

    bytes =
      for {:data, request, bytes} <- responses, request == client.request, into: "", do: bytes

    {:ok, web_socket, frames} = Mint.WebSocket.decode(client.web_socket, bytes)
    client = %{client | http: http, web_socket: web_socket}
    if frames == [], do: receive_frames(client), else: {frames, client}
  end
end
