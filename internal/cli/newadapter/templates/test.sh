set -e
cd "$(dirname "$0")"
BUILDdrawbar conform --command ./drawbar-adapter-NAME "$@"
