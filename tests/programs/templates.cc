// Template instances share their lines, and are counted apart and together.
#include <cstdio>
#include <string>
#include <vector>

template <typename T> T largest(const std::vector<T> &items) { T best = items[0]; for (const T &item : items) if (best < item) best = item; return best; }

template <typename T, int N> struct ring
{
  T slots[N] = {};
  int next = 0;
  void push(T value)
  {
    slots[next] = value;
    next = next + 1 == N ? 0 : next + 1;
  }
  T sum() const
  {
    T total{};
    for (const T &slot : slots)
      total += slot;
    return total;
  }
};

struct shape
{
  virtual ~shape() {}
  virtual double area() const = 0;
};
struct square : shape
{
  double side;
  explicit square(double s) : side(s) {}
  double area() const override { return side * side; }
};
struct circle : shape
{
  double radius;
  explicit circle(double r) : radius(r) {}
  double area() const override { return radius * radius * 3; }
};

int main()
{
  ring<int, 3> numbers;
  ring<double, 4> fractions;
  ring<std::string, 2> words;
  for (int i = 0; i < 7; i++)
    {
      numbers.push(i);
      if (i % 2)
        fractions.push(i / 2.0);
    }
  words.push("he");
  words.push("arth");
  auto grown = [&](int by) { return numbers.sum() + by; };
  const shape *shapes[] = { new square(2), new circle(1) };
  double area = 0;
  for (const shape *s : shapes)
    area += s->area();
  for (const shape *s : shapes)
    delete s;
  std::printf("%d %g %s %d %g\n", grown(4), fractions.sum(), words.sum().c_str(),
              largest(std::vector<int>{ 3, 9, 4 }), area + largest(std::vector<double>{ 1, 2 }));
}
