#!/bin/sh
# Refuses a litestream whose own SQLite may corrupt a database that other processes write: before 3.51.3 (2026-03-13),
# a checkpoint could reset the WAL under a writer (sqlite.org/wal.html, "WAL-reset bug"). litestream 0.5.17 has a later one.
#
#   check-litestream.sh /usr/local/bin/litestream
set -eu

[ $# -eq 1 ] && [ -r "$1" ] || { echo 'usage: check-litestream.sh PROGRAM' >&2; exit 2; }
fixed=2026-03-13
# SQLite names its source by time and hash. The newest one is that of the library.
newest=$(LC_ALL=C grep -aoE '20[0-9]{2}-[0-9]{2}-[0-9]{2} [0-9:]{8} [0-9a-f]{64}' "$1" | cut -c1-10 | sort | tail -n 1)
[ -n "$newest" ] || { echo "$1 does not say which SQLite it has: install litestream 0.5.17 or later" >&2; exit 1; }
if [ "$(printf '%s\n' "$fixed" "$newest" | sort | head -n 1)" != "$fixed" ]; then
  echo "$1 has an SQLite of $newest, which may corrupt the database: install litestream 0.5.17 or later" >&2
  exit 1
fi
