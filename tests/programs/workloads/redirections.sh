# Files that are written, appended and read again, by the shell and by processes that it makes of itself.
echo first > list; echo second >> list
(echo from a subshell; echo and an error >&2) >> list 2> errors
while read -r line; do echo "read: $line"; done < list
echo "again" | { read -r word; echo "$word $word"; } > doubled
exec 3< doubled; read -r from <&3; exec 3<&-; echo "$from"
read -r error < errors; echo "error was: $error"
# One match only: in which order a directory lists its files, and how they are sorted then, is the file system's business.
for file in doub*; do echo "there is $file"; done
[ -s list ] && echo "not empty"; [ -f nothing ] || echo "nothing is not there"
set -C; echo over > list || echo "kept"; set +C; : > list; [ -s list ] || echo "empty now"
