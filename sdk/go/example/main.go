// The example asks for 10.50 USD and prints where the customer pays.
package main

import (
	"context"
	"fmt"
	"log"
	"net/url"
	"os"

	quayside "quayside.example/client"
)

func main() {
	client, err := quayside.New(quayside.Options{
		APIKey:    os.Getenv("QUAYSIDE_KEY"),
		APISecret: os.Getenv("QUAYSIDE_SECRET"),
		BaseURL:   os.Getenv("QUAYSIDE_URL"),
	})
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	session, err := client.CreateSession(ctx, quayside.CreateSession{Amount: 1050, Currency: "USD", OrderID: "example-go"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s is %s: %s\n", session.ID, session.PaymentStatus, session.PayerURL)
	rows := client.Sessions(url.Values{"order_id": {"example-go"}})
	for rows.Next(ctx) {
		fmt.Printf("%s has %d payments\n", rows.Value().ID, len(rows.Value().Payments))
	}
	if rows.Err() != nil {
		log.Fatal(rows.Err())
	}
}
