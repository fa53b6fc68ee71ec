/* Loops that stay on one line, that share a line, and that are left early. */
#include <stdio.h>

static int collatz(unsigned n) { int steps = 0; while (n != 1) { n = n % 2 ? 3 * n + 1 : n / 2; steps++; } return steps; }

static int nested(int rows, int columns)
{
  int sum = 0;
  for (int i = 0; i < rows; i++) for (int j = 0; j < columns; j++) for (int k = j; k--;) sum += i ^ j ^ k;
  do sum--; while (sum > 100);
  for (int i = 0;; i++)
    {
      if (i == 7)
        continue;
      if (i > 20)
        break;
      sum += i;
    }
  return sum;
}

static int spaghetti(int n)
{
  int x = 0;
again: x += n; if (n-- > 0) goto again; else if (x > 1000) goto done;
  x *= 2;
done:
  return x;
}

int main(void)
{
  int total = 0;
  for (unsigned n = 1; n < 30; n++)
    total += collatz(n);
  printf("%d %d %d\n", total, nested(5, 6), spaghetti(9));
  return 0;
}
