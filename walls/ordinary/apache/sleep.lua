-- A page that takes a while. SLEEP_S is filled in when the server starts.
function handle(r)
  r:sleep(SLEEP_S)
  r.content_type = "text/plain"
  r:puts("slept\n")
  return apache2.OK
end
