#!/usr/bin/env bash
# Makes the secrets of this example, once: passwords, the token of the gateway, and a certificate of the identity provider.
set -euo pipefail
cd "$(dirname "$0")"
[ ! -e secrets ] || { echo 'secrets exist already'; exit 0; }

# Only the user of this folder can enter it; the users of the containers read single files of it.
umask 022
folder=$(mktemp -d secrets.XXXXXX)
trap 'rm -rf "$folder"' EXIT
random() { openssl rand -hex 24; }
put() { printf '%s\n' "$2" >"$folder/$1"; }

password=$(random)
put postgres-password "$password"
put postgres-url "postgresql://catalog:$password@postgres:5432/catalog"
token=$(random)
put catalog-token "$token"
put gateway-credential "Bearer $token"
put object-store.env "$(printf 'AWS_ACCESS_KEY_ID=%s\nAWS_SECRET_ACCESS_KEY=%s' "$(random)" "$(random)")"
put keycloak.env "$(printf 'LOADER_SECRET=%s\nANALYST_SECRET=%s' "$(random)" "$(random)")"

openssl req -x509 -newkey rsa:2048 -nodes -days 365 -subj '/CN=authority of the example' \
  -keyout "$folder/ca.key" -out "$folder/ca.crt" 2>/dev/null
openssl req -newkey rsa:2048 -nodes -subj '/CN=keycloak' \
  -keyout "$folder/keycloak.key" -out "$folder/keycloak.csr" 2>/dev/null
openssl x509 -req -in "$folder/keycloak.csr" -CA "$folder/ca.crt" -CAkey "$folder/ca.key" -days 365 \
  -extfile <(echo 'subjectAltName=DNS:keycloak') -out "$folder/keycloak.crt" 2>/dev/null
# Nothing else is to be signed.
rm "$folder/ca.key" "$folder/keycloak.csr"
chmod a+r "$folder"/*
mv "$folder" secrets
echo 'secrets are in the folder secrets'
