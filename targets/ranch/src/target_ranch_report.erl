%% The target's report: its counters and the two lines. What Erlang cannot measure is null.
-module(target_ranch_report).
-export([ledger/0, accepted/1, established/3, served/2, sent/2]).
-export([meter/0, backlog/2, listening/4, stopped/4, versions/0]).

-define(ACCEPTED, 1).
-define(SERVED, 2).
-define(SENT, 3).
-define(HANDSHAKES, 4).
-define(RESUMED, 5).
%% Linux reports CPU times to user space in hundredths of a second on all common architectures.
-define(TICK_NS, 10000000).

%% The counters of all connections; each scheduler adds to its own copy.
ledger() -> counters:new(?RESUMED, [write_concurrency]).

accepted(Ledger) -> counters:add(Ledger, ?ACCEPTED, 1).

served(Ledger, Count) -> counters:add(Ledger, ?SERVED, Count).

%% Counts a connection that is ready for requests.
established(Ledger, Transport, Socket) ->
    counters:add(Ledger, ?HANDSHAKES, 1),
    case Transport:secure() andalso ssl:connection_information(Socket, [session_resumption]) of
        {ok, [{session_resumption, true}]} -> counters:add(Ledger, ?RESUMED, 1);
        _ -> ok
    end.

%% Counts written responses, as the application sees them.
sent(Ledger, Answers) -> counters:add(Ledger, ?SENT, iolist_size(Answers)).

%% The start of the measured time: {monotonic time, user and system CPU time, collections}.
meter() ->
    {User, System} = cpu_ns(),
    {Collections, _, _} = erlang:statistics(garbage_collection),
    {erlang:monotonic_time(nanosecond), User, System, Collections}.

cpu_ns() ->
    {ok, Text} = file:read_file("/proc/self/stat"),
    %% After the name, which ends with the last bracket, comes the third field.
    Fields = string:lexemes(lists:last(string:split(Text, <<") ">>, trailing)), " "),
    [User, System] = [binary_to_integer(lists:nth(Field - 2, Fields)) || Field <- [14, 15]],
    {User * ?TICK_NS, System * ?TICK_NS}.

%% The length of the accept queue that the kernel enforces, which net.core.somaxconn may have cut:
%% for a listening socket tcpi_sacked of TCP_INFO (option 11 of level 6), after 28 bytes.
backlog(Transport, Socket) ->
    case Transport:getopts(Socket, [{raw, 6, 11, 32}]) of
        {ok, [{raw, 6, 11, <<_:28/binary, Length:32/native>>}]} -> integer_to_list(Length);
        _ -> "null"
    end.

listening(Options, Port, Backlog, {Acceptors, Supervisors}) ->
    Network =
        case target_ranch_options:family(Options) of
            inet -> "tcp4";
            inet6 -> "tcp6"
        end,
    Secure =
        case Options of
            #{'tls-cert' := none} -> "null";
            _ -> "{\"tickets\":\"off\",\"client_certificates\":\"none\"}"
        end,
    io:format(
        "{\"event\":\"listening\",\"target\":\"ranch\",\"addr\":\"~ts\",\"pid\":~s,\"workers\":1,"
        "\"network\":\"~s\",\"listeners\":~b,\"backlog\":~s,\"tls\":~s,"
        "\"acceptors\":~b,\"supervisors\":~b}~n",
        [
            target_ranch_options:place(Options#{port := Port}), os:getpid(), Network,
            maps:get(listeners, Options), Backlog, Secure, Acceptors, Supervisors
        ]
    ).

stopped(Options, Ledger, Began, {Acceptors, Supervisors}) ->
    {TimeBegan, UserBegan, SystemBegan, CollectionsBegan} = Began,
    {Now, User, System, Collections} = meter(),
    Count = fun(Index) -> counters:get(Ledger, Index) end,
    %% With TLS, only the socket has the bytes on the wire, and its peer may have closed it.
    {Bytes, Handshakes} =
        case Options of
            #{'tls-cert' := none} ->
                {integer_to_list(Count(?SENT)), ""};
            _ ->
                Unfinished = Count(?ACCEPTED) - Count(?HANDSHAKES),
                Format = "\"tls_handshakes\":~b,\"tls_resumed\":~b,\"tls_unfinished\":~b,",
                Values = [Count(?HANDSHAKES), Count(?RESUMED), Unfinished],
                {"null", io_lib:format(Format, Values)}
        end,
    io:format(
        "{\"event\":\"stopped\",\"target\":\"ranch\",\"workers\":1,\"workers_lost\":0,"
        "\"connections_accepted\":~b,\"requests_served\":~b,\"responses_bytes\":~s,~s"
        "\"parts\":{\"ranch\":{\"acceptors\":~b,\"supervisors\":~b}},"
        "\"cpu_user_ns\":~b,\"cpu_system_ns\":~b,\"gc_cycles\":~b,\"gc_pause_ns\":null,"
        "\"uptime_ns\":~b}~n",
        [
            Count(?ACCEPTED), Count(?SERVED), Bytes, Handshakes, Acceptors, Supervisors,
            User - UserBegan, System - SystemBegan, Collections - CollectionsBegan,
            Now - TimeBegan
        ]
    ).

%% The versions, in one line.
versions() ->
    ok = application:load(ranch),
    {ok, Ranch} = application:get_key(ranch, vsn),
    Release = erlang:system_info(otp_release),
    io_lib:format("Erlang/OTP ~s, erts ~s, ranch ~s", [
        Release, erlang:system_info(version), Ranch
    ]).
