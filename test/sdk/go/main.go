// The driver makes the calls that it reads, a line of JSON each, with the Go client, and answers each with a line.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	quayside "quayside.example/client"
)

// Kinds as the other clients name their errors.
var kinds = map[quayside.Kind]string{
	quayside.Authentication: "Authentication", quayside.Permission: "Permission", quayside.NotFound: "NotFound",
	quayside.InvalidRequest: "InvalidRequest", quayside.RateLimit: "RateLimit", quayside.API: "Api",
	quayside.Connection: "Connection", quayside.Signature: "Signature",
}

func all[T any](ctx context.Context, it *quayside.Iterator[T]) ([]T, error) {
	rows := []T{}
	for it.Next(ctx) {
		rows = append(rows, it.Value())
	}
	return rows, it.Err()
}

func read[T any](raw json.RawMessage) (value T, err error) {
	err = json.Unmarshal(raw, &value)
	return
}

func filterOf(raw json.RawMessage) url.Values {
	given, _ := read[map[string]any](raw)
	filter := url.Values{}
	for name, value := range given {
		if values, isList := value.([]any); isList {
			for _, one := range values {
				filter.Add(name, fmt.Sprint(one))
			}
		} else {
			filter.Set(name, fmt.Sprint(value))
		}
	}
	return filter
}

func verify(c *quayside.Client, args []json.RawMessage) (any, error) {
	body, _ := read[string](args[0])
	headers, _ := read[map[string]string](args[1])
	secrets, _ := read[[]string](args[2])
	header := http.Header{}
	for name, value := range headers {
		header.Set(name, value)
	}
	return c.VerifyWebhook([]byte(body), header, 300*time.Second, secrets...)
}

func run(c *quayside.Client, call string, args []json.RawMessage) (any, error) {
	ctx := context.Background()
	text := func(at int) string { value, _ := read[string](args[at]); return value }
	switch call {
	case "createSession":
		session, err := read[quayside.CreateSession](args[0])
		if err != nil {
			return nil, err
		}
		return c.CreateSession(ctx, session)
	case "session":
		return c.Session(ctx, text(0))
	case "cancelSession":
		return c.CancelSession(ctx, text(0))
	case "sessions":
		return all(ctx, c.Sessions(filterOf(args[0])))
	case "createRefund":
		refund, err := read[quayside.CreateRefund](args[0])
		if err != nil {
			return nil, err
		}
		return c.CreateRefund(ctx, refund)
	case "refund":
		return c.Refund(ctx, text(0))
	case "cancelRefund":
		return c.CancelRefund(ctx, text(0))
	case "refunds":
		return all(ctx, c.Refunds(filterOf(args[0])))
	case "event":
		return c.Event(ctx, text(0))
	case "events":
		return all(ctx, c.Events(filterOf(args[0])))
	case "request":
		var answer any
		err := c.Do(ctx, text(0), text(1), nil, &answer, "")
		return answer, err
	case "verify":
		return verify(c, args)
	default:
		return fmt.Sprintf("%v %+v %#v", c, *c, c), nil
	}
}

func main() {
	o := quayside.Options{APIKey: os.Getenv("API_KEY"), APISecret: os.Getenv("API_SECRET"), BaseURL: os.Getenv("BASE_URL")}
	o.Timeout = 5 * time.Second
	if now, err := strconv.ParseInt(os.Getenv("NOW"), 10, 64); err == nil {
		o.Now = func() time.Time { return time.Unix(now, 0) }
	}
	c, err := quayside.New(o)
	if err != nil {
		panic(err)
	}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var asked struct {
			Call string
			Args []json.RawMessage
		}
		if err := json.Unmarshal(lines.Bytes(), &asked); err != nil {
			panic(err)
		}
		result, err := run(c, asked.Call, asked.Args)
		answer := map[string]any{"result": result}
		var failure *quayside.Error
		if errors.As(err, &failure) {
			answer = map[string]any{"error": map[string]any{
				"kind": kinds[failure.Kind], "status": failure.Status, "type": failure.Type, "code": failure.Code,
				"param": failure.Param, "requestId": failure.RequestID, "message": failure.Error(),
			}}
		} else if err != nil {
			answer = map[string]any{"error": map[string]any{"kind": "Refused", "message": strings.TrimSpace(err.Error())}}
		}
		text, _ := json.Marshal(answer)
		fmt.Println(string(text))
	}
}
