#!/usr/bin/env bash
# Downloads the archives of a node's database, verifies their checksums, and unpacks all of them into one new folder.
#
#   fetch.sh FOLDER md5|sha256 [--strip N] URL SUM [URL SUM]...
#
# Run it again after an interruption: finished downloads are kept beside the folder, and an unfinished one is resumed.
# The folder gets its name only after everything was verified and unpacked. The disk needs room for the archives and for
# what they hold. Needs curl, tar, and gzip, zstd or lz4. Exit codes: 0 done, 1 failed, 2 wrong usage.
set -euo pipefail

# An unpacked database takes up to 1.4 times its archive. 5 GiB stay free.
unpacked_percent=140
spare_bytes=5368709120
tries_max=${FETCH_TRIES:-10}
pause_s=${FETCH_PAUSE_S:-10}

fail() { echo "fetch.sh: $1" >&2; exit "${2:-1}"; }
usage() { fail "$1; the head of this file has the usage" 2; }
bytes_of() { if [ -e "$1" ]; then stat -c %s "$1"; else echo 0; fi; }

[ $# -ge 4 ] || usage 'too few arguments'
folder=${1%/} algorithm=$2
shift 2
case $algorithm in md5 | sha256) ;; *) usage "\"$algorithm\" is not md5 or sha256" ;; esac
strip=0
if [ "$1" = --strip ]; then strip=$2; shift 2; fi
if [ $# -lt 2 ] || [ $(($# % 2)) = 1 ]; then usage 'each URL needs its checksum'; fi
[ ! -e "$folder" ] || fail "$folder exists: stop the node, move the folder away, and run this again"
mkdir -p "$(dirname "$folder")"

# What the server has now: the size, and what changes when the file is replaced.
head_of() {
  curl --fail --silent --show-error --location --head --max-time 60 "$1" | tr -d '\r' |
    awk 'tolower($1) ~ /^(content-length|etag|last-modified):$/ { field[tolower($1)] = $0 }
      END { for (name in field) print field[name] }' | sort
}
size_in() { awk 'tolower($1) == "content-length:" { print $2 }' "$1"; }

archives=() need=$spare_bytes
arguments=("$@")
for ((at = 0; at < $#; at += 2)); do
  url=${arguments[at]}
  case $url in
    *.tar | *.tar.gz | *.tgz | *.tar.zst | *.tar.lz4) ;;
    *) usage "$url is no .tar, .tar.gz, .tgz, .tar.zst or .tar.lz4" ;;
  esac
  archive=$folder.$(basename "$url")
  head_of "$url" > "$archive.now" || fail "$url is not there: look for a newer one"
  size=$(size_in "$archive.now")
  [ -n "$size" ] || fail "the server does not say how large $url is"
  # A download that began on a file that was replaced since starts again.
  cmp -s "$archive.now" "$archive.head" || rm -f "$archive"
  mv "$archive.now" "$archive.head"
  need=$((need + size - $(bytes_of "$archive") + size * unpacked_percent / 100))
  archives+=("$archive")
done
free=$(df --output=avail -B1 "$(dirname "$folder")" | tail -1)
[ "$free" -ge "$need" ] || fail "$((need >> 30)) GiB are needed beside $folder, and $((free >> 30)) GiB are free"

for ((at = 0; at < $#; at += 2)); do
  url=${arguments[at]} sum=${arguments[at + 1]} archive=${archives[at / 2]}
  size=$(size_in "$archive.head")
  tries=0
  while [ "$(bytes_of "$archive")" -lt "$size" ]; do
    before=$(bytes_of "$archive")
    echo "downloading $url" >&2
    code=0
    curl --fail --location --progress-bar --speed-limit 1 --speed-time 120 --continue-at - \
      --output "$archive" "$url" || code=$?
    # The server cannot resume.
    [ "$code" != 33 ] || rm -f "$archive"
    if [ "$(bytes_of "$archive")" -gt "$before" ]; then tries=0; else tries=$((tries + 1)); fi
    [ "$tries" -lt "$tries_max" ] || fail "$url cannot be downloaded: run this again later, and it resumes"
    [ "$(bytes_of "$archive")" -ge "$size" ] || sleep "$pause_s"
  done
  echo "verifying $archive" >&2
  if ! echo "$sum  $archive" | "${algorithm}sum" --check --status -; then
    rm -f "$archive"
    fail "$url has another checksum than $sum: the download was deleted; run this again, or use another source"
  fi
done

unpacking=$folder.unpacking
rm -rf "$unpacking"
mkdir "$unpacking"
for archive in "${archives[@]}"; do
  case $archive in
    *.tar) program=(cat) ;;
    *.zst) program=(zstd -dc --long=31) ;;
    *.lz4) program=(lz4 -dc) ;;
    *) program=(gzip -dc) ;;
  esac
  echo "unpacking $archive" >&2
  "${program[@]}" < "$archive" |
    tar --extract --directory "$unpacking" --strip-components "$strip" --no-same-owner --no-same-permissions \
      --checkpoint=200000 --checkpoint-action=echo='%{r}T'
done
# A database is files and folders. A link could lead out of the folder.
[ -z "$(find "$unpacking" ! -type f ! -type d -print -quit)" ] ||
  fail "an archive holds links or devices: $unpacking is left for you to look at"
[ -n "$(find "$unpacking" -type f -print -quit)" ] || fail "nothing was left to unpack: is --strip $strip right?"
sync -f "$unpacking"
mv "$unpacking" "$folder"
for archive in "${archives[@]}"; do rm -f "$archive" "$archive.head"; done
echo "$folder is complete" >&2
