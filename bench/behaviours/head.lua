-- wrk asks with HEAD.
wrk.method = "HEAD"
