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
COPY cmd/webservice-controller cmd/webservice-controller
COPY internal internal
COPY manifests manifests
ARG VERSION=unknown
ARG COMMIT=
RUN CGO_ENABLED=0 go build -trimpath -buildvcs=false \
    -ldflags="-s -w -buildid= -X 'main.version=${VERSION} ${COMMIT}'" \
    -o /webservice-controller ./cmd/webservice-controller \
 && mkdir -p /rootfs/work

FROM scratch
COPY --from=build /webservice-controller /webservice-controller
# The working directory is the user's own, so that ./out can be made there.
COPY --from=build --chown=65532:65532 /rootfs/ /
WORKDIR /work
USER 65532:65532
ENTRYPOINT ["/webservice-controller"]
CMD ["run"]
