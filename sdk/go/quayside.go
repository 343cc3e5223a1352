// Package quayside is a client of a Quayside installation, on the standard library alone. It signs every request, tries
// again where that is safe, reads lists page by page, and verifies webhooks. The reference of your installation, at
// /docs, explains each field.
package quayside

import (
	"bytes"
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	mathrand "math/rand"
	"net/http"
	"net/url"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Version of this client.
const Version = "0.1.0"

var userAgent = fmt.Sprintf("quayside-go/%s (%s)", Version, runtime.Version())

// The longest time that a server may ask to wait, and the bounds of a wait that it does not name.
const (
	waitMax      = 60 * time.Second
	backoffFirst = 500 * time.Millisecond
	backoffMax   = 8 * time.Second
)

// Objects of the API. Amounts that are integers are in minor units: 1050 is 10.50.

type PriceData struct {
	Currency    string `json:"currency"`
	UnitAmount  int64  `json:"unit_amount"`
	ProductData struct {
		Name        string `json:"name"`
		Description string `json:"description,omitempty"`
	} `json:"product_data"`
}

type LineItem struct {
	PriceData PriceData `json:"price_data"`
	Quantity  int64     `json:"quantity,omitempty"`
}

// CreateSession needs Amount, Currency and OrderID.
type CreateSession struct {
	Amount         int64             `json:"amount"`
	Currency       string            `json:"currency"`
	OrderID        string            `json:"order_id"`
	Description    string            `json:"description,omitempty"`
	SuccessURL     string            `json:"success_url,omitempty"`
	CancelURL      string            `json:"cancel_url,omitempty"`
	Metadata       map[string]string `json:"metadata,omitempty"`
	WebhookURL     string            `json:"webhook_url,omitempty"`
	ExpiresIn      int64             `json:"expires_in,omitempty"`
	LineItems      []LineItem        `json:"line_items,omitempty"`
	TaxAmount      int64             `json:"tax_amount,omitempty"`
	ShippingAmount int64             `json:"shipping_amount,omitempty"`
}

type PaymentOption struct {
	Network               string `json:"network"`
	Currency              string `json:"currency"`
	Address               string `json:"address"`
	Amount                string `json:"amount"`
	ConfirmationsRequired int64  `json:"confirmations_required"`
	QRCodeData            string `json:"qr_code_data"`
	DeepLink              string `json:"deep_link"`
}

type Payment struct {
	Network         string `json:"network"`
	Currency        string `json:"currency"`
	Amount          string `json:"amount"`
	TransactionHash string `json:"transaction_hash"`
	Confirmations   int64  `json:"confirmations"`
	Status          string `json:"status"`
}

type Refundable struct {
	Currency string `json:"currency"`
	Amount   string `json:"amount"`
}

type PaymentSession struct {
	ID                string            `json:"id"`
	AmountTotal       int64             `json:"amount_total"`
	Currency          string            `json:"currency"`
	PaymentStatus     string            `json:"payment_status"`
	Created           int64             `json:"created"`
	ExpiresAt         int64             `json:"expires_at"`
	URL               string            `json:"url"`
	PayerURL          string            `json:"payer_url"`
	LineItems         []LineItem        `json:"line_items"`
	TaxAmount         int64             `json:"tax_amount"`
	ShippingAmount    int64             `json:"shipping_amount"`
	ExchangeRate      string            `json:"exchange_rate"`
	TargetCurrency    string            `json:"target_currency"`
	TargetAmountTotal int64             `json:"target_amount_total"`
	RateLockedAt      int64             `json:"rate_locked_at"`
	Metadata          map[string]string `json:"metadata"`
	PaymentOptions    []PaymentOption   `json:"payment_options"`
	Payments          []Payment         `json:"payments"`
	PaymentsTotal     int64             `json:"payments_total"`
	Underpaid         bool              `json:"underpaid"`
	Overpaid          bool              `json:"overpaid"`
	PaidLate          bool              `json:"paid_late"`
	PaidAt            int64             `json:"paid_at"`
	Refundable        []Refundable      `json:"refundable"`
}

// CreateRefund names the session as OrderID, and has a RefundID of your own and a decimal Amount: "4.50".
type CreateRefund struct {
	OrderID     string            `json:"order_id"`
	RefundID    string            `json:"refund_id"`
	Amount      string            `json:"amount"`
	Currency    string            `json:"currency"`
	Reason      string            `json:"reason,omitempty"`
	Description string            `json:"description,omitempty"`
	Metadata    map[string]string `json:"metadata,omitempty"`
}

type RefundDestination struct {
	Network string `json:"network"`
	Address string `json:"address"`
}

type NextAction struct {
	Type string `json:"type"`
	URL  string `json:"url"`
}

type Refund struct {
	RefundID          string             `json:"refund_id"`
	SessionID         string             `json:"session_id"`
	OrderID           string             `json:"order_id"`
	Amount            string             `json:"amount"`
	Currency          string             `json:"currency"`
	Status            string             `json:"status"`
	Reason            string             `json:"reason"`
	Description       string             `json:"description"`
	CreatedAt         int64              `json:"created_at"`
	Metadata          map[string]string  `json:"metadata"`
	NextAction        *NextAction        `json:"next_action"`
	Destination       *RefundDestination `json:"destination"`
	DestinationSource string             `json:"destination_source"`
	WaitsFor          string             `json:"waits_for"`
	FailureReason     string             `json:"failure_reason"`
	TransactionHash   string             `json:"transaction_hash"`
	ReceiptNumber     string             `json:"receipt_number"`
	ProcessedAt       int64              `json:"processed_at"`
}

type CanceledRefund struct {
	RefundID          string             `json:"refund_id"`
	Status            string             `json:"status"`
	CanceledAt        int64              `json:"canceled_at"`
	Destination       *RefundDestination `json:"destination"`
	DestinationSource string             `json:"destination_source"`
}

// PaymentEvent is an event, as a webhook brings it and as the list of events has it.
type PaymentEvent struct {
	ID        string `json:"id"`
	Type      string `json:"type"`
	CreatedAt int64  `json:"created_at"`
	Livemode  bool   `json:"livemode"`
	Data      struct {
		Object json.RawMessage `json:"object"`
	} `json:"data"`
}

// Kind is the class of an Error.
type Kind string

const (
	Authentication Kind = "authentication" // The key, the clock or the signature is wrong (401).
	Permission     Kind = "permission"     // The key may not do this, or its store is suspended (403).
	NotFound       Kind = "not_found"      // There is no such thing for this key (404).
	InvalidRequest Kind = "invalid"        // The request cannot be carried out as it is (other 4xx).
	RateLimit      Kind = "rate_limit"     // Too many requests, also after the retries (429).
	API            Kind = "api"            // The server failed, or what answered is no Quayside (5xx, redirects, no JSON).
	Connection     Kind = "connection"     // No answer came in time; a call that was not repeated may have been carried out.
	Signature      Kind = "signature"      // A webhook is not from your installation, is too old, or is of the other mode.
)

// Error is every error of this client. Code is for programs; Status is 0 without an answer.
type Error struct {
	Kind      Kind
	Status    int
	Type      string
	Code      string
	Message   string
	Param     string
	RequestID string
}

func (e *Error) Error() string { return fmt.Sprintf("quayside: %s (%s)", e.Message, e.Code) }

var kinds = map[int]Kind{401: Authentication, 403: Permission, 404: NotFound, 429: RateLimit}

func errorOf(status int, body []byte) *Error {
	var answer struct {
		Error     struct{ Type, Code, Message, Param string }
		RequestID string `json:"request_id"`
	}
	if json.Unmarshal(body, &answer) != nil || answer.Error.Code == "" {
		text := fmt.Sprintf("status %d without an answer of Quayside: check the base URL, and the proxy in front of it", status)
		return &Error{Kind: API, Status: status, Type: "client_error", Code: "invalid_answer", Message: text}
	}
	kind := cmp.Or(kinds[status], InvalidRequest)
	if status >= 500 {
		kind = API
	}
	e := answer.Error
	return &Error{kind, status, e.Type, e.Code, e.Message, e.Param, answer.RequestID}
}

// Options of a client. APIKey, APISecret and BaseURL are required; 0 and nil stand for the usual value.
type Options struct {
	APIKey     string
	APISecret  string
	BaseURL    string
	Timeout    time.Duration // Of one try: 30 seconds.
	MaxRetries int           // Tries after the first: 2; -1 for none.
	Transport  http.RoundTripper
	Now        func() time.Time
}

// Client makes the calls of one API key. It may be used by several goroutines.
type Client struct {
	base    string
	retries int
	isLive  bool
	http    http.Client
	now     func() time.Time
	// Functions, so that printing the client prints no secret.
	bearer func() string
	sign   func(text string) string
}

// New creates a client, or says which option is missing.
func New(o Options) (*Client, error) {
	if o.APIKey == "" || o.APISecret == "" || o.BaseURL == "" {
		return nil, errors.New("quayside: APIKey, APISecret and BaseURL are required")
	}
	c := &Client{base: strings.TrimRight(o.BaseURL, "/"), retries: cmp.Or(o.MaxRetries, 2), now: o.Now}
	c.isLive = strings.HasPrefix(o.APIKey, "sk_live_")
	c.bearer = func() string { return "Bearer " + o.APIKey }
	c.sign = func(text string) string { return mac(o.APISecret, []byte(text)) }
	// A redirect is an answer: a signed request goes to no other host.
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	c.http = http.Client{Transport: o.Transport, Timeout: cmp.Or(o.Timeout, 30*time.Second), CheckRedirect: stay}
	if c.now == nil {
		c.now = time.Now
	}
	return c, nil
}

// Do makes a signed call: every other call of this client, and those that it has no function for. A call is repeated if
// it is a GET, has an idempotency key, or a body that names an order or a refund. body and answer may be nil.
func (c *Client) Do(ctx context.Context, method, path string, body, answer any, idempotencyKey string) error {
	var text []byte
	isRepeatable := method == http.MethodGet || idempotencyKey != ""
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			return err
		}
		var named struct {
			OrderID  string `json:"order_id"`
			RefundID string `json:"refund_id"`
		}
		isRepeatable = isRepeatable || (json.Unmarshal(text, &named) == nil && named.OrderID+named.RefundID != "")
	}
	for tried := 0; ; tried++ {
		failure, pause, mayPass := c.attempt(ctx, method, path, text, answer, idempotencyKey)
		if failure == nil {
			return nil
		}
		if !mayPass || !isRepeatable || tried >= c.retries || pause > waitMax || ctx.Err() != nil {
			return failure
		}
		if pause < 0 {
			pause = time.Duration(mathrand.Int63n(int64(min(backoffMax, backoffFirst<<min(tried, 10)))))
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
}

// attempt returns an error, how long the server asks to wait (negative: it does not say), and whether it may pass.
func (c *Client) attempt(ctx context.Context, method, path string, text []byte, answer any, key string) (error, time.Duration, bool) {
	request, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(text))
	if err != nil {
		return err, 0, false
	}
	timestamp, nonce := strconv.FormatInt(c.now().Unix(), 10), randomHex()
	request.Header.Set("Authorization", c.bearer())
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", userAgent)
	request.Header.Set("X-Service-Timestamp", timestamp)
	request.Header.Set("X-Service-Nonce", nonce)
	request.Header.Set("X-Service-Signature", c.sign(timestamp+"."+nonce+"."+string(text)))
	whole := strings.Join([]string{timestamp, nonce, method, path, string(text)}, "\n")
	request.Header.Set("X-Service-Request-Signature", c.sign(whole))
	if key != "" {
		request.Header.Set("Idempotency-Key", key)
	}
	var got []byte
	response, err := c.http.Do(request)
	if err == nil {
		defer response.Body.Close()
		got, err = io.ReadAll(response.Body)
	}
	if err != nil {
		message := fmt.Sprintf("no answer from %s: %v", c.base, err)
		return &Error{Kind: Connection, Type: "client_error", Code: "no_answer", Message: message}, -1, true
	}
	isSuccess := response.StatusCode >= 200 && response.StatusCode < 300
	if isSuccess && json.Valid(got) {
		if answer == nil {
			return nil, 0, false
		}
		return json.Unmarshal(got, answer), 0, false
	}
	pause := time.Duration(-1)
	if seconds, err := strconv.Atoi(response.Header.Get("Retry-After")); err == nil && seconds >= 0 {
		pause = time.Duration(seconds) * time.Second
	}
	status := response.StatusCode
	mayPass := isSuccess || status == 429 || status == 500 || (status >= 502 && status <= 504)
	return errorOf(status, got), pause, mayPass
}

