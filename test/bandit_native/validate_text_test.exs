defmodule BanditNative.ValidateTextTest do
  use ExUnit.Case, async: true

  @refused {:stop, "Received non UTF-8 text frame (RFC6455§8.1)", 1007, :state}

  defmodule Handler do
    @callback init(term()) :: term()
    @callback handle_in({binary(), keyword()}, term()) :: term()

    # What a framework does: the module that uses it gets a handle_in/2 that it never sees.
    defmacro __using__(_options) do
      quote do
        @behaviour unquote(__MODULE__)
        @impl unquote(__MODULE__)
        def init(options), do: options
        def handle_in(message, state), do: {:ok, message, state}
      end
    end
  end

  defmodule Overridable do
    # A handle_in/2 that the module may replace, with `super` for this one.
    defmacro __using__(_options) do
      quote do
        def handle_in(message, state), do: {:ok, message, state}
        defoverridable handle_in: 2
      end
    end
  end

  defmodule AtTheEnd do
    # Takes part in handle_in/2 when the rest of the module is there.
    defmacro __using__(part) do
      quote do
        @part unquote(part)
        @before_compile AtTheEnd
      end
    end

    defmacro __before_compile__(env) do
      case Module.get_attribute(env.module, :part) do
        :define ->
          quote do
            def handle_in(message, state), do: {:defined, message, state}
          end

        :add ->
          quote do
            def handle_in(message, state), do: {:added, message, state}
          end

        :wrap ->
          quote do
            defoverridable handle_in: 2
            def handle_in(message, state), do: {:wrapped, super(message, state), state}
          end
      end
    end
  end

  defmodule ManyClauses do
    @behaviour Handler
    use BanditNative.ValidateText

    @impl true
    def init(options), do: options

    @impl true
    def handle_in(message, state \\ :default_state)
    def handle_in({"ping", opcode: :text}, state), do: {:ping, state}

    def handle_in({text, opcode: :text}, state) when byte_size(text) > 4 and state != nil,
      do: {:long, state}

    def handle_in({_data, opcode: :binary}, state), do: {:binary, state}
  end

  defmodule BinaryOnly do
    use BanditNative.ValidateText
    def handle_in({data, opcode: :binary}, state), do: {data, state}
  end

  defmodule FrameworkFirst do
    use Handler
    use BanditNative.ValidateText
  end

  defmodule FrameworkLast do
    use BanditNative.ValidateText
    use Handler
  end

  test "each clause of handle_in/2 gets the messages that it got before" do
    assert ManyClauses.handle_in({"ping", opcode: :text}, :state) == {:ping, :state}
    assert ManyClauses.handle_in({"grüße", opcode: :text}, :state) == {:long, :state}
    assert ManyClauses.handle_in({"grüße", opcode: :text}) == {:long, :default_state}
    assert ManyClauses.handle_in({"\xFF", opcode: :binary}, :state) == {:binary, :state}

    assert_raise FunctionClauseError, fn ->
      ManyClauses.handle_in({"pong", opcode: :text}, :state)
    end
  end

  test "no clause gets text that is not UTF-8" do
    assert ManyClauses.handle_in({"ping\xFF", opcode: :text}, :state) == @refused
    assert BinaryOnly.handle_in({"\xFF", opcode: :text}, :state) == @refused
    assert BinaryOnly.handle_in({"\xFF", opcode: :binary}, :state) == {"\xFF", :state}
  end

  test "the order in which a framework and this module are used makes no difference" do
    for module <- [FrameworkFirst, FrameworkLast] do
      message = {"κόσμε", opcode: :text}
      assert module.handle_in(message, :state) == {:ok, message, :state}
      assert module.handle_in({"\xC2A", opcode: :text}, :state) == @refused
    end
  end

  test "a handle_in/2 that is overridable is protected, replaced or not" do
    message = {"κόσμε", opcode: :text}

    for {body, result} <- [
          {"", {:ok, message, :state}},
          {"def handle_in(message, state), do: {:own, super(message, state)}",
           {:own, {:ok, message, :state}}}
        ] do
      module = define("use #{inspect(Overridable)}; #{use_it()}; #{body}")
      assert module.handle_in(message, :state) == result
      assert module.handle_in({"\xFF", opcode: :text}, :state) == @refused
    end
  end

  test "a handle_in/2 that delegates, and functions named alike, are no obstacle" do
    module =
      define("""
      #{use_it()}
      defdelegate handle_in(message, state), to: #{inspect(FrameworkFirst)}
      def handle_in(message), do: valid?(message, nil, nil)
      def handle_in(message, _state, _more), do: message
      defp valid?(message, nil, nil), do: message
      """)

    assert module.handle_in({"a", opcode: :text}, :state) == {:ok, {"a", opcode: :text}, :state}
    assert module.handle_in({"\xFF", opcode: :text}, :state) == @refused
    assert module.handle_in("\xFF") == "\xFF"
  end

  @parts define: "",
         add: "def handle_in({\"ping\", opcode: :text}, state), do: {:ping, state}",
         wrap: "def handle_in(message, _state), do: message"

  test "what another `use` does to handle_in/2 at the end of the module is protected as well" do
    for {part, body} <- @parts do
      module = define("use #{inspect(AtTheEnd)}, #{inspect(part)}; #{use_it()}; #{body}")
      assert {name, _message, :state} = module.handle_in({"κόσμε", opcode: :text}, :state)
      assert name in [:defined, :added, :wrapped]
      assert module.handle_in({"\xFF", opcode: :text}, :state) == @refused
    end
  end

  test "what another `use` would do to handle_in/2 behind its back does not compile" do
    for {part, body} <- @parts do
      error =
        assert_raise CompileError, fn ->
          define("#{use_it()}; use #{inspect(AtTheEnd)}, #{inspect(part)}; #{body}")
        end

      assert Exception.message(error) =~ "must come after that one"
    end
  end

  test "it may be used twice, and validates once" do
    once = define("#{use_it()}; def handle_in(message, _state), do: message")
    twice = define("#{use_it()}; #{use_it()}; def handle_in(message, _state), do: message")
    call = {BanditNative.ValidateText, :valid?, 1}
    :erlang.trace_pattern(call, true, [:local])

    # The calls of one process: other tests validate at the same time.
    for module <- [once, twice] do
      caller =
        spawn(fn ->
          receive do
            :go -> module.handle_in({"a", opcode: :text}, :state)
          end
        end)

      :erlang.trace(caller, true, [:call])
      ended = Process.monitor(caller)
      send(caller, :go)

      assert_receive {:trace, ^caller, :call, {BanditNative.ValidateText, :valid?, [_message]}},
                     5_000

      assert_receive {:DOWN, ^ended, :process, ^caller, :normal}, 5_000
      delivered = :erlang.trace_delivered(caller)
      assert_receive {:trace_delivered, ^caller, ^delivered}, 5_000
      refute_received {:trace, ^caller, :call, _another}
    end

    :erlang.trace_pattern(call, false, [:local])
  end

  test "a module without a public handle_in/2 does not compile" do
    for body <- [
          "",
          "def handle_in(a), do: a",
          "defp handle_in(a, _b), do: a; def f, do: handle_in(1, 2)"
        ] do
      error = assert_raise CompileError, fn -> define("#{use_it()}; #{body}") end

      assert Exception.message(error) =~
               ~r/Defined\d+ uses BanditNative.ValidateText, but defines no/
    end
  end

  defp use_it, do: "use BanditNative.ValidateText"

  # A module with this body.
  defp define(body) do
    name = "#{inspect(__MODULE__)}.Defined#{System.unique_integer([:positive])}"

    {{:module, module, _binary, _result}, _bindings} =
      Code.eval_string("defmodule #{name} do\n#{body}\nend")

    module
  end
end
