// A shop that was written against the client that oapi-codegen made. It prints what it read, one value a line.
package main

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"time"

	"shop/quayside"
)

// sign adds the four headers of a signed request.
func sign(_ context.Context, request *http.Request) error {
	body := []byte{}
	if request.Body != nil {
		read, err := io.ReadAll(request.Body)
		if err != nil {
			return err
		}
		body = read
		request.Body = io.NopCloser(bytes.NewReader(body))
	}
	timestamp := strconv.FormatInt(time.Now().Unix(), 10)
	nonce := rand.Text()
	mac := hmac.New(sha256.New, []byte(os.Getenv("API_SECRET")))
	mac.Write([]byte(timestamp + "." + nonce + "."))
	mac.Write(body)
	request.Header.Set("Authorization", "Bearer "+os.Getenv("API_KEY"))
	request.Header.Set("X-Service-Timestamp", timestamp)
	request.Header.Set("X-Service-Nonce", nonce)
	request.Header.Set("X-Service-Signature", hex.EncodeToString(mac.Sum(nil)))
	return nil
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func main() {
	ctx := context.Background()
	client, err := quayside.NewClientWithResponses(os.Getenv("BASE_URL"), quayside.WithRequestEditorFn(sign))
	check(err)

	quantity := 2
	items := []quayside.LineItemInput{{Quantity: &quantity}}
	items[0].PriceData.Currency = "EUR"
	items[0].PriceData.UnitAmount = 525
	items[0].PriceData.ProductData.Name = "Coffee, 1 kg"
	order := quayside.CreateSession{Amount: 1050, Currency: "EUR", OrderId: "go-1", LineItems: &items}
	created, err := client.CreateSessionWithResponse(ctx, nil, order)
	check(err)
	if created.JSON200 == nil {
		check(fmt.Errorf("create answered %s", created.Body))
	}
	read, err := client.GetSessionWithResponse(ctx, created.JSON200.Id, nil)
	check(err)
	session := read.JSON200
	fmt.Println(session.Id)
	fmt.Println(session.AmountTotal, session.Currency, session.PaymentStatus == quayside.PaymentSessionPaymentStatusPending)
	fmt.Println((*session.LineItems)[0].PriceData.ProductData.Name, (*session.PaymentOptions)[0].Currency)

	order.Amount = 1051
	refused, err := client.CreateSessionWithResponse(ctx, nil, order)
	check(err)
	fmt.Println(refused.JSON400.Error.Code, *refused.JSON400.Error.Param)
}
