// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

// Payments is a tool server to try deed with: an MCP server on stdin and stdout that
// refunds orders, and with the argument "shop" a plain HTTP API that takes them. Each
// effect is one more line of refunds.csv or orders.csv in the working directory, and
// neither knows anything of deed, or of what it did before.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// shopAddress is where the shop listens, unless SHOP_ADDRESS says otherwise.
const shopAddress = "127.0.0.1:7400"

func main() {
	var err error
	if len(os.Args) > 1 && os.Args[1] == "shop" {
		err = shop()
	} else {
		err = payments(context.Background())
	}
	if err != nil {
		log.Fatal(err)
	}
}

// refund is what pay.refund is asked for, refunded what it answers.
type refund struct {
	OrderID string  `json:"order_id" jsonschema:"the order whose money goes back"`
	Amount  float64 `json:"amount" jsonschema:"how much, in EUR"`
}

type refunded struct {
	ID string `json:"id"`
}

type refunds struct {
	Refunds []string `json:"refunds"`
}

func payments(ctx context.Context) error {
	server := mcp.NewServer(&mcp.Implementation{Name: "payments", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "pay.refund", Description: "Refund an order."},
		func(_ context.Context, _ *mcp.CallToolRequest, in refund) (*mcp.CallToolResult, refunded, error) {
			if in.Amount <= 0 {
				return nil, refunded{}, errors.New("invalid amount: nothing was refunded")
			}
			n, err := record("refunds.csv", fmt.Sprintf("%q,%.2f", in.OrderID, in.Amount))
			return nil, refunded{ID: fmt.Sprintf("ref_%06d", n)}, err
		})
	mcp.AddTool(server, &mcp.Tool{Name: "pay.list", Description: "List the refunds that were made.", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}},
		func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, refunds, error) {
			made, err := lines("refunds.csv")
			return nil, refunds{made}, err
		})
	return server.Run(ctx, &mcp.StdioTransport{})
}

func shop() error {
	http.HandleFunc("POST /orders", func(w http.ResponseWriter, r *http.Request) {
		var order struct {
			SKU   string `json:"sku"`
			Count int    `json:"count"`
		}
		if json.NewDecoder(r.Body).Decode(&order) != nil || order.SKU == "" || order.Count < 1 {
			http.Error(w, "sku and count are needed; nothing was ordered", http.StatusBadRequest)
			return
		}
		n, err := record("orders.csv", fmt.Sprintf("%q,%d", order.SKU, order.Count))
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusCreated)
		_ = json.NewEncoder(w).Encode(map[string]string{"id": fmt.Sprintf("ord_%06d", n)})
	})
	address := os.Getenv("SHOP_ADDRESS")
	if address == "" {
		address = shopAddress
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	log.Print("the shop listens on http://" + address)
	return http.Serve(listener, nil)
}

var writing sync.Mutex

// record appends a line and says how many there are.
func record(file, line string) (int, error) {
	writing.Lock()
	defer writing.Unlock()
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return 0, err
	}
	if _, err := fmt.Fprintln(f, line); err != nil {
		_ = f.Close()
		return 0, err
	}
	if err := f.Close(); err != nil {
		return 0, err
	}
	all, err := lines(file)
	return len(all), err
}

func lines(file string) ([]string, error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return []string{}, nil
	}
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n"), err
}
