/* Executes itself, in all the ways that there are, and other programs; each counts as gcov counts it. Who is executed writes
   to a file what it was given, and reads what the one before has written. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
static const char *self;

static int work(int rounds)
{
  int sum = 0;
  for (int i = 0; i < rounds; i++)
    sum += i % 3 ? i : -i;
  return sum;
}

/* What an executed one does. */
static int executed(int number, const char *word)
{
  work(10 * number);
  if (getenv("LD_PRELOAD") || getenv("HEARTH_CONTROL"))
    return 99;
  FILE *file = fopen("log", "a");
  fprintf(file, "%d %s %s\n", number, word, getenv("WORD") ? getenv("WORD") : "-");
  fclose(file);
  switch (number) {
  case 3:
    /* Makes processes of itself, one of which executes another one. */
    if (fork() == 0)
      exit(work(7) & 1);
    if (fork() == 0) {
      execl(self, self, "9", "deeper", (char *) NULL);
      exit(98);
    }
    while (wait(NULL) > 0)
      ;
    break;
  case 4:
    abort();
  case 5:
    _exit(5);
  }
  return number;
}

static void say(const char *how, int status)
{
  printf("%s: %d %d\n", how, WIFEXITED(status) ? WEXITSTATUS(status) : -1, WIFSIGNALED(status) ? WTERMSIG(status) : 0);
  fflush(stdout);
}

static int wait_for(pid_t child)
{
  int status = -1;
  waitpid(child, &status, 0);
  return status;
}

static void execute(int way)
{
  char *arguments[] = { (char *) self, "1", "list", NULL };
  char *variables[] = { "WORD=given", environ[0], environ[1], NULL };
  switch (way) {
  case 0: execv(self, arguments); break;
  case 1: execve(self, arguments, variables); break;
  case 2: execvp(self, arguments); break;
  case 3: execl(self, self, "2", "a", "b", "c", "d", "e", "f", "g", (char *) NULL); break;
  case 4: execlp(self, self, "2", "p", (char *) NULL); break;
  case 5: execle(self, self, "2", "e", "b", "c", "d", "e", "f", (char *) NULL, variables); break;
  }
  exit(97);
}

/* GCC does not know these, so that gcov would lose what was counted before them: nothing is. */
__attribute__((no_profile_instrument_function)) static int execute_uncounted(int way)
{
  char *arguments[] = { (char *) self, "1", "uncounted", NULL };
  char *variables[] = { "WORD=other", environ[0], environ[1], NULL };
  int status = -1;
  pid_t child = fork();
  if (child == 0) {
    if (way == 0)
      execvpe(self, arguments, variables);
    if (way == 1)
      fexecve(open(self, O_RDONLY | O_CLOEXEC), arguments, variables);
    if (way == 2)
      execveat(AT_FDCWD, self, arguments, variables, 0);
    _exit(96);
  }
  waitpid(child, &status, 0);
  return status;
}

static void spawn(const char *program, const char *number)
{
  char *arguments[] = { (char *) program, (char *) number, "spawned", NULL };
  pid_t child;
  int error = posix_spawn(&child, program, NULL, NULL, arguments, environ);
  printf("spawn: %d\n", error);
  if (!error)
    say("spawned", wait_for(child));
}

int main(int argc, char **argv)
{
  self = "/proc/self/exe";
  if (argc > 1 && argv[1][0] >= '0' && argv[1][0] <= '9')
    return executed(atoi(argv[1]), argv[2]);
  FILE *file = fopen(argv[argc - 3], "r");
  work(5 + getc(file) % 7);
  fclose(file);
  for (int way = 0; way < 3; way++)
    say("executed by what gcov does not know", execute_uncounted(way));
  for (int way = 0; way < 6; way++) {
    pid_t child = fork();
    if (child == 0)
      execute(way);
    say("executed", wait_for(child));
  }
  setenv("WORD", "set", 1);
  char command[4200], path[4096] = "";
  readlink(self, path, sizeof path - 1);
  snprintf(command, sizeof command, "%s 1 shell; %s 3 again & wait; cat log | wc -l", path, path);
  fflush(stdout);
  say("system", system(command));
  printf("a shell: %d\n", system(NULL) != 0);
  FILE *stream = popen(command, "r");
  char line[64] = "";
  printf("popen: %s", fgets(line, sizeof line, stream));
  say("closed", pclose(stream));
  spawn(path, "2");
  spawn("/bin/true", "0");
  spawn("/nothing", "0");
  printf("nothing: %d\n", system("/nothing 2> /dev/null"));
  /* Who cannot execute goes on, and gcov begins anew: the run itself, and a process of it, which tries twice. */
  printf("not executed: %d\n", execl("/nothing", "nothing", (char *) NULL));
  work(4);
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    char *arguments[] = { "nothing", NULL };
    work(6);
    execv("/nothing", arguments);
    work(8);
    execvp("no-such-program", arguments);
    exit(work(9) & 7);
  }
  say("went on", wait_for(child));
  work(3);
  file = fopen(argv[argc - 1], "w");
  FILE *log = fopen("log", "r");
  for (int c; (c = getc(log)) != EOF;)
    putc(c, file);
  fclose(log);
  fclose(file);
  fflush(stdout);
  /* At last, in its own place. */
  execl(path, path, "6", "last", (char *) NULL);
  return 1;
}
