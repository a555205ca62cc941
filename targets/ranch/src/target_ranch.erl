%% The target `ranch`: a server on Ranch 2, from the command line to the last line.
%%
%% Ranch accepts connections: acceptors accept from listening sockets and pass each connection to a
%% supervisor, which starts a process for it (target_ranch_connection). This target lets the command
%% line set the number of listeners, acceptors and supervisors.
-module(target_ranch).
-behaviour(gen_event).
-export([start/0]).
-export([init/1, handle_event/2, handle_call/2]).

-define(EXIT_FAILED, 1).
-define(EXIT_USAGE, 2).
%% Connections that are busy for longer after the stop are closed: a load generator that never
%% pauses must not keep its target alive.
-define(DRAIN_MS, 1000).

%% Called by `erl -s` while the system boots, so it must not block.
start() ->
    spawn(fun() ->
        try
            main(init:get_plain_arguments())
        catch
            throw:{Code, Text} -> fail(Code, Text);
            Kind:Reason -> fail(?EXIT_FAILED, io_lib:format("~p: ~0tp", [Kind, Reason]))
        end
    end).

fail(Code, Text) ->
    io:put_chars(standard_error, ["target-ranch: ", Text, $\n]),
    halt(Code).

main(Arguments) ->
    case target_ranch_options:parse(Arguments) of
        {wrong, Text} -> throw({?EXIT_USAGE, Text});
        help -> io:put_chars(target_ranch_options:help());
        version -> io:put_chars(["target-ranch ", target_ranch_report:versions(), $\n]);
        {ok, Options} -> serve(Options)
    end,
    halt(0).

serve(Options) ->
    ok = gen_event:swap_handler(
        erl_signal_server, {erl_signal_handler, []}, {?MODULE, self()}
    ),
    {ok, _} = application:ensure_all_started(ranch),
    Secure = target_ranch_secure:options(Options),
    {Claim, Port} = claim(Options),
    Ledger = target_ranch_report:ledger(),
    Backlog = listen(Options, Port, Secure, Ledger),
    ok = socket:close(Claim),
    Meter = target_ranch_report:meter(),
    AtWork = at_work(),
    target_ranch_report:listening(Options, Port, Backlog, AtWork),
    receive
        stop -> ok
    end,
    ok = ranch:stop_listener(?MODULE),
    target_ranch_report:stopped(Options, Ledger, Meter, AtWork).

%% How many acceptors and supervisors Ranch has started, as Ranch reports it.
at_work() ->
    Acceptors = length(ranch:procs(?MODULE, acceptors)),
    {Acceptors, length(ranch_server:get_connections_sups(?MODULE))}.

%% Holds the port with a socket that is bound and never listens. Sockets with SO_REUSEPORT would
%% join those of another server without an error; this one detects it. It also keeps a port that the
%% kernel chose for --port 0.
claim(#{addr := Address, port := Port} = Options) ->
    Family = target_ranch_options:family(Options),
    {ok, Socket} = socket:open(Family, stream, tcp),
    ok = socket:setopt(Socket, {socket, reuseaddr}, true),
    case socket:bind(Socket, #{family => Family, addr => Address, port => Port}) of
        ok ->
            {ok, #{port := Bound}} = socket:sockname(Socket),
            {Socket, Bound};
        {error, Reason} ->
            throw({?EXIT_FAILED, why(Options, Reason)})
    end.

why(Options, eaddrinuse) ->
    Place = target_ranch_options:place(Options),
    [
        Place,
        " is in use by another process; stop that process or choose another port, for example "
        "--port 0"
    ];
why(Options, Reason) ->
    ["listen on ", target_ranch_options:place(Options), ": ", inet:format_error(Reason)].

%% Starts Ranch; returns the length of the accept queue that the kernel enforces.
listen(Options, Port, Secure, Ledger) ->
    #{addr := Address, acceptors := Acceptors, supervisors := Supervisors} = Options,
    Transport =
        case Secure of
            none -> ranch_tcp;
            _ -> ranch_ssl
        end,
    Self = self(),
    Sockets = [{ip, Address}, {port, Port}, target_ranch_options:family(Options)],
    Started = ranch:start_listener(?MODULE, Transport, #{
        num_acceptors => Acceptors,
        num_conns_sups => Supervisors,
        num_listen_sockets => maps:get(listeners, Options),
        max_connections => maps:get('max-connections', Options),
        shutdown => ?DRAIN_MS,
        post_listen_callback => fun(Socket) ->
            Self ! {backlog, target_ranch_report:backlog(Transport, Socket)},
            ok
        end,
        socket_opts => Sockets ++ queue(Options) ++ share(Options) ++
            [Option || Secure =/= none, Option <- Secure]
    }, target_ranch_connection, {Ledger, maps:get(setup, Options)}),
    case Started of
        {ok, _} -> receive {backlog, Backlog} -> Backlog end;
        {error, Reason} -> throw({?EXIT_FAILED, why(Options, Reason)})
    end.

queue(#{backlog := default}) -> [];
queue(#{backlog := Backlog}) -> [{backlog, Backlog}].

%% SO_REUSEPORT on Linux: level SOL_SOCKET, option 15.
share(#{listeners := 1}) -> [];
share(_) -> [{raw, 1, 15, <<1:32/native>>}].

%% SIGTERM stops the target gracefully; a second one ends it at once. The launcher turns SIGINT,
%% which the virtual machine cannot handle, into SIGTERM.
init({Main, _}) -> {ok, Main}.

handle_event(sigterm, Main) ->
    ok = os:set_signal(sigterm, default),
    Main ! stop,
    {ok, Main};
handle_event(_, Main) ->
    {ok, Main}.

handle_call(_, Main) -> {ok, ok, Main}.
