defmodule BanditNative.ValidateText do
  @moduledoc """
  Validates the text messages of a WebSocket connection in native code.

  A text message must be UTF-8
  ([RFC 6455 §8.1](https://www.rfc-editor.org/rfc/rfc6455#section-8.1)). Bandit checks that with
  `String.valid?/1`, which costs about as much as unmasking the message does. The check can't be
  replaced, but it can be turned off, and be done here instead:

    1. `use BanditNative.ValidateText` in the module that receives the messages;
    2. set `validate_text_frames: false` for its connections.

  A text message that is not UTF-8 then never reaches `c:WebSock.handle_in/2`, and the connection
  ends as it does with Bandit's own check: the peer gets the status code 1007, `c:WebSock.terminate/2`
  gets `{:error, "Received non UTF-8 text frame (RFC6455§8.1)"}`, and that text is the `error` in
  the metadata of the telemetry event `[:bandit, :websocket, :stop]`. This holds for whole,
  fragmented and compressed messages. Binary messages are not looked at.

      defmodule MyApp.EchoSocket do
        @behaviour WebSock
        use BanditNative.ValidateText

        @impl true
        def init(options), do: {:ok, options}

        @impl true
        def handle_in({message, opcode: opcode}, state), do: {:push, {opcode, message}, state}

        @impl true
        def handle_info(_message, state), do: {:ok, state}
      end

  [Set-up](setup.md#text-messages) shows where the option goes, and what a Phoenix socket and LiveView's
  look like.

  ## Both belong together

  | `use BanditNative.ValidateText` | `validate_text_frames` | who validates |
  |---|---|---|
  | no | `true`, the default | Bandit |
  | yes | `true`, the default | Bandit, and then this module: correct, but slower than either |
  | yes | `false` | this module |
  | no | `false` | **nobody**: the handler gets text that is not UTF-8 |

  As a server's option, `validate_text_frames: false` is for every WebSocket of the server; as a
  connection's, for this one. What the connection says comes first.

  Neither needs `primitive_ops_module: BanditNative.WebSocket`, the native unmasking, nor does that
  need them. That one is a server's option only.

  ## Rules

  The module must define `handle_in/2`, itself or by another `use`. If it does not, it does not
  compile. All clauses, guards, default arguments and attributes stay as they are. A `handle_in/3`
  whose last argument has a default is no `handle_in/2`: that does not compile either.

  Where a dependency defines `handle_in/2`, adds clauses to it, or overrides it, only at the end of
  the module (in a `@before_compile` callback), `use BanditNative.ValidateText` must come after the
  `use` of that dependency. If it comes before, the module does not compile.

  With another server than Bandit, such as Cowboy, the connection is closed with 1007 too, but that
  server's own check comes first.
  """

  alias BanditNative.WebSocket

  # The reason that Bandit gives, in every version from 1.6.0 to 1.12.5. Its text is all that is taken
  # from Bandit's own check. A result `{:stop, reason, code, state}` makes Bandit do the same as it
  # does there: call terminate/2, send the code, end the telemetry span, and stop the process.
  @reason "Received non UTF-8 text frame (RFC6455§8.1)"

  @doc false
  defmacro __using__(_options) do
    quote do
      @before_compile BanditNative.ValidateText
    end
  end

  # At the end of the module, when all of its clauses are there, whatever the order of `use`.
  @doc false
  defmacro __before_compile__(env) do
    unless Module.defines?(env.module, {:handle_in, 2}, :def) do
      raise CompileError,
        file: env.file,
        line: env.line,
        description:
          "#{inspect(env.module)} uses BanditNative.ValidateText, but defines no public function " <>
            "handle_in/2 for it to protect. If another `use` defines it at the end of the module, " <>
            "`use BanditNative.ValidateText` must come after that one"
    end

    # Once, also where it is used twice.
    unless {__MODULE__, :__on_definition__} in Module.get_attribute(env.module, :on_definition),
      do: protect()
  end

  # One clause, and the check elsewhere: where the compiler sees that only text messages get to
  # `super`, it warns of a handler that takes none.
  #
  # There is no @impl here: a function that a macro defines needs none, and a module that is no
  # behaviour's implementation may have none.
  defp protect do
    quote do
      defoverridable handle_in: 2

      def handle_in(message, state) do
        if unquote(__MODULE__).valid?(message) do
          super(message, state)
        else
          {:stop, unquote(@reason), 1007, state}
        end
      end

      @on_definition BanditNative.ValidateText
    end
  end

  # A clause that comes later would never be reached, and a function that takes the place of the one
  # above would get the messages before they are validated.
  @doc false
  def __on_definition__(env, :def, :handle_in, [_message, _state], _guards, _body) do
    raise CompileError,
      file: env.file,
      line: env.line,
      description:
        "#{inspect(env.module)} uses BanditNative.ValidateText before another `use` that adds to " <>
          "handle_in/2 at the end of the module: it must come after that one"
  end

  def __on_definition__(_env, _kind, _name, _arguments, _guards, _body), do: :ok

  @doc false
  def valid?({text, [opcode: :text]}), do: WebSocket.utf8_validate(text)

  # What a later server might add to the options must not turn the check off.
  def valid?({text, [_, _ | _] = options}),
    do: options[:opcode] != :text or WebSocket.utf8_validate(text)

  def valid?(_message), do: true
end
