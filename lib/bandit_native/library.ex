defmodule BanditNative.Library do
  @moduledoc false
  # The file of the native library: its name, and whether it is as it was built.
  #
  # The system maps a library into memory and runs it as it is. One that an interrupted copy or a full
  # disk has left cut off or full of zeros ends the node (SIGBUS, SIGSEGV) when it is loaded, or later.

  def extension, do: if(match?({:win32, _name}, :os.type()), do: ".dll", else: ".so")

  @doc """
  Checks the file, and compares it with what `seal/1` wrote, if that is there.
  """
  @spec check(Path.t()) :: :ok | {:error, String.t()}
  def check(file) do
    with {:ok, %{type: :regular}} <- File.stat(file),
         {:ok, content} <- File.read(file) do
      segments = segments(content)

      cond do
        Enum.any?(segments, fn {from, length} -> from + length > byte_size(content) end) ->
          {:error, "#{file} is cut off: it has #{byte_size(content)} bytes only"}

        File.read(seal_of(file)) not in [{:ok, digest(content, segments)}, {:error, :enoent}] ->
          {:error,
           "#{file} is not what was built: it has changed since #{Path.basename(seal_of(file))} beside it was written"}

        true ->
          :ok
      end
    else
      {:ok, %{type: type}} -> {:error, "#{file} is no file but a #{type}"}
      {:error, :enoent} -> {:error, "there is no #{file}"}
      {:error, reason} -> {:error, "#{file}: #{:file.format_error(reason)}"}
    end
  end

  @doc """
  Writes a digest of the file beside it.
  """
  def seal(file) do
    content = File.read!(file)
    File.write!(seal_of(file), digest(content, segments(content)))
  end

  def seal_of(file), do: file <> ".md5"

  # Of what is mapped only, and without the ELF header: to strip the symbols of a library, as some
  # packagers do, changes nothing else.
  defp digest(content, segments) do
    parts = for {from, length} <- segments, length > 0, do: binary_part(content, from, length)

    case parts do
      [<<_elf_header::binary-64, first::binary>> | rest] -> :erlang.md5([first | rest])
      _none -> :erlang.md5(content)
    end
  end

  # Where the parts that the system maps are in the file, and how long they are, by its program
  # headers. (System V ABI, chapter 5: PT_LOAD is 1. The formats of other systems have none.)
  defp segments(
         <<0x7F, "ELF", 2, 1, _::binary-26, table::little-64, _::binary-14, size::little-16,
           count::little-16, _::binary>> = content
       ) do
    for <<1::little-32, _::32, from::little-64, _::binary-16, length::little-64, _::binary>> <-
          program_headers(content, table, size, count),
        do: {from, length}
  end

  defp segments(
         <<0x7F, "ELF", 1, 1, _::binary-22, table::little-32, _::binary-10, size::little-16,
           count::little-16, _::binary>> = content
       ) do
    for <<1::little-32, from::little-32, _::binary-8, length::little-32, _::binary>> <-
          program_headers(content, table, size, count),
        do: {from, length}
  end

  defp segments(_content), do: []

  defp program_headers(content, table, size, count) do
    for i <- 0..(count - 1)//1,
        from = table + i * size,
        from + size <= byte_size(content),
        do: binary_part(content, from, size)
  end
end
