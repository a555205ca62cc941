"""The standard health service on grpcio, with its schema: health.py PORT LOG."""

import sys
from concurrent.futures import ThreadPoolExecutor

import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection


class Logged(health.HealthServicer):
    """Writes a line for each call."""

    def Check(self, request, context):
        log.write("call\n")
        return super().Check(request, context)


port, file = sys.argv[1:]
log = open(file, "a", buffering=1)
server = grpc.server(ThreadPoolExecutor(4))
health_pb2_grpc.add_HealthServicer_to_server(Logged(), server)
names = (health_pb2.DESCRIPTOR.services_by_name["Health"].full_name, reflection.SERVICE_NAME)
reflection.enable_server_reflection(names, server)
server.add_insecure_port(f"127.0.0.1:{port}")
server.start()
server.wait_for_termination()
