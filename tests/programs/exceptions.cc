// Throws, handlers, and code that only an exception leads to.
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>

struct guard
{
  int &count;
  explicit guard(int &c) : count(c) { ++count; }
  ~guard() { --count; }
};

static int parse(const std::string &text, int &open)
{
  guard held(open);
  if (text.empty())
    throw std::invalid_argument("empty");
  return std::stoi(text);
}

static int sum(std::initializer_list<const char *> texts)
{
  int open = 0, total = 0;
  for (const char *text : texts)
    try
      {
        total += parse(text, open);
      }
    catch (const std::out_of_range &)
      {
        total += 1000;
      }
    catch (const std::logic_error &error)
      {
        std::puts(error.what());
        if (open != 0)
          throw;
      }
  return total;
}

int main()
{
  auto kept = std::make_unique<std::string>("17");
  try
    {
      std::printf("%d\n", sum({ "1", "22", "x", "", kept->c_str() }));
      throw 5;
    }
  catch (int code)
    {
      return code == 5 ? 0 : 1;
    }
  catch (...)
    {
      return 2;
    }
}
