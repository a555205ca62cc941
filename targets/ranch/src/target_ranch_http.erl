%% The part of HTTP/1.1 that the routes need: bytes to responses, without IO. The parser is that of
%% the Erlang runtime. After the response to a request with a body the connection is closed, because
%% no route accepts one.
-module(target_ranch_http).
-export([answers/1]).

-define(HEAD_MAX_BYTES, 65536).

%% Responses to all complete requests at the start of the bytes, how many requests were served, the
%% bytes after them, and whether to `keep` or `close` the connection.
answers(Bytes) -> answers(Bytes, [], 0).

answers(Bytes, Answers, Count) ->
    case request(Bytes) of
        more when byte_size(Bytes) > ?HEAD_MAX_BYTES -> refuse(<<"431 Too Large">>, Answers, Count);
        more -> {Answers, Count, Bytes, keep};
        wrong -> refuse(<<"400 Bad Request">>, Answers, Count);
        {Method, Path, keep, Rest} ->
            answers(Rest, [Answers | route(Method, Path)], Count + 1);
        {Method, Path, close, _} ->
            {[Answers | route(Method, Path)], Count + 1, <<>>, close}
    end.

%% Bytes that are not a request end the connection and are not counted as served.
refuse(Status, Answers, Count) ->
    Refusal = [<<"HTTP/1.1 ">>, Status, <<"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n">>],
    {[Answers | Refusal], Count, <<>>, close}.

request(Bytes) ->
    case erlang:decode_packet(http_bin, Bytes, []) of
        {more, _} -> more;
        {ok, {http_request, Method, {abs_path, Path}, Version}, Rest} ->
            Default =
                case Version >= {1, 1} of
                    true -> keep;
                    false -> close
                end,
            fields(Rest, Method, Path, Default);
        _ -> wrong
    end.

fields(Bytes, Method, Path, Next) ->
    case erlang:decode_packet(httph_bin, Bytes, []) of
        {more, _} -> more;
        {ok, http_eoh, Rest} -> {Method, hd(binary:split(Path, <<"?">>)), Next, Rest};
        {ok, {http_header, _, Name, _, Value}, Rest} ->
            fields(Rest, Method, Path, next(Name, Value, Next));
        _ -> wrong
    end.

next('Connection', Value, Next) ->
    case string:find(string:lowercase(Value), <<"close">>) of
        nomatch -> Next;
        _ -> close
    end;
next('Content-Length', <<"0">>, Next) -> Next;
next('Content-Length', _, _) -> close;
next('Transfer-Encoding', _, _) -> close;
next(_, _, Next) -> Next.

route(Method, <<"/simple">>) ->
    read(Method, <<"application/json">>, <<"{\"message\":\"hi\"}">>);
route(Method, <<"/healthz">>) ->
    read(Method, <<"text/plain; charset=utf-8">>, <<"ok">>);
route(_, _) ->
    <<"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n">>.

read('GET', Type, Body) -> [head(Type, Body), Body];
read('HEAD', Type, Body) -> head(Type, Body);
read(_, _, _) ->
    <<"HTTP/1.1 405 Method Not Allowed\r\nAllow: GET, HEAD\r\nContent-Length: 0\r\n\r\n">>.

head(Type, Body) ->
    Length = integer_to_binary(byte_size(Body)),
    [
        <<"HTTP/1.1 200 OK\r\nContent-Type: ">>, Type, <<"\r\nContent-Length: ">>, Length,
        <<"\r\n\r\n">>
    ].
