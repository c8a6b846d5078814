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

  test "a module without a public handle_in/2 does not compile" do
    for body <- [
          "",
          "def handle_in(a), do: a",
          "defp handle_in(a, _b), do: a; def f, do: handle_in(1, 2)"
        ] do
      code = "defmodule NoHandleIn do use BanditNative.ValidateText; #{body} end"

      error = assert_raise CompileError, fn -> Code.eval_string(code) end

      assert Exception.message(error) =~
               "NoHandleIn uses BanditNative.ValidateText, but defines no"
    end
  end
end
