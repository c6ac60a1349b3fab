package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"

	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"google.golang.org/grpc/grpclog"
)

var errEtcdEnded = errors.New("etcd ended by itself")

// maxSocketPath stays below the 104 to 108 bytes that systems allow for a socket's path.
const maxSocketPath = 100

type etcd struct {
	url    string
	ended  context.Context // done when etcd is, whoever ended it
	server *embed.Etcd
}

// startEtcd serves on unix sockets: no port to collide, and no other user can reach it.
func startEtcd(ctx context.Context, home *home, noFsync bool) (*etcd, error) {
	sockets, cleanup, err := socketDir(home.dir)
	if err != nil {
		return nil, err
	}
	client, peer := socketURL(sockets, "etcd.sock"), socketURL(sockets, "peer.sock")
	server, err := embed.StartEtcd(etcdConfig(home, client, peer, noFsync))
	if err != nil {
		cleanup()
		return nil, fmt.Errorf("start etcd: %w", err)
	}
	ended, markEnded := context.WithCancel(context.WithoutCancel(ctx))
	context.AfterFunc(ended, cleanup)
	go func() {
		<-server.Server.StopNotify()
		markEnded()
	}()
	e := &etcd{url: client.String(), ended: ended, server: server}
	select {
	case <-server.Server.ReadyNotify():
		return e, nil
	case err := <-server.Err():
		e.stop()
		return nil, fmt.Errorf("start etcd: %w", err)
	case <-ctx.Done():
		e.stop()
		return nil, ctx.Err()
	}
}

func (e *etcd) stop() {
	e.server.Close()
	<-e.ended.Done()
}

func etcdConfig(home *home, client, peer url.URL, noFsync bool) *embed.Config {
	cfg := embed.NewConfig()
	cfg.Name = "labcluster"
	cfg.Dir = home.path("etcd")
	cfg.ListenClientUrls, cfg.AdvertiseClientUrls = []url.URL{client}, []url.URL{client}
	cfg.ListenPeerUrls, cfg.AdvertisePeerUrls = []url.URL{peer}, []url.URL{peer}
	cfg.InitialCluster = cfg.InitialClusterFromName(cfg.Name)
	cfg.UnsafeNoFsync = noFsync
	cfg.ZapLoggerBuilder = embed.NewZapLoggerBuilder(etcdLogger(home))
	return cfg
}

func etcdLogger(h *home) *zap.Logger {
	grpclog.SetLoggerV2(grpclog.NewLoggerV2(io.Discard, io.Discard, h.log))
	config := zap.NewProductionEncoderConfig()
	config.EncodeTime = zapcore.ISO8601TimeEncoder
	core := zapcore.NewCore(zapcore.NewConsoleEncoder(config), zapcore.Lock(h.log), zapcore.WarnLevel)
	return zap.New(core, zap.WithFatalHook(fatalHook{h}))
}

type fatalHook struct{ home *home }

func (f fatalHook) OnWrite(entry *zapcore.CheckedEntry, fields []zapcore.Field) {
	f.home.gaveUp("etcd")
	zapcore.WriteThenFatal.OnWrite(entry, fields)
}

func socketURL(dir, name string) url.URL {
	return url.URL{Scheme: "unix", Path: filepath.Join(dir, name)}
}

// socketDir is the cluster's own directory, or a short one for the time of this run where that path is too long.
func socketDir(dir string) (string, func(), error) {
	if len(filepath.Join(dir, "peer.sock")) <= maxSocketPath {
		return dir, func() {}, nil
	}
	short, err := os.MkdirTemp("", "labcluster-")
	if err != nil {
		return "", nil, fmt.Errorf("make a directory for etcd's sockets: %w", err)
	}
	if len(filepath.Join(short, "peer.sock")) > maxSocketPath {
		_ = os.Remove(short)
		return "", nil, fmt.Errorf("both --dir and TMPDIR are too long for a unix socket; choose a --dir below %d bytes", maxSocketPath-10)
	}
	return short, func() { _ = os.RemoveAll(short) }, nil
}
