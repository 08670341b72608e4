#!/bin/sh
# Run once by the Postgres image, on an empty volume: the service's own role, no superuser, and its database.
set -eu
psql --set ON_ERROR_STOP=1 --username "${POSTGRES_USER:-postgres}" --set password="$EXCHANGE_DB_PASSWORD" <<'SQL'
create role exchange login password :'password';
create database exchange owner exchange;
SQL
