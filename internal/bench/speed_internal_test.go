// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
)

func BenchmarkGuardedCall(b *testing.B) {
	for _, callers := range []int{1, callers} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			g := openForBenchmark(b)
			b.ResetTimer()
			load(b, callers, func(ctx context.Context, n int) error { return g.operate(ctx, "go", n) })
		})
	}
}

func BenchmarkFloor(b *testing.B) {
	for _, group := range []int{1, callers} {
		b.Run(fmt.Sprintf("group=%d", group), func(b *testing.B) {
			p, err := learn(b.Context(), filepath.Join(b.TempDir(), "pattern.db"))
			if err != nil {
				b.Fatal(err)
			}
			source := openForBenchmark(b)
			load(b, callers, func(ctx context.Context, n int) error { return source.operate(ctx, "go", n) })
			f, err := openFloor(b.Context(), filepath.Join(b.TempDir(), "floor.db"), source.path, p)
			if err != nil {
				b.Fatal(err)
			}
			b.ResetTimer()
			if _, err := f.run(b.Context(), group, 0, b.N); err != nil {
				b.Fatal(err)
			}
			b.StopTimer()
			if err := f.close(); err != nil {
				b.Fatal(err)
			}
		})
	}
}

func BenchmarkReplay(b *testing.B) {
	for _, callers := range []int{1, callers} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			const hot = 1000
			g := openForBenchmark(b)
			if _, err := drive(b.Context(), 64, hot, func(ctx context.Context, n int) error { return g.operate(ctx, "hot", n) }); err != nil {
				b.Fatal(err)
			}
			b.ResetTimer()
			load(b, callers, func(ctx context.Context, n int) error { return g.replay(ctx, "hot", scatter(n, hot)) })
		})
	}
}

func openForBenchmark(b *testing.B) *guarded {
	b.Helper()
	g, err := openGuarded(b.Context(), filepath.Join(b.TempDir(), "ledger.db"))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := g.close(context.Background()); err != nil {
			b.Error(err)
		}
	})
	return g
}

func load(b *testing.B, callers int, do func(context.Context, int) error) {
	b.Helper()
	if _, err := drive(b.Context(), callers, b.N, do); err != nil {
		b.Fatal(err)
	}
}
