# Sleeps SLEEP_MS in each request; with LOG, writes a line to that file; with SYNC, appends a line
# to the journal of its process and syncs it.
seconds = ENV.fetch("SLEEP_MS").to_f / 1000
log = ENV["LOG"] && File.open(ENV["LOG"], "w").tap { |file| file.sync = true }
journal = nil
run lambda { |env|
  sleep seconds
  log&.write("#{env['REMOTE_ADDR']} - - \"#{env['REQUEST_METHOD']} #{env['PATH_INFO']}\" 200\n")
  if ENV["SYNC"]
    journal ||= File.open("#{ENV['DIR']}/journal.#{Process.pid}", "w")
    journal.write("stored\n")
    journal.fsync
  end
  [200, { "content-type" => "text/plain", "content-length" => "6" }, ["slept\n"]]
}
