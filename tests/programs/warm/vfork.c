/* Makes processes that share its memory: what they count is counted by the program, which waits for them. One is not taken
   note of when it has ended, and one makes another. */
#define _GNU_SOURCE
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static int sum;

static void work(int rounds)
{
  for (int i = 0; i < rounds; i++)
    sum += i % 3 ? i : -i;
}

static int deeper(int number)
{
  if (vfork() == 0) {
    work(2 * number);
    _exit(3);
  }
  return number;
}

int main(int argc, char **argv)
{
  int status = 0, ended = 0;
  FILE *file = fopen(argv[argc - 3], "r");
  work(5 + getc(file) % 7);
  fclose(file);
  for (int number = 1; number < 5; number++) {
    int child = vfork();
    if (child == 0) {
      work(10 * number);
      if (number == 3)
        deeper(number);
      _exit(number);
    }
    if (number != 4 && waitpid(child, &status, 0) == child)
      ended += WEXITSTATUS(status);
    work(number);
  }
  printf("%d ended, %d\n", ended, sum);
  file = fopen(argv[argc - 1], "w");
  fprintf(file, "%d\n", sum);
  return fclose(file);
}
