# Sourced by every start script: PORT, DIR and the settings are in the environment.
#
# In: need PATH_OR_COMMAND..., what the server needs to start.
# Out: cache, where the family's `install` puts what is not a Debian package; here, the folder of
# the script.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
cache=$here/../../../.cache/$(basename "$(dirname "$here")")
cd "$DIR"
export TMPDIR=$DIR HOME=$DIR

need() {
  for thing; do
    command -v "$thing" >/dev/null || [ -e "$thing" ] || exit 69
  done
}
