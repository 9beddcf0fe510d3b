#!/usr/bin/env bash
# A denial, a commit, its audit record, and a metric. Needs curl and jq, and the services of compose.yaml.
set -euo pipefail
cd "$(dirname "$0")"
gateway=http://127.0.0.1:${GATEWAY_PORT:-2333}
admin=http://127.0.0.1:${ADMIN_PORT:-2334}
arrow='content-type: application/vnd.apache.arrow.stream'
# shellcheck source=/dev/null
. secrets/keycloak.env

# CLIENT SECRET: an access token of that client.
token() {
  curl --silent --show-error --fail --cacert secrets/ca.crt --connect-to "keycloak:8443:127.0.0.1:${KEYCLOAK_PORT:-8443}" \
    --user "$1:$2" --data grant_type=client_credentials \
    https://keycloak:8443/realms/demo/protocol/openid-connect/token | jq --raw-output .access_token
}
# TOKEN PATH ...: a POST request, with further options of curl.
post() {
  curl --silent --show-error --header "authorization: Bearer $1" "$gateway$2" "${@:3}"
}
audit() {
  docker compose exec -T gateway catalog-gateway audit query --config /etc/catalog-gateway/gateway.yaml "$@"
}

loader=$(token loader "$LOADER_SECRET")
analyst=$(token analyst "$ANALYST_SECRET")

echo '1. The loader creates the namespace sales and the table orders, if they do not exist, and adds two rows:'
post "$loader" /v1/namespace/sales/create --json '{"mode":"ExistOk"}' >/dev/null
post "$loader" '/v1/table/sales$orders/create?mode=exist_ok' --header "$arrow" --data-binary @orders.arrow >/dev/null
post "$loader" '/v1/table/sales$orders/insert' --header "$arrow" --data-binary @orders.arrow
echo

echo '2. The analyst counts the rows, but may not add any:'
post "$analyst" '/v1/table/sales$orders/count_rows' --json '{}'
echo
denial=$(post "$analyst" '/v1/table/sales$orders/insert' --header "$arrow" --data-binary @orders.arrow)
echo "$denial"

echo '3. The audit log has the denial and the commit:'
audit --request "$(jq --raw-output .instance <<<"$denial")"
audit --operation InsertIntoTable --principal demo:service-account-loader --last 2

echo '4. The metrics count both:'
curl --silent --show-error "$admin/metrics" | grep '^catalog_gateway_requests_total{.*operation="InsertIntoTable"'
