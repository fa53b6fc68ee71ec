-- Closures, metatables, coroutines, strings, integers and floats, errors, goto, garbage.
local function fib(n) if n < 2 then return n end return fib(n - 1) + fib(n - 2) end
print(fib(17), 7 // 2, -7 // 2, 7 % -3, 7.5 // 2, 1 << 62, ~0 >> 1, 3 | 4 ~ 1, 2 ^ 0.5, "10" + 5, 1e308 * 10)

local Account = {}
Account.__index = Account
Account.__add = function(a, b) return Account.new(a.balance + b.balance) end
Account.__lt = function(a, b) return a.balance < b.balance end
Account.__tostring = function(a) return "account of " .. a.balance end
Account.__close = function(a) print("closed", a) end
function Account.new(balance) return setmetatable({ balance = balance }, Account) end
local sum = Account.new(3) + Account.new(4)
do local used <close> = sum; print(used, Account.new(1) < used) end

local function permutations(list, n)
  n = n or #list
  if n <= 1 then coroutine.yield(table.concat(list, " ")) end
  for i = 1, n do
    list[n], list[i] = list[i], list[n]
    permutations(list, n - 1)
    list[n], list[i] = list[i], list[n]
  end
end
for text in coroutine.wrap(function() permutations({ "a", "b", "c", "d" }) end) do io.write(text, ";") end
print()

local words = {}
for word in ("the quick brown fox jumps over the lazy dog the end"):gmatch("%a+") do words[word] = (words[word] or 0) + 1 end
local sorted = {}
for word in pairs(words) do sorted[#sorted + 1] = word end
table.sort(sorted, function(a, b) return words[a] > words[b] or words[a] == words[b] and a < b end)
for i, word in ipairs(sorted) do io.write(i, "=", word, ":", words[word], " ") end
print(("x"):rep(5, "-"), ("%5.2f|%-6s|%x|%q"):format(3.14159, "ab", 255, "a\nb"), ("hello"):gsub("l+", string.upper))
print(string.pack("<i4z", 77, "zero"):byte(1, -1))
print(utf8.char(228, 8364, 128512), utf8.len("äöü"), #"äöü")

print(pcall(error, { code = 7 }), select("#", pcall(error)), pcall(function() local x = nil; return x.y end))
print(xpcall(function() error("deep", 2) end, function(message) return "handled " .. tostring(message) end))
print(load("return 1 +")) ; print(load("local a <const> = 1; a = 2"))
for i = 1, 3 do for j = 1, 3 do if j == 2 then goto continue end io.write(i, j, " ") ::continue:: end end
print()
local weak = setmetatable({}, { __mode = "v" })
for i = 1, 2000 do weak[i] = { i, tostring(i) } end
collectgarbage() ; collectgarbage("generational") ; collectgarbage("incremental")
print(#table.pack(table.unpack({ 1, 2, 3 }, 1, 3)), math.type(1), math.type(1.0), math.tointeger(3.0), math.max(3, 9, 2))
os.exit(3, true)
