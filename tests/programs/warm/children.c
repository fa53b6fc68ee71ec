/* Makes processes of itself, which count as the program does: some end in order, one makes another, one is left to itself.
   Waiting for all of them ends when there are none left. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static int work(int rounds)
{
  int sum = 0;
  for (int i = 0; i < rounds; i++)
    sum += i % 3 ? i : -i;
  return sum;
}

static int child(int number)
{
  if (number == 2) {
    if (fork() == 0)
      exit(work(40) & 1);
    wait(NULL);
  }
  return work(10 * number) & 7;
}

int main(int argc, char **argv)
{
  int ended = 0, status;
  FILE *file = fopen(argv[argc - 3], "r");
  work(5 + getc(file) % 7);
  fclose(file);
  for (int number = 0; number < 5; number++)
    if (fork() == 0)
      exit(child(number));
  while (wait(&status) > 0)
    ended++;
  work(3);
  printf("%d ended\n", ended);
  file = fopen(argv[argc - 1], "w");
  fprintf(file, "%d\n", ended);
  return fclose(file);
}
