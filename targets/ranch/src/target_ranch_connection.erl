%% One connection: reads until it is closed, and responds to its requests. A device that only
%% connects, waits and closes costs the accept, this process and its end.
-module(target_ranch_connection).
-behaviour(ranch_protocol).
-export([start_link/3]).
-export([init/4]).

%% Called by Ranch in the supervisor of the connection, right after the accept. A server that asks
%% another service here lets all connections of the supervisor wait.
start_link(Ref, Transport, {Ledger, SetupMs}) ->
    target_ranch_report:accepted(Ledger),
    SetupMs > 0 andalso timer:sleep(SetupMs),
    {ok, spawn_link(?MODULE, init, [self(), Ref, Transport, Ledger])}.

init(Supervisor, Ref, Transport, Ledger) ->
    %% When the supervisor asks it to stop, it first finishes started requests.
    process_flag(trap_exit, true),
    %% With TLS this is the handshake. A refused handshake is not an error here, and is counted.
    try ranch:handshake(Ref) of
        {ok, Socket} ->
            target_ranch_report:established(Ledger, Transport, Socket),
            {Data, Closed, Error, _} = Transport:messages(),
            Place = #{
                supervisor => Supervisor, transport => Transport, socket => Socket,
                ledger => Ledger, data => Data, closed => Closed, error => Error
            },
            loop(Place, <<>>, serving)
    catch
        exit:_ -> ok
    end.

%% The state is `serving`, or `ending` after the supervisor has asked.
loop(Place, Buffer, State) ->
    #{
        supervisor := Supervisor, transport := Transport, socket := Socket,
        data := Data, closed := Closed, error := Error
    } = Place,
    _ = Transport:setopts(Socket, [{active, once}]),
    receive
        {Data, Socket, Bytes} ->
            answer(Place, <<Buffer/binary, Bytes/binary>>, State);
        {Closed, Socket} ->
            Transport:close(Socket);
        {Error, Socket, _} ->
            Transport:close(Socket);
        {'EXIT', Supervisor, _} when Buffer =/= <<>> ->
            loop(Place, Buffer, ending);
        {'EXIT', Supervisor, _} ->
            Transport:close(Socket)
    end.

answer(Place, Buffer, State) ->
    #{transport := Transport, socket := Socket, ledger := Ledger} = Place,
    {Answers, Count, Rest, Next} = target_ranch_http:answers(Buffer),
    target_ranch_report:served(Ledger, Count),
    Written = Transport:send(Socket, Answers),
    Written =:= ok andalso target_ranch_report:sent(Ledger, Answers),
    case {Written, Next, State} of
        {ok, keep, serving} -> loop(Place, Rest, State);
        {ok, keep, ending} when Rest =/= <<>> -> loop(Place, Rest, State);
        _ -> Transport:close(Socket)
    end.
