/* Line numbers too large to index a table by, and code of other files in the middle of a function. */
#include <stdio.h>

static int near(int x)
{
  int y = x;
# 1 "generated/table.inc"
  y += 2;
# 3000000 "generated/table.inc"
  y += 1; y *= 3;
  if (y > 10)
    y -= 5;
# 3 "./generated/../generated/other.inc"
  for (int i = 0; i < x; i++)
    y += i;
# 17 "far_lines.c"
  return y;
}

int main(void)
{
  printf("%d\n", near(1) + near(4));
  return 0;
}
