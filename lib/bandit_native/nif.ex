defmodule BanditNative.NIF do
  @moduledoc false
  # The functions of the native library. Their bodies here are what runs where it can't be loaded.

  alias BanditNative.{Fallback, Library}

  @on_load :load

  # The library is built after this module is compiled, and to be looked for only then.
  @compile {:autoload, false}

  @rebuild "To build it again, where the application is compiled: mix deps.compile bandit_native --force"

  @version Mix.Project.config()[:version]

  def ws_mask(payload, mask), do: Fallback.ws_mask(payload, mask)
  def ws_mask_batch(frames), do: Fallback.ws_mask_batch(frames)
  def utf8_validate(binary), do: Fallback.utf8_validate(binary)

  def native_info do
    %{
      reason: :persistent_term.get(__MODULE__, "it is not loaded"),
      ws_mask: :elixir,
      utf8_validate: :elixir,
      cpu_tiers: [],
      version: @version
    }
  end

  # :error for what is no tier. The fallback knows none, and takes any name.
  def set_max_tier(tier), do: if(is_atom(tier), do: :ok, else: :error)

  # Never fails: a module whose on_load function fails can't be used at all, and where modules are
  # loaded at boot, as in a release, the node does not start. A server that is slower beats one that
  # is down.
  def load do
    with {:error, reason} <- load_library() do
      :persistent_term.put(__MODULE__, reason)

      # While the system boots, the handler is a provisional one, and what it shows the real handlers
      # show again. BanditNative.Application gives the warning then.
      unless :simple in :logger.get_handler_ids(), do: warn(reason)
    end

    :ok
  end

  def warn_unless_warned do
    %{reason: reason} = native_info()
    if reason && !:persistent_term.get({__MODULE__, :warned}, false), do: warn(reason)
  end

  defp warn(reason) do
    :persistent_term.put({__MODULE__, :warned}, true)

    :logger.warning(
      "bandit_native: the native library is not in use, plain Elixir does its work: #{reason}"
    )
  end

  defp load_library do
    load_info = %{
      version: @version,
      max_tier: Application.get_env(:bandit_native, :max_tier),
      slice_bytes: Application.get_env(:bandit_native, :slice_bytes)
    }

    path = Path.join(priv_dir(), "native/bandit_native")

    with :ok <- Library.check(path <> Library.extension()),
         :ok <- :erlang.load_nif(String.to_charlist(path), load_info) do
      :ok
    else
      {:error, {_kind, text}} -> {:error, explain(to_string(text), path)}
      {:error, reason} -> {:error, "#{reason}. #{@rebuild}, with BANDIT_NATIVE_BUILD unset"}
    end
  rescue
    error -> {:error, Exception.message(error)}
  catch
    kind, reason -> {:error, Exception.format_banner(kind, reason)}
  end

  # :code.priv_dir/1 finds an application by its folder's name, which may have been changed.
  defp priv_dir do
    case :code.priv_dir(:bandit_native) do
      {:error, :bad_name} ->
        __MODULE__ |> :code.which() |> Path.join("../../priv") |> Path.expand()

      priv_dir ->
        to_string(priv_dir)
    end
  end

  defp explain(text, path) do
    if text =~ "call unsuccessful (2)" do
      "#{path}#{Library.extension()} is of another version than this code, #{@version}. #{@rebuild}"
    else
      "#{text}. A library must be whole, and built on a system like the one that it is to run on: " <>
        "the same CPU architecture, and a C library that is no newer. #{@rebuild}"
    end
  end
end
