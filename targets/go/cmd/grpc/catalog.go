package main

import (
	"context"
	"strings"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
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
service { name: "Catalog"
  method { name: "Read" input_type: ".shop.ReadRequest" output_type: ".shop.Item" }
  method { name: "Echo" input_type: ".shop.Item" output_type: ".shop.Item" }
  method { name: "Slow" input_type: ".shop.ReadRequest" output_type: ".shop.Item" }
  method { name: "Watch" input_type: ".shop.ReadRequest" output_type: ".shop.Item"
    server_streaming: true } }
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

// catalog fails one in every so many calls.
type catalog struct {
	fail  codes.Code
	every uint64
	calls atomic.Uint64
}

// count says whether a call fails.
func (c *catalog) count() error {
	call := c.calls.Add(1)
	if c.every > 0 && call%c.every == 0 {
		return status.Error(c.fail, "as asked for")
	}
	return nil
}

// item is the reply to a request.
func item(request *dynamicpb.Message) *dynamicpb.Message {
	asked := request.Get(request.Descriptor().Fields().ByName("id"))
	reply := message("Item")
	fields := reply.Descriptor().Fields()
	reply.Set(fields.ByName("id"), asked)
	reply.Set(fields.ByName("name"), protoreflect.ValueOfString("an item"))
	return reply
}

type answer func(ctx context.Context, c *catalog, request *dynamicpb.Message) (any, error)

func read(_ context.Context, c *catalog, request *dynamicpb.Message) (any, error) {
	if err := c.count(); err != nil {
		return nil, err
	}
	return item(request), nil
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
		return item(request), nil
	}
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

// watch sends three items.
func watch(_ any, stream grpc.ServerStream) error {
	request := message("ReadRequest")
	if err := stream.RecvMsg(request); err != nil {
		return err
	}
	for range 3 {
		if err := stream.SendMsg(item(request)); err != nil {
			return err
		}
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
	},
	Streams:  []grpc.StreamDesc{{StreamName: "Watch", Handler: watch, ServerStreams: true}},
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
