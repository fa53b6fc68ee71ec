-- Reads its arguments, standard input and a file; writes, seeks and renames files.
for line in io.lines() do io.write("<", line, ">") end
local out = assert(io.open("made.txt", "w+"))
for i = 1, 500 do out:write(i, " ", i * i, "\n") end
out:seek("set", 0)
local total = 0
for a, b in (function() return out:read("n", "n") end) do total = total + a - b end
out:close()
print(total, arg[1], #arg)
local back = assert(io.open("made.txt", "rb"))
print(#back:read("a"), back:read("l"), back:seek("end"))
back:close()
print(io.open("missing.txt"))
assert(os.rename("made.txt", "renamed.txt"))
print(io.type(io.stdout), os.getenv("PATH") ~= nil, os.remove("missing.txt"))
