%% The options of TLS. The files are read before the port is opened: the library would report errors
%% in them only at each handshake.
-module(target_ranch_secure).
-export([options/1]).

-define(EXIT_FAILED, 1).

%% `none` for plain HTTP. A client that offers only h2 is refused. Refusals are counted and not
%% logged.
options(#{'tls-cert' := none}) ->
    none;
options(#{'tls-cert' := Certificate, 'tls-key' := Key}) ->
    [Leaf | _] = read("--tls-cert", Certificate, "certificate", ['Certificate']),
    [Secret | _] = read("--tls-key", Key, "private key", [
        'PrivateKeyInfo', 'RSAPrivateKey', 'ECPrivateKey'
    ]),
    fits(Leaf, public_key:pem_entry_decode(Secret)) orelse
        throw(
            {?EXIT_FAILED, ["--tls-key: ", Key, " is not the RSA or ECDSA key of ", Certificate]}
        ),
    [
        {certfile, Certificate},
        {keyfile, Key},
        {alpn_preferred_protocols, [<<"http/1.1">>]},
        {log_level, none}
    ].

read(Flag, Path, What, Kinds) ->
    Entries =
        case file:read_file(Path) of
            {ok, Content} -> public_key:pem_decode(Content);
            {error, Reason} ->
                throw(
                    {?EXIT_FAILED, [
                        Flag, $\s, Path, ": ", file:format_error(Reason),
                        "; for tests, bin/target-certs --out DIR makes one"
                    ]}
                )
        end,
    case [Entry || {Kind, _, _} = Entry <- Entries, lists:member(Kind, Kinds)] of
        [] -> throw({?EXIT_FAILED, [Flag, ": no ", What, " in ", Path, ", which must be PEM"]});
        Found -> Found
    end.

%% Whether the key belongs to the certificate.
fits({_, Certificate, _}, Key) ->
    {'OTPCertificate', Signed, _, _} = public_key:pkix_decode_cert(Certificate, otp),
    %% subjectPublicKeyInfo: {_, {_, Algorithm, Parameters}, Key}
    {_, {_, _, Parameters}, Point} = element(8, Signed),
    Public =
        case Point of
            {'ECPoint', _} -> {Point, Parameters};
            _ -> Point
        end,
    try
        public_key:verify(<<"x">>, sha256, public_key:sign(<<"x">>, sha256, Key), Public)
    catch
        error:_ -> false
    end.
