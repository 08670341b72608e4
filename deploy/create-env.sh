#!/bin/sh
# Prints a .env for the Compose files, with new passwords and keys:
#   sh deploy/create-env.sh https://api.example.com > .env && chmod 600 .env
set -eu
[ $# = 1 ] || { echo "usage: sh deploy/create-env.sh BASE_URL > .env" >&2; exit 2; }
random() { openssl rand -hex 24; }
key() { openssl rand -base64 32 | tr '+/' '-_' | tr -d '='; }
year=$(date +%Y)
cat <<END
BASE_URL=$1
POSTGRES_PASSWORD=$(random)
EXCHANGE_DB_PASSWORD=$(random)
REDIS_PASSWORD=$(random)
SECRET_KEYS=$year:$(key)
LOG_SIGNING_KEYS=$year:$(key)
END
