# Executes other programs, instrumented ones (itself among them) and others, one after another and in pipes. None is
# killed: gcov would lose what it counted, which Hearth does not.
PATH=/usr/bin:/bin
dash=$1 bzip2=$2 lua=$3
"$dash" -c 'echo inner $((6 * 7)); exit 3'; echo "status $?"
printf 'some text %s\n' 1 2 3 4 5 6 7 8 9 > text
"$bzip2" -k text && "$bzip2" -dc text.bz2 | while read -r line; do echo "back: $line"; done
"$bzip2" -c < text | "$bzip2" -d | cat
"$lua" -e 'for i = 1, 3 do print(i * i) end' | "$dash" -c 'while read -r n; do echo "square $n"; done'
output=$("$lua" -e 'io.write(("x"):rep(10))'); echo "${#output}"
"$bzip2" -t missing.bz2; echo "status $?"
/bin/true && /bin/false || echo "not true"
nothing-like-this 2> /dev/null; echo "status $?"
"$lua" -e 'os.execute("true"); os.exit(4)' & wait; echo "waited"
exec "$dash" -c 'echo last'
