#!/usr/bin/env perl
# Sleeps SLEEP_MS in each request.
use Mojolicious::Lite -signatures;
use Time::HiRes 'sleep';

app->log->level('fatal');
app->config(
  hypnotoad => {
    listen   => ["http://*:$ENV{PORT}"],
    workers  => $ENV{WORKERS},
    clients  => 1,
    pid_file => "$ENV{DIR}/pid",
  }
);
get '/' => sub ($c) {
  sleep $ENV{SLEEP_MS} / 1000;
  $c->render(text => "slept\n");
};
app->start;
