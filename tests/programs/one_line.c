/* Several functions on one line are counted apart. */
#include <stdio.h>

int twice(int x) { return 2 * x; } int half(int x) { return x > 0 ? x / 2 : 0; } int never(int x) { return x; }

#define PAIR(n) static int first_##n(int x) { if (x > n) return x - n; return 0; } static int second_##n(int x) { while (x > n) x -= n; return x; }
PAIR(3)
PAIR(5)

int main(void)
{
  int sum = 0;
  for (int i = 0; i < 10; i++) { sum += twice(i); sum -= half(sum); }
  sum += first_3(9) + second_3(10) + first_5(2);
  if (sum < 0) sum = never(sum) + second_5(sum);
  printf("%d\n", sum);
  return 0;
}
