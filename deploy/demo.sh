#!/usr/bin/env bash
# Starts a real YARN on this machine, tunes a real Spark job on it, and takes everything down again.
set -euo pipefail
cd "$(dirname "$0")/.."
yarntune="$PWD/.venv/bin/yarntune"
home="$(mktemp -d "${TMPDIR:-/tmp}/yarntune-demo.XXXXXX")"
export YARNTUNE_STATE_DIR="$home/state" YARNTUNE_DATA_DIR="$home/data"
# A cluster or a store of one's own is not to be touched by a demonstration.
unset YARNTUNE_RM_URL YARNTUNE_DATABASE_URL HADOOP_CONF_DIR YARN_CONF_DIR SPARK_CONF_DIR

finish() {
  status=$?
  trap - EXIT
  "$yarntune" cluster down --name demo || status=1
  rm -rf "$home"
  exit "$status"
}
trap finish EXIT
trap 'exit 130' INT TERM

"$yarntune" cluster up --name demo --nodes 2 --node-memory 4g --node-vcores 4
"$yarntune" tune --trials "${TRIALS:-7}" --final-runs 2 workloads/programs/sql_join.py --size "${SIZE:-small}"
