%% The command line. flags/0 is the single source for parsing, error texts and help.
-module(target_ranch_options).
-export([parse/1, help/0, family/1, place/1]).

-define(PAIR, "--tls-cert server.pem --tls-key server.key").

%% {name, what it takes, an example, help, the value of a text or an error}
flags() ->
    [
        {addr, "an IP address", "--addr 127.0.0.1",
            "listen on this address (default 127.0.0.1)",
            fun inet:parse_strict_address/1},
        {port, "a number from 0 to 65535", "--port 8083",
            "listen on this port, 0 picks a free one (default 8083)", number(0, 65535)},
        {backlog, "a number from 1 to 65535", "--backlog 8",
            "length of each accept queue (default 1024, as in Ranch)", number(1, 65535)},
        {listeners, "a number from 1 to 1024", "--listeners 4",
            "listening sockets that share the port by SO_REUSEPORT (default 1)",
            number(1, 1024)},
        {supervisors, "a number from 1 to 1024", "--supervisors 1",
            "processes that start connection processes (default one per acceptor)",
            number(1, 1024)},
        {acceptors, "a number from 1 to 1024", "--acceptors 10",
            "processes that accept (default 10, or one per listener or supervisor if more)",
            number(1, 1024)},
        {'max-connections', "a number from 1 to 1000000", "--max-connections 1024",
            "a supervisor with this many accepts no more (default no limit; Ranch has 1024)",
            number(1, 1000000)},
        {setup, "milliseconds from 1 to 1000", "--setup 2",
            "wait so long before a connection gets its process, in its supervisor (default 0)",
            number(1, 1000)},
        {'tls-cert', "a file of certificates in PEM", ?PAIR, "serve HTTPS with this chain",
            fun path/1},
        {'tls-key', "a file with a private key in PEM", ?PAIR,
            "the key of the first certificate", fun path/1}
    ].

%% {ok, Options}, help, version, or {wrong, Text}; the text fits on one line.
parse(Arguments) ->
    case {asks(Arguments, ["--help", "-h"]), asks(Arguments, ["--version"])} of
        {true, _} -> help;
        {_, true} -> version;
        _ ->
            try
                {ok, resolve(given(Arguments, #{}))}
            catch
                throw:Text -> {wrong, Text}
            end
    end.

asks(Arguments, Names) -> lists:any(fun(One) -> lists:member(One, Names) end, Arguments).

given([], Given) ->
    Given;
given([Argument | More], Given) ->
    {Name, Value, Rest} = split(Argument, More),
    {Key, Takes, Example, _, Read} = find(Name),
    case Value =/= missing andalso Read(Value) of
        {ok, Result} -> given(Rest, Given#{Key => Result});
        false -> wrong("--~ts takes ~ts, for example ~ts", [Name, Takes, Example]);
        {error, _} ->
            wrong("--~ts takes ~ts, not \"~ts\", for example ~ts", [Name, Takes, Value, Example])
    end.

%% Parses --name value and --name=value; one dash is accepted too.
split(Argument, More) ->
    {Dashes, Text} = string:take(Argument, "-"),
    case {string:split(Text, "="), More} of
        {[Name | _], _} when Name =:= ""; Dashes =/= "-", Dashes =/= "--" ->
            wrong("unexpected argument \"~ts\"; ~ts", [Argument, accepted()]);
        {[Name, Value], _} -> {Name, Value, More};
        {[Name], [Value | Rest]} -> {Name, Value, Rest};
        {[Name], []} -> {Name, missing, []}
    end.

find(Name) ->
    case [Flag || Flag <- flags(), atom_to_list(element(1, Flag)) =:= Name] of
        [Flag] -> Flag;
        [] -> wrong("unknown flag --~ts; ~ts", [Name, accepted()])
    end.

accepted() ->
    Names = [["--", atom_to_list(element(1, Flag))] || Flag <- flags()],
    ["accepted are ", lists:join(", ", Names), "; for example --port 8083"].

-spec wrong(string(), [term()]) -> no_return().
wrong(Format, Values) -> throw(io_lib:format(Format, Values)).

%% Fills in defaults; after this every option has a value.
resolve(Given) ->
    check_together(Given),
    Defaults = #{
        addr => {127, 0, 0, 1}, port => 8083, backlog => default, listeners => 1,
        'max-connections' => infinity, setup => 0, 'tls-cert' => none, 'tls-key' => none
    },
    Some = maps:merge(Defaults, Given),
    #{listeners := Listeners} = Some,
    Enough = lists:max([10, Listeners, maps:get(supervisors, Some, 1)]),
    Acceptors = maps:get(acceptors, Some, Enough),
    Resolved = maps:merge(#{acceptors => Acceptors, supervisors => Acceptors}, Some),
    check_numbers(Resolved),
    Resolved.

check_together(Given) ->
    [
        wrong("--~ts takes effect only together with --~ts, for example ~ts", [One, Other, ?PAIR])
     || {One, Other} <- [{'tls-cert', 'tls-key'}, {'tls-key', 'tls-cert'}],
        is_map_key(One, Given),
        not is_map_key(Other, Given)
    ].

%% An acceptor serves one listener and feeds one supervisor: more supervisors than acceptors are
%% idle, and an idle listener takes connections that are never accepted.
check_numbers(#{acceptors := Acceptors} = Resolved) ->
    [
        wrong("--~ts ~b is more than the ~b acceptors, each of which has one; for example "
            "--~ts ~b --acceptors ~b", [Name, Number, Acceptors, Name, Number, Number])
     || Name <- [listeners, supervisors],
        Number <- [maps:get(Name, Resolved)],
        Number > Acceptors
    ].

number(Lowest, Highest) ->
    fun(Text) ->
        try list_to_integer(Text) of
            Number when Number >= Lowest, Number =< Highest -> {ok, Number};
            _ -> {error, unfit}
        catch
            error:badarg -> {error, unfit}
        end
    end.

path("") -> {error, unfit};
path(Path) -> {ok, Path}.

help() ->
    [
        "target-ranch: a server under test, on Ranch. targets/README.md describes its routes.\n\n",
        [line(Example, Help) || {_, _, Example, Help, _} <- flags()],
        line("--version", "print the versions of Erlang and Ranch")
    ].

line(Example, Help) -> ["  ", string:pad(Example, 28), $\s, Help, $\n].

%% One IP version.
family(#{addr := Address}) when tuple_size(Address) =:= 4 -> inet;
family(_) -> inet6.

%% Address and port as text.
place(#{addr := Address, port := Port} = Options) ->
    Text = inet:ntoa(Address),
    case family(Options) of
        inet -> io_lib:format("~ts:~b", [Text, Port]);
        inet6 -> io_lib:format("[~ts]:~b", [Text, Port])
    end.
