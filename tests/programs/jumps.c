/* Non-local jumps, early exits and calls through pointers. */
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

static jmp_buf back;
static int depth;

static void dive(int level)
{
  depth++;
  if (level == 0)
    longjmp(back, depth);
  dive(level - 1);
}

static int add(int a, int b) { return a + b; }
static int mul(int a, int b) { return a * b; }

static void farewell(void)
{
  printf("depth %d\n", depth);
}

int main(void)
{
  int (*operations[])(int, int) = { add, mul, add };
  volatile int tries = 0;
  int code = setjmp(back);
  tries++;
  if (tries < 4)
    dive(tries);
  atexit(farewell);
  int value = 1;
  for (int i = 0; i < 9; i++)
    value = operations[i % 3](value, i + 1);
  if (code && value)
    exit(0);
  return 1;
}
