/* Switches, chained conditions, and code that never runs. */
#include <stdio.h>
#include <stdlib.h>

enum color { RED, GREEN, BLUE, NONE };

static const char *name(enum color c)
{
  switch (c)
    {
    case RED: return "red";
    case GREEN:
    case BLUE:
      return c == GREEN ? "green" : "blue";
    default:
      break;
    }
  return "none";
}

static int grade(int points)
{
  if (points < 0 || points > 100)
    abort();
  return points > 90 ? 1 : points > 75 ? 2 : points > 50 ? 3 : points ? 4 : 5;
}

static int unused(int x)
{
  return x ? unused(x - 1) : 0;
}

int main(int argc, char **argv)
{
  int counts[6] = {0};
  for (int p = 0; p <= 100; p += 3)
    counts[grade(p)]++;
  for (int c = RED; c <= NONE; c++)
    if (c != GREEN && (c == RED || argc == 1) && !(c == NONE && argv == 0))
      puts(name(c));
  if (argc > 5 && unused(argc))
    return 1;
  return counts[1] + counts[5] > 3 ? 0 : 2;
}
