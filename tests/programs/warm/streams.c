/* Reads its input and writes its output through streams that it opens anew, and asks about the files in the ways that
   newer programs do. All of it is to go as in a plain run. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void tell(const char *when, const char *path)
{
  struct statx record;
  if (statx(AT_FDCWD, path, 0, STATX_SIZE | STATX_TYPE, &record))
    fprintf(stderr, "%s: %s\n", when, strerror(errno));
  else
    fprintf(stderr, "%s: %llu bytes, kind %o\n", when, (unsigned long long)record.stx_size, record.stx_mode & S_IFMT);
}

static FILE *reopen(const char *path, const char *mode, FILE *stream)
{
  FILE *opened = freopen(path, mode, stream);
  if (!opened) fprintf(stderr, "%s, %s: %s\n", path, mode, strerror(errno));
  return opened;
}

int main(int argc, char **argv)
{
  const char *input = argv[argc - 3], *output = argv[argc - 1];
  int character, sum = 0;
  FILE *file;
  if (!reopen(input, "r", stdin)) return 1;
  while ((character = getchar()) != EOF) sum += character;
  tell("the input", input);
  tell("no output yet", output);
  if (!reopen(output, "w", stdout)) return 1;
  printf("%d\n", sum);
  if (!reopen(output, "a", stdout)) return 1;
  printf("%d again\n", sum);
  fflush(stdout);
  tell("the output", output);
  file = fopen(output, "r");
  if (!reopen(output, "r+", file)) return 1;
  fprintf(file, "!");
  fclose(file);
  remove(output);
  tell("the output, removed", output);
  file = fopen(input, "r");
  if (reopen(output, "r", file)) return 2;
  file = fopen(input, "r");
  if (reopen("missing/output", "w", file)) return 2;
  if (!reopen(output, "w", stdout)) return 1;
  printf("%d at last\n", sum);
  fflush(stdout);
  tell("the output, written again", output);
  return 0;
}
