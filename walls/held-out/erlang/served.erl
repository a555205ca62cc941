%% Servers of Erlang, which read their settings from the environment. inets: httpd, with max_clients
%% set to SLOTS; each request sleeps SLEEP_MS. yaws: each request calls one gen_server, which
%% sleeps.
-module(served).
-behaviour(gen_server).
-include_lib("/usr/lib/yaws/include/yaws_api.hrl").
-export([start/1, do/1, out/1, init/1, handle_call/3, handle_cast/2]).

start([App]) ->
    start_app(App, number("PORT")).

start_app("inets", Port) ->
    ok = inets:start(),
    {ok, _} = inets:start(httpd, [
        {port, Port}, {bind_address, any}, {server_name, "served"}, {server_root, "."},
        {document_root, "root"}, {modules, [?MODULE]}, {max_clients, number("SLOTS")}]);
start_app("yaws", Port) ->
    {ok, _} = gen_server:start_link({local, ?MODULE}, ?MODULE, [], []),
    ok = yaws:start_embedded("root",
        [{port, Port}, {listen, {0, 0, 0, 0}}, {appmods, [{"/", ?MODULE}]}, {access_log, false}],
        [{logdir, "logs"}, {enable_soap, false}]).

%% A page of inets.
do(_Request) ->
    timer:sleep(number("SLEEP_MS")),
    {proceed, [{response, {200, "slept\n"}}]}.

%% A page of Yaws.
out(_Arguments) ->
    ok = gen_server:call(?MODULE, sleep, infinity),
    {content, "text/plain", "slept\n"}.

init([]) -> {ok, none}.

handle_call(sleep, _From, State) ->
    timer:sleep(number("SLEEP_MS")),
    {reply, ok, State}.

handle_cast(_Message, State) -> {noreply, State}.

number(Name) -> list_to_integer(os:getenv(Name)).
