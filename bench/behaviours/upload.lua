-- wrk sends the body that UPLOAD of tools.mjs names.
wrk.method = "POST"
wrk.body = io.open("out/behaviours/upload", "rb"):read("*a")
