/* Has files open before it reads its input: its output in the place of standard output, one that it reads, one without a name.
   Each is used before and after, and all of it is to go as in a plain run, in every run. */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

static int reading, inheritable;
static FILE *temporary, *log_file;

static void work(const char *input)
{
  char text[256];
  int character, sum = 0;
  ssize_t length = read(reading, text, 100);
  printf("read %zd bytes from %ld on, closed on exec: %d, %d\n", length, (long)lseek(reading, 0, SEEK_CUR) - (long)length,
         fcntl(reading, F_GETFD), fcntl(inheritable, F_GETFD));
  freopen(input, "r", stdin);
  while ((character = getchar()) != EOF) sum += character;
  fprintf(temporary, "sum %d", sum);
  rewind(temporary);
  length = fread(text, 1, sizeof text, temporary);
  printf("the temporary file has %.*s\n", (int)length, text);
  fprintf(log_file, "sum %d\n", sum);
  fclose(log_file);
  log_file = fopen("log", "r");
  length = fread(text, 1, sizeof text, log_file);
  printf("the log has %.*s\n", (int)length, text);
  remove("log");
  fprintf(stderr, "standard input is %d, standard output %d\n", fileno(stdin), fileno(stdout));
}

int main(int argc, char **argv)
{
  char text[16];
  if (!freopen(argv[argc - 1], "wx", stdout)) return 1;
  printf("begun\n");
  reading = open("/etc/passwd", O_RDONLY | O_CLOEXEC);
  inheritable = open("/etc/passwd", O_RDONLY);
  if (read(reading, text, sizeof text) != sizeof text) return 2;
  temporary = tmpfile();
  fprintf(temporary, "begun, ");
  log_file = fopen("/dev/null", "r");
  if (!freopen("log", "w", log_file)) return 3;
  fprintf(log_file, "begun\n");
  work(argv[argc - 3]);
  printf("done\n");
  return 0;
}
