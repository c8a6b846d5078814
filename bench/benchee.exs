# ws_mask and utf8_validate with Benchee, for a look at whole distributions and memory:
#
#     mix run bench/benchee.exs
#
# Bandit's own functions, where Bandit is there, are in it. The ratios that this package is held to
# come from bench/limits.exs, whose functions take turns.

alias BanditNative.{Fallback, SelfTest, WebSocket}

sizes = [0, 64, 125, 1024, 16_384, 65_536, 1_048_576]
mask = 0x37FA213D

masks = %{
  "BanditNative" => &WebSocket.ws_mask(&1, mask),
  "the fallback" => &Fallback.ws_mask(&1, mask)
}

bandit = Bandit.PrimitiveOps.WebSocket

masks =
  if Code.ensure_loaded?(bandit),
    do: Map.put(masks, "Bandit", &bandit.ws_mask(&1, mask)),
    else: masks

options = [warmup: 0.5, time: 1, memory_time: 0.2, print: [fast_warning: false]]

Benchee.run(
  masks,
  [
    inputs:
      for(size <- sizes, do: {"#{size} bytes", binary_part(SelfTest.bytes(size + 6), 6, size)})
  ] ++
    options
)

texts = [
  ASCII: "The quick brown fox jumps over the lazy dog. ",
  JSON: ~s({"user":"Zoë","id":48151,"tags":["a","b"],"text":"déjà vu"},),
  CJK: "いろはにほへとちりぬるを。天地玄黃宇宙洪荒。"
]

Benchee.run(
  %{
    "BanditNative" => &WebSocket.utf8_validate/1,
    "String.valid?/1, as in Bandit" => &String.valid?/1
  },
  [
    inputs:
      for {name, text} <- texts, size <- [125, 1024, 65_536] do
        text = :binary.copy(text, div(size, byte_size(text)) + 1)
        {"#{name}, #{byte_size(text)} bytes", text}
      end
  ] ++ options
)
