#!/bin/sh
# A study as a SLURM job array: twenty jobs that share nothing but the output folder, and one that merges.
#
#   sbatch --parsable slurm_array.sh digits laptop /shared/digits          prints the number of the array, say 4711
#   sbatch --dependency=afterany:4711 --wrap "separatrix run digits --scale laptop --out /shared/digits"
#
# A job that is killed loses the chunk it was at: submit the array again, or let the merging run compute the rest.
#SBATCH --job-name=separatrix
#SBATCH --array=1-20
#SBATCH --cpus-per-task=4
#SBATCH --mem=8G
#SBATCH --time=02:00:00

set -eu
exec separatrix run "$1" --scale "$2" --out "$3" --workers "${SLURM_CPUS_PER_TASK:-4}" \
  --shard "${SLURM_ARRAY_TASK_ID:-1}/${SLURM_ARRAY_TASK_COUNT:-20}" --quiet
