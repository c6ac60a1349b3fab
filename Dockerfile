# The controller alone, in an image with nothing else in it.
#
#   docker build --build-arg VERSION="$(git describe --always --dirty)" \
#     --build-arg COMMIT="$(git rev-parse HEAD)" -t webservice-controller .
#
# The same sources, version and Go release make the same binary.
FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY Makefile ./
COPY cmd/webservice-controller cmd/webservice-controller
COPY internal internal
COPY manifests manifests
# There is no git here to say them.
ARG VERSION=unknown
ARG COMMIT=
RUN make bin/webservice-controller VERSION="${VERSION}" COMMIT="${COMMIT}"
RUN mkdir -p /rootfs/work

FROM scratch
COPY --from=build /src/bin/webservice-controller /webservice-controller
# The working directory is the user's own, so that ./out can be made there.
COPY --from=build --chown=65532:65532 /rootfs/ /
WORKDIR /work
USER 65532:65532
ENTRYPOINT ["/webservice-controller"]
CMD ["run"]
