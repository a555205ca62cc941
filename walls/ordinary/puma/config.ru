# Sleeps in each request.
seconds = ENV.fetch("SLEEP_MS").to_f / 1000
run(lambda { |_| sleep(seconds); [200, { "Content-Type" => "text/plain" }, ["slept\n"]] })
