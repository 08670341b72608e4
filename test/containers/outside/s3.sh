#!/bin/sh
# Swift with its interface of S3, in one container: its bucket and its key are in s3-store.ts.
set -eu
cd /etc/swift
rm -f ./*.builder ./*.ring.gz
cat > swift.conf <<END
[swift-hash]
swift_hash_path_suffix = test
END
port=6200
for kind in object container account; do
  swift-ring-builder $kind.builder create 2 1 1
  swift-ring-builder $kind.builder add r1z1-127.0.0.1:$port/disk 1
  swift-ring-builder $kind.builder rebalance
  cat > $kind-server.conf <<END
[DEFAULT]
log_udp_host = 127.0.0.1
bind_ip = 127.0.0.1
bind_port = $port
devices = /srv/node
mount_check = false
workers = 0
[pipeline:main]
pipeline = $kind-server
[app:$kind-server]
use = egg:swift#$kind
END
  port=$((port + 1))
done
cat > proxy-server.conf <<END
[DEFAULT]
log_udp_host = 127.0.0.1
bind_port = 8080
workers = 0
[pipeline:main]
pipeline = catch_errors healthcheck cache s3api tempauth slo proxy-server
[filter:catch_errors]
use = egg:swift#catch_errors
[filter:healthcheck]
use = egg:swift#healthcheck
[filter:cache]
use = egg:swift#memcache
[filter:s3api]
use = egg:swift#s3api
[filter:tempauth]
use = egg:swift#tempauth
user_exchange_assets = $S3_SECRET .admin
[filter:slo]
use = egg:swift#slo
[app:proxy-server]
use = egg:swift#proxy
account_autocreate = true
END
install -d -o swift -g swift /srv/node/disk /var/cache/swift
memcached -u nobody -l 127.0.0.1 &
# They log to syslog alone.
for kind in object container account; do swift-$kind-server $kind-server.conf & done
exec swift-proxy-server proxy-server.conf
