# Sourced: divides the available CPUs between server ($server_cpus, $half of them) and generator
# ($client_cpus), because a generator that shares the server's CPUs measures itself.
mapfile -t cpus < <(taskset -pc $$ | sed 's/.*: //' | tr ',' '\n' | awk -F- '{
  for (cpu = $1; cpu <= (NF > 1 ? $2 : $1); cpu++) print cpu }')
half=$(((${#cpus[@]} + 1) / 2))
server_cpus=$(IFS=,; echo "${cpus[*]:0:half}")
client_cpus=$(IFS=,; echo "${cpus[*]:half}")
if [ -z "$client_cpus" ]; then
  echo "demo: this host has one CPU; server and generator share it, and the verdict will say so"
  client_cpus=$server_cpus
fi
