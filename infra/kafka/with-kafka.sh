#!/usr/bin/env bash
# Runs a command next to a real Apache Kafka broker of one node.
#
#   infra/kafka/with-kafka.sh COMMAND [ARGUMENT…]
#
# The broker is brought from Maven Central the first time, listens on loopback ports of its own,
# keeps its data in a new folder and is stopped when the command ends, however that ends. The
# command finds its address in FORAGER_KAFKA (host:port). The exit code is the command's.
# FORAGER_KAFKA_SECURE is the address for clients with TLS (FORAGER_KAFKA_CA names the PEM file of
# the certificate) and a password (user app, password "right"; PLAIN, SCRAM-SHA-256, SCRAM-SHA-512).
# Needs java 17 or newer with keytool, and mvn.
#
#   KAFKA_BUILD  folder for the jars, data and logs             (build/kafka)
#   KAFKA_PORT   port for clients; the next two are taken too   (three free ones)
#   KAFKA_HEAP   heap of the broker                             (512m)
set -euo pipefail

[ $# -gt 0 ] || { sed -n '2,15p' "$0" | cut -c3- >&2; exit 2; }
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build=${KAFKA_BUILD:-$here/../../build/kafka}
mkdir -p "$build"
build=$(cd "$build" && pwd)

for tool in java keytool mvn; do
  command -v "$tool" > /dev/null || { echo "with-kafka.sh: $tool is not installed" >&2; exit 1; }
done

# The jars are complete once "ready" holds the sum of the pom that named them.
libs=$build/libs
want=$(sha256sum < "$here/pom.xml")
if [ "$(cat "$libs/ready" 2> /dev/null || true)" != "$want" ]; then
  rm -rf "$libs"
  mvn --batch-mode --quiet --file "$here/pom.xml" package "-Dlibs=$libs"
  echo "$want" > "$libs/ready"
fi

run=$(mktemp -d "$build/run-XXXXXX")
pid= command=
stop() {
  trap - EXIT INT TERM
  [ -z "$command" ] || kill "$command" 2> /dev/null || true
  if [ -n "$pid" ] && kill -0 "$pid" 2> /dev/null; then
    kill "$pid" 2> /dev/null || true
    for _ in $(seq 100); do kill -0 "$pid" 2> /dev/null || break; sleep 0.1; done
    kill -9 "$pid" 2> /dev/null || true
  fi
  [ -z "$pid" ] || wait "$pid" 2> /dev/null || true
  rm -rf "$run"
}
trap stop EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# free N: N consecutive free loopback ports, by their first.
free() {
  local port i
  while :; do
    port=$((20000 + RANDOM % 12000))
    for ((i = 0; i < $1; i++)); do
      if (exec 3<> "/dev/tcp/127.0.0.1/$((port + i))") 2> /dev/null; then continue 2; fi
    done
    echo "$port"
    return
  done
}

random_id() { head -c 16 /dev/urandom | base64 | tr '+/' 'ab' | cut -c1-22; }

port=${KAFKA_PORT:-$(free 3)}
sed -e "s|@PORT@|$port|g" -e "s|@CONTROLLER_PORT@|$((port + 1))|g" -e "s|@SECURE_PORT@|$((port + 2))|g" -e "s|@DATA@|$run|g" \
  "$here/server.properties.in" > "$run/server.properties"

# A certificate that vouches for itself, for the listener with TLS.
store=(-keystore "$run/broker.p12" -storetype PKCS12 -storepass of-this-run -alias broker)
keytool -genkeypair "${store[@]}" -keyalg EC -groupname secp256r1 -validity 2 -dname CN=127.0.0.1 \
  -ext san=ip:127.0.0.1 -ext bc:critical=ca:true > "$run/keytool.log" 2>&1 &&
  keytool -exportcert "${store[@]}" -rfc -file "$run/ca.pem" >> "$run/keytool.log" 2>&1 ||
  { cat "$run/keytool.log" >&2; exit 1; }

# C1 only and the serial collector: a test broker lives for minutes, and starts sooner so.
jvm=(-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Dorg.slf4j.simpleLogger.showDateTime=true)
java -Xmx128m "${jvm[@]}" -Dorg.slf4j.simpleLogger.defaultLogLevel=error -cp "$libs/*" kafka.tools.StorageTool format \
  --cluster-id "$(random_id)" --config "$run/server.properties" \
  --add-scram 'SCRAM-SHA-256=[name=app,password=right]' --add-scram 'SCRAM-SHA-512=[name=app,password=right]' \
  --initial-controllers "1@127.0.0.1:$((port + 1)):$(random_id)" > "$run/format.log" 2>&1 ||
  { cat "$run/format.log" >&2; exit 1; }
java "-Xmx${KAFKA_HEAP:-512m}" "${jvm[@]}" -cp "$libs/*" kafka.Kafka "$run/server.properties" > "$build/broker.log" 2>&1 < /dev/null &
pid=$!

for i in $(seq 600); do
  grep -q 'Kafka Server started' "$build/broker.log" && break
  if ! kill -0 "$pid" 2> /dev/null || [ "$i" = 600 ]; then
    tail -20 "$build/broker.log" >&2
    echo "with-kafka.sh: the broker did not start; see $build/broker.log" >&2
    exit 1
  fi
  sleep 0.1
done

# In the background, so that a signal to this script ends both at once.
FORAGER_KAFKA=127.0.0.1:$port FORAGER_KAFKA_SECURE=127.0.0.1:$((port + 2)) FORAGER_KAFKA_CA=$run/ca.pem "$@" <&0 &
command=$!
code=0
wait "$command" || code=$?
command=
exit "$code"