const (
	sessionsPath = "/api/v1/checkout/sessions"
	refundsPath  = "/api/v1/refunds"
	eventsPath   = "/api/v1/events"
)

// CreateSession creates a session; the same OrderID with the same fields returns the same session.
func (c *Client) CreateSession(ctx context.Context, session CreateSession) (made PaymentSession, err error) {
	err = c.Do(ctx, http.MethodPost, sessionsPath+"/create", session, &made, "")
	return
}

func (c *Client) Session(ctx context.Context, id string) (found PaymentSession, err error) {
	err = c.Do(ctx, http.MethodGet, sessionsPath+"/"+url.PathEscape(id), nil, &found, "")
	return
}

func (c *Client) CancelSession(ctx context.Context, id string) (canceled PaymentSession, err error) {
	err = c.Do(ctx, http.MethodPost, sessionsPath+"/"+url.PathEscape(id)+"/cancel", nil, &canceled, randomHex())
	return
}

// CreateRefund creates a refund; the same RefundID with the same fields pays once.
func (c *Client) CreateRefund(ctx context.Context, refund CreateRefund) (made Refund, err error) {
	err = c.Do(ctx, http.MethodPost, refundsPath+"/create", refund, &made, "")
	return
}

func (c *Client) Refund(ctx context.Context, id string) (found Refund, err error) {
	err = c.Do(ctx, http.MethodGet, refundsPath+"/"+url.PathEscape(id), nil, &found, "")
	return
}

