# The image that `make dist` also builds without a daemon:
#   make dist && docker build --build-arg PROGRAM=out/dist/ceiling-0.1.0-x86_64-linux -t ceiling .
# The program is static and needs no files of a distribution. For HTTPS with public certificates,
# mount the host's certificates: -v /etc/ssl/certs:/etc/ssl/certs:ro
FROM scratch
ARG PROGRAM
COPY --chmod=755 ${PROGRAM} /usr/bin/ceiling
ENV PATH=/usr/bin CEILING_RUNS=/runs
# Makes the folder in which agents keep readings.
WORKDIR /tmp
WORKDIR /runs
ENTRYPOINT ["/usr/bin/ceiling"]
