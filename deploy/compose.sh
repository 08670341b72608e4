#!/bin/sh
# What an operator does with the Compose files, in the folder of the program:
#
#   sh deploy/compose.sh check            Compose is recent enough, and .env is complete
#   sh deploy/compose.sh restart          replaces one container after the other, while requests are served
#   sh deploy/compose.sh upgrade          builds the image (PULL=1: pulls EXCHANGE_IMAGE:EXCHANGE_VERSION), then the same
#   sh deploy/compose.sh backup FOLDER    writes a backup to a new folder, while requests are served
#   sh deploy/compose.sh drill FOLDER     restores a backup to a separate database, verifies it, deletes that again
#   sh deploy/compose.sh restore FOLDER   fills empty stores from a backup: stops the service, and starts it at the end
set -eu
compose=${COMPOSE:-docker compose}
wait_seconds=${WAIT_SECONDS:-120}

say() { printf '%s\n' "$*" >&2; }
die() { say "$*"; exit 1; }
defined() { $compose config --services | grep -qx "$1"; }
# Projectors first: docs/operate/restarts.md, "To a new version".
roles() { for role in projector api worker; do if defined "$role"; then echo "$role"; fi; done; }

check() {
  version=$($compose version --short 2>/dev/null) || die "Docker Compose v2 is missing: install docker-compose-plugin"
  case ${version#v} in
    1.* | 2.[0-9] | 2.[0-9].* | 2.1[0-9] | 2.1[0-9].*) die "Docker Compose $version is too old: 2.20 or newer is needed" ;;
  esac
  $compose config --quiet || die "Complete .env: sh deploy/create-env.sh BASE_URL > .env, deploy/.env.example"
  say "Docker Compose $version; the settings are complete"
}

# In its container: whether a process serves everything that it should.
is_ready() {
  docker exec "$1" node -e \
    'fetch(`http://127.0.0.1:${process.env.PORT}/ready`).then((a) => process.exit(a.ok ? 0 : 1), () => process.exit(1))' \
    >/dev/null 2>&1
}

wait_ready() {
  waited=0
  until is_ready "$1"; do
    [ "$waited" -lt "$wait_seconds" ] || return 1
    sleep 1
    waited=$((waited + 1))
  done
}

# One more container of the new image, and when it is ready, one of the old ones less.
roll() {
  old=$($compose ps -q "$1")
  count=$(echo "$old" | grep -c .) || true
  [ "$count" -gt 0 ] || { say "$1: does not run"; return 0; }
  for container in $old; do
    before=$($compose ps -q "$1")
    $compose up --detach --no-deps --no-recreate --scale "$1=$((count + 1))" "$1" >/dev/null 2>&1
    new=$($compose ps -q "$1" | grep -vxF "$before") || die "$1: no new container was started"
    if ! wait_ready "$new"; then
      docker logs --tail 20 "$new" >&2
      docker rm --force "$new" >/dev/null
      die "$1: the new container is not ready after $wait_seconds s and was removed; the old ones serve"
    fi
    docker stop --time 30 "$container" >/dev/null
    docker rm "$container" >/dev/null
    say "$1: replaced a container"
  done
}

restart() { for role in $(roles); do roll "$role"; done; }

upgrade() {
  if [ "${PULL:-0}" = 1 ]; then $compose pull $(roles); else $compose build $(roles | head -n 1); fi
  restart
}

# The program runs as user 1000, and the folder contains everything: only that user may read it.
in_container() {
  folder=$1
  shift
  $compose run --rm --no-deps -T --volume "$folder:/backup" "$@"
}

whole_path() {
  mkdir -p "$(dirname "$1")"
  echo "$(cd "$(dirname "$1")" && pwd)/$(basename "$1")"
}

backup() {
  folder=$(whole_path "$1")
  [ ! -e "$folder" ] || die "$folder exists"
  mkdir -m 700 "$folder"
  chown 1000:1000 "$folder" || die "run this as root: the folder must belong to the user 1000 of the image"
  in_container "$folder" operator backup create /backup/exchange
}

drill() {
  folder=$(whole_path "$1")
  admin="$compose exec -T postgres psql --username postgres --set ON_ERROR_STOP=1 --quiet"
  $admin --command 'drop database if exists exchange_drill' --command 'create database exchange_drill owner exchange'
  status=0
  in_container "$folder" --entrypoint sh operator -c \
    'exec node dist/bundle/exchange.js backup drill /backup/exchange --into "${DATABASE_URL%/*}/exchange_drill"' || status=$?
  $admin --command 'drop database exchange_drill'
  return $status
}

restore() {
  folder=$(whole_path "$1")
  $compose stop $(roles)
  for store in postgres eventstore redis; do if defined "$store"; then $compose up --detach "$store"; fi; done
  waited=0
  until $compose exec -T postgres pg_isready --quiet --username exchange --dbname exchange --host 127.0.0.1; do
    [ "$waited" -lt "$wait_seconds" ] || die "Postgres is not ready"
    sleep 1
    waited=$((waited + 1))
  done
  in_container "$folder" operator backup restore /backup/exchange
  $compose up --detach
}

case ${1:-}:$# in
  check:1 | restart:1 | upgrade:1) "$1" ;;
  backup:2 | drill:2 | restore:2) "$1" "$2" ;;
  *) sed -n '2,9s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
esac