func (c *Client) CancelRefund(ctx context.Context, id string) (canceled CanceledRefund, err error) {
	err = c.Do(ctx, http.MethodPost, refundsPath+"/"+url.PathEscape(id)+"/cancel", nil, &canceled, randomHex())
	return
}

func (c *Client) Event(ctx context.Context, id string) (found PaymentEvent, err error) {
	err = c.Do(ctx, http.MethodGet, eventsPath+"/"+url.PathEscape(id), nil, &found, "")
	return
}

// Iterator reads a list page by page: for it.Next(ctx) { use(it.Value()) }; then look at Err.
type Iterator[T any] struct {
	client *Client
	path   string
	filter url.Values
	idOf   func(T) string
	rows   []T
	value  T
	isLast bool
	err    error
}

// Next moves on; false at the end and after an error.
func (it *Iterator[T]) Next(ctx context.Context) bool {
	for len(it.rows) == 0 && !it.isLast && it.err == nil {
		it.err = it.read(ctx)
	}
	if it.err != nil || len(it.rows) == 0 {
		return false
	}
	it.value, it.rows = it.rows[0], it.rows[1:]
	return true
}

func (it *Iterator[T]) Value() T   { return it.value }
func (it *Iterator[T]) Err() error { return it.err }

func (it *Iterator[T]) read(ctx context.Context) error {
	var page struct {
		Data    []T  `json:"data"`
		HasMore bool `json:"has_more"`
	}
	path := strings.TrimSuffix(it.path+"?"+it.filter.Encode(), "?")
	if err := it.client.Do(ctx, http.MethodGet, path, nil, &page, ""); err != nil {
		return err
	}
	direction := "starting_after"
	if it.filter.Has("ending_before") {
		direction = "ending_before"
		slices.Reverse(page.Data)
	}
	it.rows, it.isLast = page.Data, !page.HasMore || len(page.Data) == 0
	if !it.isLast {
		it.filter.Set(direction, it.idOf(page.Data[len(page.Data)-1]))
	}
	return nil
}

