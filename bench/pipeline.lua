-- Pipelined requests on one connection: wrk ... -s bench/pipeline.lua URL -- DEPTH wrk counts the
-- responses of a batch one by one, but sends the next batch only after all of them.

init = function(args)
  local depth = tonumber(args[1]) or 1
  local request = wrk.format("GET", wrk.path)
  batch = string.rep(request, depth)
end

request = function()
  return batch
end
