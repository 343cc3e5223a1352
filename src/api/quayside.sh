BASE_URL='BASE_URL'

hmac() {
  openssl dgst -sha256 -hmac "$API_SECRET" -r | cut -d' ' -f1
}

# Makes a signed call and prints the answer: call METHOD PATH [BODY]
call() {
  timestamp=$(date +%s)
  nonce=$(openssl rand -hex 16)
  curl -sS --fail-with-body -X "$1" "$BASE_URL$2" \
    -H "Authorization: Bearer $API_KEY" \
    -H "Content-Type: application/json" \
    -H "X-Service-Timestamp: $timestamp" \
    -H "X-Service-Nonce: $nonce" \
    -H "X-Service-Signature: $(printf '%s.%s.%s' "$timestamp" "$nonce" "$3" | hmac)" \
    -H "X-Service-Request-Signature: $(printf '%s\n%s\n%s\n%s\n%s' "$timestamp" "$nonce" "$1" "$2" "$3" | hmac)" \
    ${3:+--data-raw "$3"}
}