func list[T any](c *Client, path string, filter url.Values, idOf func(T) string) *Iterator[T] {
	own := url.Values{}
	maps.Copy(own, filter)
	return &Iterator[T]{client: c, path: path, filter: own, idOf: idOf}
}

// Sessions lists sessions, newest first; with ending_before in the filter, those after it, the oldest first.
func (c *Client) Sessions(filter url.Values) *Iterator[PaymentSession] {
	return list(c, sessionsPath, filter, func(session PaymentSession) string { return session.ID })
}

func (c *Client) Refunds(filter url.Values) *Iterator[Refund] {
	return list(c, refundsPath, filter, func(refund Refund) string { return refund.RefundID })
}

func (c *Client) Events(filter url.Values) *Iterator[PaymentEvent] {
	return list(c, eventsPath, filter, func(event PaymentEvent) string { return event.ID })
}

// VerifyWebhook returns the event of a webhook that this installation has sent for the mode of the API key. body has the
// raw bytes, before any JSON parser; secrets has the endpoint's secret, and while it is being rotated, both.
func (c *Client) VerifyWebhook(body []byte, header http.Header, tolerance time.Duration, secrets ...string) (event PaymentEvent, err error) {
	refuse := func(code, message string) (PaymentEvent, error) {
		return PaymentEvent{}, &Error{Kind: Signature, Type: "client_error", Code: code, Message: message}
	}
	timestamp := header.Get("X-Service-Timestamp")
	given := strings.ToLower(header.Get("X-Service-Signature"))
	signed := append([]byte(timestamp+"."+header.Get("X-Service-Nonce")+"."), body...)
	isSigned := false
	for _, secret := range secrets {
		isSigned = hmac.Equal([]byte(mac(secret, signed)), []byte(given)) || isSigned
	}
	if !isSigned {
		return refuse("wrong_signature", "the webhook is not signed with this secret")
	}
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil || c.now().Sub(time.Unix(seconds, 0)).Abs() > tolerance {
		return refuse("too_old", "the webhook is too old, or a clock is wrong")
	}
	if json.Unmarshal(body, &event) != nil || event.Livemode != c.isLive {
		return refuse("other_mode", "the webhook is of the other mode than the API key")
	}
	return event, nil
}

func mac(secret string, text []byte) string {
	hash := hmac.New(sha256.New, []byte(secret))
	hash.Write(text)
	return hex.EncodeToString(hash.Sum(nil))
}

func randomHex() string {
	nonce := make([]byte, 16)
	if _, err := rand.Read(nonce); err != nil {
		panic(err)
	}
	return hex.EncodeToString(nonce)
}
