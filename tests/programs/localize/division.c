/* Divides by powers of two, which a compiler makes shifts of. Compiled right it prints 3756 19. */
int printf(const char *, ...);

static unsigned start = 0xeac00000;
static int weights[4] = {1, 2, 3, 5};

static unsigned mix(unsigned value)
{
  unsigned total = 0;
  int i;
  for (i = 0; i < 4; i++)
    total += (value >> i) % 64 * weights[i];
  return total;
}

int main(void)
{
  unsigned quotient = start / 1048576;
  unsigned rest = mix(quotient) % 101;
  printf("%u %u\n", quotient, rest);
  return 0;
}
