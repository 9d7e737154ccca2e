# Submits the script "$1" of this folder, once whatever happens. Prints what the scheduler's program would print.
# Exit 75: nobody can tell yet whether it was submitted; try again. Other statuses are those of the submission itself.
exec 9>>.tenure-submission || exit 75
flock --wait 60 9 || exit 75
if known=$(grep --max-count=1 . .tenure-submission); then
    echo "$known"
    exit 0
fi
