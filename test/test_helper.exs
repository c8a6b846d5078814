if reason = BanditNative.LiveServer.skip() do
  IO.puts("Tests in a running server are skipped. #{reason}")
end

ExUnit.start()
