# Sleeps SLEEP_MS in each request; with LOG, writes a line to that file.
seconds = ENV.fetch("SLEEP_MS").to_f / 1000
log = ENV["LOG"] && File.open(ENV["LOG"], "w").tap { |file| file.sync = true }
run lambda { |env|
  sleep seconds
  log&.write("#{env['REMOTE_ADDR']} - - \"#{env['REQUEST_METHOD']} #{env['PATH_INFO']}\" 200\n")
  [200, { "content-type" => "text/plain", "content-length" => "6" }, ["slept\n"]]
}
