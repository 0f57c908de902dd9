#!/bin/sh
# A shop of curl and openssl: orders withdrawals and deposits, and waits for their end.
#
#     sh shop.sh withdraw ORDERID CURRENCY AMOUNT ADDRESS
#     sh shop.sh deposit ORDERID CURRENCY AMOUNT
#     sh shop.sh wait withdrawal|deposit TRANSACTIONID
#
# README.md has the settings and the exit codes. Any POSIX shell, curl, openssl, mktemp.
set -u
LC_ALL=C
tries=6
timeout=${TIMEOUT_SECONDS:-30} # a withdrawal may wait 10 s for the agent
pause=${PAUSE_SECONDS:-1}
folder=$(mktemp -d) || exit 2
trap 'rm -rf "$folder"' EXIT

stop() { echo "shop: $1" >&2; exit 2; }
base64url() { openssl base64 -A | tr '+/' '-_' | tr -d '='; }

# The key of the HMAC, padded to 64 bytes, each of them XOR $2.
padded() {
  rest=$1 count=0
  while [ "$count" -lt 64 ]; do
    one=${rest%"${rest#?}"} rest=${rest#?} count=$((count + 1))
    [ -n "$one" ] && number=$(printf %d "'$one") || number=0
    printf "\\$(printf %03o $((number ^ $2)))"
  done
}

# HMAC-SHA256 of the standard input under the text $1 (RFC 2104). `openssl dgst -hmac` would show the
# secret to every user who lists this machine's processes.
hmac() {
  { padded "$1" 92; { padded "$1" 54; cat; } | openssl dgst -sha256 -binary; } | openssl dgst -sha256 -binary
}

# A fresh token that is good for this one request (strict profile): method, path, body.
token() {
  key=${SHOP_KEY%%.*} secret=${SHOP_KEY#*.} now=$(date +%s)
  secret=${secret%%.*}
  hash=$(printf %s "$3" | openssl dgst -sha256 -r | cut -d ' ' -f 1)
  header=$(printf '{"alg":"HS256","typ":"JWT","kid":"%s"}' "$key" | base64url)
  claims=$(printf '{"sub":"%s","iat":%s,"exp":%s,"jti":"%s","bodyHash":"%s","method":"%s","path":"%s"}' \
    "$key" "$now" "$((now + 60))" "$(openssl rand -hex 16)" "$hash" "$1" "$2" | base64url)
  printf '%s.%s.%s' "$header" "$claims" "$(printf '%s.%s' "$header" "$claims" | hmac "$secret" | base64url)"
}

# The text of a field of the answer, not of an object inside it; empty without it.
field() { sed 's/^{//; s/{[^{}]*}//g' "$folder/body" | sed -n "s/.*\"$1\":\"\\{0,1\\}\\([^\",}]*\\).*/\\1/p" | head -n 1; }

# One request. $status is 0 if no answer of the service's arrived: no connection, no answer in time,
# a cut answer, a proxy's page. A redirect is not followed, so the token stays here.
ask() {
  rm -f "$folder/body" "$folder/head"
  set -- "$1" "$2" "$3" "$(token "$1" "$2" "$3")"
  status=$(printf %s "$3" | curl -s -o "$folder/body" -D "$folder/head" -w '%{http_code}' --max-time "$timeout" \
    --max-filesize 1048576 -X "$1" -H "signatureToken: $4" -H 'Content-Type: application/json' \
    $([ "$1" = POST ] && echo '--data-binary @-') "${BASE_URL%/}$2") || status=0
  wanted=code
  [ "$status" = 200 ] && wanted=transactionId
  # The service's answers are one line of JSON with one of these fields.
  if [ ! -s "$folder/body" ] || [ -z "$(field "$wanted")" ]; then status=0; fi
  case $(head -c 1 "$folder/body" 2>/dev/null) in '{') ;; *) status=0 ;; esac
  after=$(tr -d '\r' 2>/dev/null <"$folder/head" | sed -n 's/^[Rr]etry-[Aa]fter: *\([0-9]\{1,6\}\)$/\1/p' | tail -n 1)
}

# Sends the very same request until its answer is known. A repeated order never pays twice.
until_known() {
  attempt=1
  while :; do
    ask "$@"
    case $status in 0 | 408 | 429 | 5??) [ "$attempt" -lt "$tries" ] || return 0 ;; *) return 0 ;; esac
    if [ -n "$after" ]; then sleep "$([ "$after" -gt 60 ] && echo 60 || echo "$after")"
    else for _ in $(seq "$attempt"); do sleep "$pause"; done; fi
    attempt=$((attempt + 1))
  done
}

# Prints [status, answer]. 3 stands for "not known": a 401, for instance, says nothing of an earlier try.
finish() {
  if [ "$status" = 0 ]; then echo '[0,null]'; else printf '[%s,%s]\n' "$status" "$(cat "$folder/body")"; fi
  case $status in 200) return 0 ;; 400 | 404 | 409 | 422) return 1 ;; *) return 3 ;; esac
}

case ${BASE_URL:-} in https://* | http://localhost[:/]* | http://127.0.0.1[:/]* | http://\[::1\]*) ;;
*) stop 'BASE_URL must begin with https:// off this machine' ;; esac
[ -n "${SHOP_KEY:-}" ] || stop 'SHOP_KEY is missing'
for word in "$@"; do # a word that needs no escape in JSON or in a path
  case $word in '' | *[!A-Za-z0-9._:-]*) stop "not taken in this example: $word" ;; esac
done
case ${1:-}$# in withdraw5 | deposit4)
  case $4 in *[!0-9.]* | .* | *. | *.*.*) stop 'AMOUNT must be plain digits such as 0.5' ;; esac ;;
esac
case ${1:-}$# in
# A shop stores the order and its orderId in its database before these lines, and the answer after them.
withdraw5)
  until_known POST /api/v1/autoWithdraw \
    "$(printf '{"orderId":"%s","currency":"%s","amount":"%s","address":"%s"}' "$2" "$3" "$4" "$5")"
  finish ;;
deposit4)
  until_known POST /api/v1/createTransactionRequest "$(printf '{"orderId":"%s","currency":"%s","amount":"%s"}' "$2" "$3" "$4")"
  finish ;;
wait3)
  case $2 in withdrawal) type=2 ;; deposit) type=1 ;; *) stop 'wait withdrawal|deposit TRANSACTIONID' ;; esac
  while :; do # until the record is Completed (0) or Failed (1); Pending is never an end
    until_known GET "/api/v1/transaction/$3?transactionType=$type" ''
    [ "$status" = 200 ] && [ "$(field status)" = 0 ] || break
    sleep "$pause"
  done
  finish
  code=$?
  [ "$status" = 200 ] && [ "$(field status)" = 2 ] && exit 1
  exit "$code" ;;
*) sed -n '4,6p' "$0" >&2; exit 2 ;;
esac
