<?php
// A page that takes a while. SLEEP_MS is filled in when the server starts.
usleep((int) (SLEEP_MS * 1000));
echo "slept\n";
