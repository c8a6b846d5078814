defmodule BanditNative.Bench.Reference do
  @moduledoc false
  # The NIFs of reference_nif.c, which it builds with the system's C compiler and loads. For the
  # benchmarks: Code.require_file("reference.ex", __DIR__)

  @source Path.join(__DIR__, "reference_nif.c")

  @on_load :load

  def load do
    library = Path.join(Mix.Project.build_path(), "reference_nif")
    include = Path.join([:code.root_dir(), "usr", "include"])

    {_output, 0} =
      System.cmd(
        System.get_env("CC", "cc"),
        ["-O3", "-fPIC", "-shared", "-I", include, "-o", library <> ".so", @source],
        into: IO.stream(:stdio, :line),
        stderr_to_stdout: true
      )

    :erlang.load_nif(String.to_charlist(library), 0)
  end

  def copy(_payload, _mask), do: :erlang.nif_error(:not_loaded)
  def inspect(_payload), do: :erlang.nif_error(:not_loaded)
  def mask_blocking(_payload, _mask), do: :erlang.nif_error(:not_loaded)
  def mask_dirty(_payload, _mask), do: :erlang.nif_error(:not_loaded)
  def validate_blocking(_text), do: :erlang.nif_error(:not_loaded)
  def validate_dirty(_text), do: :erlang.nif_error(:not_loaded)
end
