package main

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
	_ "google.golang.org/protobuf/types/known/timestamppb"
)

// schema is shop.proto, which the tests of ceiling have as a file.
const schema = `
name: "shop.proto" package: "shop" syntax: "proto3"
dependency: "google/protobuf/timestamp.proto"
enum_type { name: "Colour"
  value { name: "ANY" number: 0 } value { name: "RED" number: 1 } }
message_type { name: "Item"
  field { name: "id" number: 1 type: TYPE_INT64 label: LABEL_OPTIONAL json_name: "id" }
  field { name: "name" number: 2 type: TYPE_STRING label: LABEL_OPTIONAL json_name: "name" }
  field { name: "colour" number: 3 type: TYPE_ENUM type_name: ".shop.Colour"
    label: LABEL_OPTIONAL json_name: "colour" }
  field { name: "made_at" number: 4 type: TYPE_MESSAGE type_name: ".google.protobuf.Timestamp"
    label: LABEL_OPTIONAL json_name: "madeAt" }
  field { name: "parts" number: 5 type: TYPE_MESSAGE type_name: ".shop.Item"
    label: LABEL_REPEATED json_name: "parts" } }
message_type { name: "ReadRequest"
  field { name: "id" number: 1 type: TYPE_INT64 label: LABEL_OPTIONAL json_name: "id" } }
message_type { name: "WatchRequest"
  field { name: "items" number: 1 type: TYPE_INT32 label: LABEL_OPTIONAL json_name: "items" }
  field { name: "every_ms" number: 2 type: TYPE_INT32 label: LABEL_OPTIONAL
    json_name: "everyMs" } }
message_type { name: "FailRequest"
  field { name: "code" number: 1 type: TYPE_INT32 label: LABEL_OPTIONAL json_name: "code" }
  field { name: "words" number: 2 type: TYPE_STRING label: LABEL_OPTIONAL json_name: "words" } }
service { name: "Catalog"
  method { name: "Read" input_type: ".shop.ReadRequest" output_type: ".shop.Item" }
  method { name: "Echo" input_type: ".shop.Item" output_type: ".shop.Item" }
  method { name: "Slow" input_type: ".shop.ReadRequest" output_type: ".shop.Item" }
  method { name: "Fail" input_type: ".shop.FailRequest" output_type: ".shop.Item" }
  method { name: "Watch" input_type: ".shop.WatchRequest" output_type: ".shop.Item"
    server_streaming: true }
  method { name: "Collect" input_type: ".shop.Item" output_type: ".shop.Item"
    client_streaming: true }
  method { name: "Talk" input_type: ".shop.Item" output_type: ".shop.Item"
    client_streaming: true server_streaming: true } }
`

// file is the schema, registered for reflection.
var file = func() protoreflect.FileDescriptor {
	text := new(descriptorpb.FileDescriptorProto)
	if err := prototext.Unmarshal([]byte(schema), text); err != nil {
		panic(err)
	}
	file, err := protodesc.NewFile(text, protoregistry.GlobalFiles)
	if err != nil {
		panic(err)
	}
	if err := protoregistry.GlobalFiles.RegisterFile(file); err != nil {
		panic(err)
	}
	return file
}()

func message(name protoreflect.Name) *dynamicpb.Message {
	return dynamicpb.NewMessage(file.Messages().ByName(name))
}

// catalog fails one in every so many calls, and counts the items that stream to it and from it.
type catalog struct {
	fail     codes.Code
	every    uint64
	calls    atomic.Uint64
	received atomic.Uint64
	streamed atomic.Uint64
}

// count says whether a call fails.
func (c *catalog) count() error {
	call := c.calls.Add(1)
	if c.every > 0 && call%c.every == 0 {
		return status.Error(c.fail, "as asked for")
	}
	return nil
}

// field is a value of a request.
func field(request *dynamicpb.Message, name protoreflect.Name) protoreflect.Value {
	return request.Get(request.Descriptor().Fields().ByName(name))
}

// item is a reply. Metadata may name it, as text or as bytes.
func item(ctx context.Context, id int64) *dynamicpb.Message {
	name := "an item"
	sent, _ := metadata.FromIncomingContext(ctx)
	for _, key := range []string{"item-name", "item-name-bin"} {
		if values := sent.Get(key); len(values) > 0 {
			name = values[0]
		}
	}
	reply := message("Item")
	fields := reply.Descriptor().Fields()
	reply.Set(fields.ByName("id"), protoreflect.ValueOfInt64(id))
	reply.Set(fields.ByName("name"), protoreflect.ValueOfString(name))
	return reply
}

type answer func(ctx context.Context, c *catalog, request *dynamicpb.Message) (any, error)

func read(ctx context.Context, c *catalog, request *dynamicpb.Message) (any, error) {
	if err := c.count(); err != nil {
		return nil, err
	}
	return item(ctx, field(request, "id").Int()), nil
}

func echo(_ context.Context, c *catalog, request *dynamicpb.Message) (any, error) {
	if err := c.count(); err != nil {
		return nil, err
	}
	return request, nil
}

// slow answers after a second, or when the deadline of the call has passed.
func slow(ctx context.Context, _ *catalog, request *dynamicpb.Message) (any, error) {
	select {
	case <-ctx.Done():
		return nil, status.FromContextError(ctx.Err()).Err()
	case <-time.After(time.Second):
		return item(ctx, field(request, "id").Int()), nil
	}
}

