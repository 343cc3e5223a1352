# Succeeds if a webhook may be trusted, to look at one by hand:
# verify_webhook TIMESTAMP NONCE SIGNATURE BODY_FILE SECRET live|test [NOW]
# A handler uses one of the other languages: a shell takes longer to compare what differs later.
verify_webhook() {
  expected=$({ printf '%s.%s.' "$1" "$2"; cat "$4"; } | openssl dgst -sha256 -hmac "$5" -r | cut -d' ' -f1)
  [ "$expected" = "$3" ] || return 1
  age=$((${7:-$(date +%s)} - $1))
  [ "$age" -le 300 ] && [ "$age" -ge -300 ] || return 1
  case $6 in
    live) grep -q '"livemode":true' "$4" ;;
    test) grep -q '"livemode":false' "$4" ;;
    *) return 1 ;;
  esac
}
