# Everything of the shell that is not another program: expansions, loops, functions, subshells, pipes, here documents.
set -u
count=0
while [ $count -lt 20 ]; do count=$((count + 1)); case $count in *5) continue ;; 1[0-2]) printf '%s ' "$count" ;; esac; done
echo
text=/some/long/path.tar.gz
echo "${text##*/} ${text%.*} ${text%%.*} ${#text} ${missing:-default} ${text:+set}"
square() { local n=$1; echo $((n * n)); return $((n % 3)); }
for n in 3 4 5; do square $n && echo "zero" || echo "status $?"; done
echo "$(square 12) `square 11` $((0x1f << 2 | 1)) $((7 > 3 ? 10 : 20))"
(cd / && pwd; exit 4) ; echo "left with $?"
{ echo one; echo two; echo three; } | while read -r line; do echo "got $line"; done
printf '%s\n' b a c | { read -r first; read -r second; echo "$second$first"; }
read -r a b <<HERE
left $((1 + 1)) right
HERE
echo "$a|$b"
set -- x "y z" w; shift; echo "$# $* $1"; for each; do printf '[%s]' "$each"; done; echo
trap 'echo leaving' EXIT
trap 'echo caught' USR1; trap - USR1; kill -l 10
eval 'echo evaluated; value=7'; echo $value; alias greet='echo hello'; unalias greet
if test -d / -a ! -e /nowhere || [ a = b ]; then type test; command -v echo; fi
sub=$( (echo nested; (echo deeper) ) ); echo "$sub"
false | true; echo $?; ! true; echo $?
(sleep() { :; }; sleep) & wait; echo "waited $?"
umask 022; umask; getopts ab: option -b value && echo "$option $OPTARG"
unset value; ( : ${value:?is missing} ) 2>/dev/null; echo "status $?"
exit 5
