/* A load that must not happen for numbers that are not negative: GCC 11.3 does it always at -O1 (bug 106032). */
static int read_if_negative(int number, const int *place) __attribute__((noipa));

static int read_if_negative(int number, const int *place)
{
  int found = 0;
  if (number < 0)
    found = *place;
  return found;
}

int main(void)
{
  int there = 7;
  return read_if_negative(-1, &there) == 7 && read_if_negative(5, (const int *) 0) == 0 ? 0 : 1;
}
