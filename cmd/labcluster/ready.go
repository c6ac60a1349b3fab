package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

var errNotYet = errors.New("not ready yet")

// waitReady returns once /readyz is ok and the namespaces are there that every user takes for granted.
func waitReady(ctx context.Context, config *rest.Config) error {
	client, err := kubernetes.NewForConfig(rest.AddUserAgent(rest.CopyConfig(config), "labcluster-start"))
	if err != nil {
		return fmt.Errorf("make a client: %w", err)
	}
	err = poll(ctx, "/readyz", func(ctx context.Context) error {
		return client.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
	})
	if err != nil {
		return err
	}
	for _, name := range []string{metav1.NamespaceDefault, metav1.NamespaceSystem} {
		err := poll(ctx, "namespace "+name, func(ctx context.Context) error {
			_, err := client.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{})
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// poll asks until the answer is nil; at the end of ctx its cause and the last answer say what was missing.
func poll(ctx context.Context, what string, ask func(context.Context) error) error {
	ticker := time.NewTicker(pollPeriod)
	defer ticker.Stop()
	for {
		err := ask(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return fmt.Errorf("%w: %s: %w", context.Cause(ctx), what, err)
		}
	}
}
