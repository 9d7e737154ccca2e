# Slurm knows an execution by its key, which stands in the name and in the comment; other jobs by their folder.
clean=()
if [ -e .tenure-key ]; then
    key=$(cat .tenure-key)
    set -- "$1" --job-name="$key"
    # An execution gets its own environment, and of the daemon's what follows. Slurm's --export would do a login for each job.
    clean=(env --ignore-environment)
    for name in PATH HOME USER LOGNAME SHELL LANG TMPDIR TZ SLURM_CONF SLURM_CONF_SERVER SLURM_JWT; do
        if [ -n "${!name+set}" ]; then clean+=("$name=${!name}"); fi
    done
else
    key=$PWD
fi
export key LC_ALL=C
# Variables that are options in disguise.
unset ${!SBATCH_*} ${!SQUEUE_*} ${!SACCT_*}
for name in ${!SLURM_*}; do
    case $name in SLURM_CONF | SLURM_CONF_SERVER | SLURM_JWT) ;; *) unset "$name" ;; esac
done

# A submission that Slurm refused leaves a record, without a node, of a job that never was.
look() {
    local queue
    queue=$(squeue --noheader --all --states=all --user="$(id -u)" --format='%i|%T|%N|%k') || exit 75
    found=$(printf '%s\n' "$queue" | awk -F'|' '
        substr($0, length($1 $2 $3) + 4) == ENVIRON["key"] && !($2 == "FAILED" && $3 == "") { print $1; exit }')
}
look
if [ -z "$found" ] && [ -e .tenure-key ]; then
    if kept=$(sacct --noheader --parsable2 --allocations --name="$key" --starttime=now-31days --format=JobIDRaw 2>&1); then
        found=$(printf '%s\n' "$kept" | head --lines=1)
    elif ! printf '%s' "$kept" | grep --quiet --ignore-case 'storage is disabled\|command not found'; then
        printf '%s\n' "$kept" >&2
        exit 75
    fi
fi
if [ -z "$found" ]; then
    script=$1
    shift
    said=$("${clean[@]}" sbatch --parsable --comment="$key" "$@" "$script" 9>&-)
    status=$?
    # A site's plugin may have spoken, too.
    found=$(printf '%s\n' "$said" | sed --quiet --regexp-extended 's/^([0-9]+)(;.*)?$/\1/p' | head --lines=1)
    if [ -z "$found" ]; then
        look # whatever was said, the controller may have taken the job before
        if [ -z "$found" ]; then
            printf '%s\n' "$said"
            exit "$((status ? status : 75))"
        fi
    fi
fi
echo "Submitted batch job $found" | tee -a .tenure-submission
