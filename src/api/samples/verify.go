package webhooks

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"strconv"
	"time"
)

// VerifyWebhook reports whether a webhook may be trusted. The body is the raw one, before any JSON parser; secrets has
// the endpoint's secret, or both while it is being rotated.
func VerifyWebhook(headers http.Header, body []byte, secrets []string, live bool, now time.Time) bool {
	timestamp := headers.Get("X-Service-Timestamp")
	given, _ := hex.DecodeString(headers.Get("X-Service-Signature"))
	signed := false
	for _, secret := range secrets {
		mac := hmac.New(sha256.New, []byte(secret))
		mac.Write([]byte(timestamp + "." + headers.Get("X-Service-Nonce") + "." + string(body)))
		signed = hmac.Equal(mac.Sum(nil), given) || signed
	}
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	age := now.Unix() - seconds
	var event struct {
		Livemode *bool `json:"livemode"`
	}
	if !signed || err != nil || age > 300 || age < -300 || json.Unmarshal(body, &event) != nil {
		return false
	}
	return event.Livemode != nil && *event.Livemode == live
}
