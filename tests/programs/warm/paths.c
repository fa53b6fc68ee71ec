/* Asks where its input and its output are, as compilers do; in a warm run both are in memory. What is allocated on the
   way must be alike, too: addresses decide the order of hash tables. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void tell(const char *when, const char *path)
{
  char place[4096];
  char *found = realpath(path, NULL);
  char *same = realpath(path, place);
  printf("%s: %s, %s, next %p\n", when, found ? found : "none", same ? same : "none", malloc(24));
  free(found);
}

int main(int argc, char **argv)
{
  const char *input = argv[argc - 3], *output = argv[argc - 1];
  int character, sum = 0;
  FILE *file = fopen(input, "r");
  while ((character = getc(file)) != EOF) sum += character;
  fclose(file);
  tell("the input", input);
  tell("the input, by a longer way", "./input.c");
  tell("no output yet", output);
  file = fopen(output, "w");
  fprintf(file, "%d\n", sum);
  fclose(file);
  tell("the output", output);
  remove(output);
  tell("the output, removed", output);
  file = fopen(output, "w");
  fprintf(file, "%d again\n", sum);
  fclose(file);
  tell("the output, written again", output);
  return 0;
}
