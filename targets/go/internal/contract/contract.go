// Package contract is what all servers under test have in common: the flags, the routes, the
// bodies, the life cycle and the two lines on standard output.
//
// A target adds only its library: it builds a Server from a Catalog and passes a Program to Main.
// Everything else is shared, so that a difference between two targets is a difference between their
// libraries.
package contract

// The routes. targets/README.md says what each of them costs per request.
const (
	PathSimple = "/simple"
	PathRead   = "/read"
	PathReadGz = "/read-gz"
	// PathReadLocked and PathReadTable are /read with other ways to draw a number.
	PathReadLocked = "/read-locked"
	PathReadTable  = "/read-table"
	PathList       = "/list"
	PathCompute    = "/compute"
	PathEcho       = "/echo"
	PathHealthz    = "/healthz"
)

// The header values that all targets must agree on.
const (
	TypeJSON   = "application/json"
	TypeText   = "text/plain; charset=utf-8"
	TypeBinary = "application/octet-stream"

	TypeEvents = "text/event-stream"

	// CacheStream is the Cache-Control of streams.
	CacheStream  = "no-store"
	EncodingGzip = "gzip"
	VaryEncoding = "Accept-Encoding"
	AllowRead    = "GET, HEAD"
	AllowEcho    = "POST"
)

// BodyLimitBytes is the largest request body that /echo accepts. It is the default of fasthttp and
// of Fiber; net/http has none of its own and takes this one.
const BodyLimitBytes = 4 << 20

// The fixed bodies. Handlers must not write to them.
var (
	BodySimple  = []byte(`{"message":"hi"}`)
	BodyHealthz = []byte("ok")
)