// fail ends with the code and the words that are asked for.
func fail(_ context.Context, _ *catalog, request *dynamicpb.Message) (any, error) {
	code := codes.Code(field(request, "code").Int())
	return nil, status.Error(code, field(request, "words").String())
}

func unary(name string, takes protoreflect.Name, answer answer) grpc.MethodDesc {
	handler := func(
		of any, ctx context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor,
	) (any, error) {
		request := message(takes)
		if err := decode(request); err != nil {
			return nil, err
		}
		return answer(ctx, of.(*catalog), request)
	}
	return grpc.MethodDesc{MethodName: name, Handler: handler}
}

// watch sends as many items as are asked for, from number 1, with a pause before each; then it may
// fail.
func watch(of any, stream grpc.ServerStream) error {
	request := message("WatchRequest")
	if err := stream.RecvMsg(request); err != nil {
		return err
	}
	c, ctx := of.(*catalog), stream.Context()
	pause := time.Duration(field(request, "every_ms").Int()) * time.Millisecond
	for number := range field(request, "items").Int() {
		select {
		case <-ctx.Done():
			return status.FromContextError(ctx.Err()).Err()
		case <-time.After(pause):
		}
		if err := stream.SendMsg(item(ctx, number+1)); err != nil {
			return err
		}
		c.streamed.Add(1)
	}
	return c.count()
}

// receive returns the next item of a stream, and nil behind the last.
func (c *catalog) receive(stream grpc.ServerStream) (*dynamicpb.Message, error) {
	said := message("Item")
	if err := stream.RecvMsg(said); errors.Is(err, io.EOF) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	c.received.Add(1)
	return said, nil
}

// collect replies with the number of items that it received, and with the name of the last one.
func collect(of any, stream grpc.ServerStream) error {
	c, last, number := of.(*catalog), message("Item"), int64(0)
	for {
		said, err := c.receive(stream)
		if err != nil {
			return err
		}
		if said == nil {
			break
		}
		last, number = said, number+1
	}
	if err := c.count(); err != nil {
		return err
	}
	last.Set(last.Descriptor().Fields().ByName("id"), protoreflect.ValueOfInt64(number))
	return stream.SendMsg(last)
}

// talk sends back what it receives: each item, or as metadata asks each twice, only the first, or
// all of them behind the last.
func talk(of any, stream grpc.ServerStream) error {
	c, how, kept := of.(*catalog), "", []any(nil)
	sent, _ := metadata.FromIncomingContext(stream.Context())
	if values := sent.Get("item-replies"); len(values) > 0 {
		how = values[0]
	}
	for {
		said, err := c.receive(stream)
		if err != nil {
			return err
		}
		if said == nil {
			break
		}
		kept = append(kept, said)
		if how == "twice" {
			kept = append(kept, said)
		}
		if how == "last" {
			continue
		}
		if err := c.send(stream, kept); err != nil {
			return err
		}
		kept = nil
		if how == "first" {
			break
		}
	}
	if err := c.send(stream, kept); err != nil {
		return err
	}
	return c.count()
}

func (c *catalog) send(stream grpc.ServerStream, items []any) error {
	for _, item := range items {
		if err := stream.SendMsg(item); err != nil {
			return err
		}
		c.streamed.Add(1)
	}
	return nil
}

var service = grpc.ServiceDesc{
	ServiceName: "shop.Catalog",
	HandlerType: (*any)(nil),
	Methods: []grpc.MethodDesc{
		unary("Read", "ReadRequest", read),
		unary("Echo", "Item", echo),
		unary("Slow", "ReadRequest", slow),
		unary("Fail", "FailRequest", fail),
	},
	Streams: []grpc.StreamDesc{
		{StreamName: "Watch", Handler: watch, ServerStreams: true},
		{StreamName: "Collect", Handler: collect, ClientStreams: true},
		{StreamName: "Talk", Handler: talk, ServerStreams: true, ClientStreams: true},
	},
	Metadata: "shop.proto",
}

// counts has how calls of the service ended, by code.
type counts struct{ ended [17]atomic.Uint64 }

type ofService struct{}

func (c *counts) TagRPC(ctx context.Context, info *stats.RPCTagInfo) context.Context {
	is := strings.HasPrefix(info.FullMethodName, "/shop.Catalog/")
	return context.WithValue(ctx, ofService{}, is)
}

func (c *counts) HandleRPC(ctx context.Context, event stats.RPCStats) {
	end, isEnd := event.(*stats.End)
	if is, _ := ctx.Value(ofService{}).(bool); is && isEnd {
		c.ended[status.Code(end.Error)].Add(1)
	}
}

func (c *counts) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }

func (c *counts) HandleConn(context.Context, stats.ConnStats) {}

// names are those of the protocol.
var names = [17]string{
	"OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND",
	"ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED",
	"OUT_OF_RANGE", "UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED",
}

func (c *counts) byName() map[string]uint64 {
	counted := make(map[string]uint64)
	for code := range c.ended {
		if count := c.ended[code].Load(); count > 0 {
			counted[names[code]] = count
		}
	}
	return counted
}
