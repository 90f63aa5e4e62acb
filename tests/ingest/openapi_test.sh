#!/usr/bin/env bash
# Holds the examples of schemas/openapi.yaml to its schemas, and the running endpoint to all of it with
# schemathesis: openapi_test.sh <ingest_serve>
# Exit code 77 (skipped) where schemathesis cannot be had.
set -euo pipefail
server="$1"
here="$(cd "$(dirname "$0")" && pwd)"
readonly VERSION=4.32.5
venv="$(dirname "$server")/schemathesis-$VERSION"
tool="$venv/bin/st"

if [[ ! -x "$tool" ]]; then
    echo "==> installing schemathesis $VERSION" >&2
    rm -rf "$venv"
    { python3 -m venv "$venv" && "$venv/bin/pip" install -q "schemathesis==$VERSION"; } >&2 || exit 77
fi

schema="$here/../../schemas/openapi.yaml"
"$venv/bin/python" "$here/openapi_examples.py" "$schema"

work="$(mktemp -d)"
mkfifo "$work/stop"
"$server" <"$work/stop" >"$work/server" &
pid=$!
exec 3>"$work/stop"
trap 'exec 3>&-; wait "$pid" || true; rm -rf "$work"' EXIT
for _ in $(seq 200); do
    grep -q origin "$work/server" && break
    sleep 0.1
done
origin="$(sed -E 's/.*"origin":"([^"]*)".*/\1/' "$work/server")"

# What a schema cannot make up: a subscribed endpoint, and a registration with its secret. Each
# operation sees them in some of its cases.
path="$(sed -E 's/.*"path":"([^"]*)".*/\1/' "$work/server")"
registration="$(curl -fsS -H 'Content-Type: application/json' -d '{"token":"0123456789"}' \
    "$origin/v1/fcm/my-app/registration")"
field() { sed -E "s/.*\"$1\":\"([^\"]*)\".*/\1/" <<<"$registration"; }
cat >"$work/schemathesis.toml" <<END
[parameters]
"path.token" = "${path#/wpush/}"
"path.uaid" = "$(field uaid)"
"path.app_id" = "my-app"

[[operations]]
include-path-regex = "registration/"
headers = { Authorization = "Bearer $(field secret)" }
END

# Left out: whether a token, a secret or an application id is good is more than a schema can say, so
# "valid data is accepted" and "invalid data is refused" do not hold by the schema alone.
cd "$work"
"$tool" run "$schema" --url "$origin" --no-color --seed 1 \
    --phases examples,coverage,fuzzing --max-examples "${EXAMPLES:-25}" \
    --exclude-checks positive_data_acceptance,negative_data_rejection,missing_required_header
