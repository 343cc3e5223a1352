#!/bin/sh
# Installs Quayside as systemd services from this checkout, or replaces the version that is installed. Without --apply it
# only prints what it would do. It starts nothing, downloads nothing, and touches no data.
#
#   npm ci && deploy/install.sh             show every step
#   sudo deploy/install.sh --apply          do it
#   deploy/install.sh --apply --root DIR    the files only, below DIR: no users, no systemd (to look at them, or for a package)
#
# Exit codes: 0 done or shown, 1 a step failed, 2 wrong usage or something is missing.
set -eu

root=''
apply=no
while [ $# -gt 0 ]; do
  case $1 in
    --apply) apply=yes ;;
    --root)
      [ $# -ge 2 ] || { echo 'install.sh: --root needs a folder' >&2; exit 2; }
      root=${2%/}
      shift
      ;;
    *) echo "install.sh: unexpected argument \"$1\"; the head of this file has the usage" >&2; exit 2 ;;
  esac
  shift
done

here=$(cd "$(dirname "$0")/.." && pwd)
app=$root/opt/quayside
etc=$root/etc/quayside
units=$root/etc/systemd/system

refuse() { echo "install.sh: $1" >&2; exit 2; }
# Prints a step, and does it with --apply.
run() {
  echo "+ $*"
  [ "$apply" = no ] || "$@"
}
# The same for what changes users and services, which a folder has not.
system() {
  if [ -n "$root" ]; then echo "- not below --root: $*"; else run "$@"; fi
}

[ -f "$here/dist/src/main.js" ] || refuse "there is no build in $here: run \`npm ci\` there first"
# After an upgrade whose `npm ci` failed, the build is still the old one.
node "$here/scripts/build.mjs" --check || refuse "the build in $here is of other sources: run \`npm ci\` there first"
[ -d "$here/node_modules" ] || refuse "no packages are installed in $here: run \`npm ci\` there first"
if [ -z "$root" ]; then
  [ -x /usr/bin/node ] || refuse 'there is no /usr/bin/node, which the units run: install Node 24'
  major=$(/usr/bin/node -p 'process.versions.node.split(".")[0]')
  [ "$major" -ge 22 ] || refuse "/usr/bin/node, which the units run, is Node $major: install Node 24"
  [ "$apply" = no ] || [ "$(id -u)" = 0 ] || refuse 'only root can install services: use sudo'
  # A running program loads parts of itself later, which must be of its own version.
  ! systemctl is-active --quiet quayside quayside-signer 2>/dev/null || [ "$apply" = no ] ||
    refuse 'Quayside is running: stop it first (systemctl stop quayside quayside-signer)'
fi

# Two users: what reads the network cannot read the keys. The signer's group reaches its socket only.
getent group quayside >/dev/null || system groupadd --system quayside
for user in quayside quayside-signer; do
  getent passwd "$user" >/dev/null ||
    system useradd --system --gid quayside --no-create-home --shell /usr/sbin/nologin "$user"
done

# The program, beside the old one, and without packages that only a build needs. Nobody but root can change it.
run rm -rf "$app.new"
run mkdir -p "$app.new/scripts" "$app.new/docs"
for part in dist node_modules config package.json package-lock.json CHANGELOG.md SECURITY.md LICENSE; do
  run cp -R "$here/$part" "$app.new/"
done
run cp "$here/scripts/quayside.mjs" "$here/scripts/quayside-signer.mjs" "$here/scripts/build.mjs" "$app.new/scripts/"
run cp "$here/docs/operate.md" "$app.new/docs/"
# Optional packages are the Node that `npm ci` brings for trying: the units run /usr/bin/node, which you keep up to date.
# Without the options, npm asks its registry for an audit, and waits minutes where that cannot be reached.
run npm prune --offline --no-audit --omit=dev --omit=optional --ignore-scripts --prefix "$app.new"
system chown -R root:root "$app.new"
run chmod -R u=rwX,go=rX "$app.new"
run rm -rf "$app.previous"
[ ! -d "$app" ] || run mv "$app" "$app.previous"
run mv "$app.new" "$app"
run mkdir -p "$root/usr/local/bin"
for tool in quayside quayside-signer; do
  run ln -sfn "/opt/quayside/scripts/$tool.mjs" "$root/usr/local/bin/$tool"
done

# Settings: the group may read them, because they can hold a node's password. Yours are never replaced.
run mkdir -p "$etc/credentials" "$units"
run chmod 0700 "$etc/credentials"
if [ ! -e "$etc/quayside.json" ]; then
  run cp "$here/deploy/quayside.json.example" "$etc/quayside.json"
  run chmod 0640 "$etc/quayside.json"
  system chown root:quayside "$etc/quayside.json"
fi

for unit in quayside quayside-signer; do
  run cp "$here/deploy/systemd/$unit.service" "$units/"
  run chmod 0644 "$units/$unit.service"
done
system systemctl daemon-reload

[ "$apply" = yes ] || echo 'nothing was changed: run this again with --apply'
cat <<END
Left to you:
  1. describe your nodes in $etc/quayside.json
  2. systemctl enable --now quayside   (after an upgrade: systemctl start quayside quayside-signer), then
     sudo -u quayside -- env QUAYSIDE_CONFIG=/etc/quayside/quayside.json QUAYSIDE_DATA_DIR=/var/lib/quayside quayside doctor
  3. for money out, docs/operate.md says how the signer is set up
END
