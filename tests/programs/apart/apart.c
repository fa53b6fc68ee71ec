// What could lead from one run to another, and what could count without being counted: one way for each first argument.
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

pid_t _Fork(void);

static const char *way;
static int copied = -1;
static int *shared;

static int is(const char *name) { return !strcmp(way, name); }

// Done before the warm point.
static void early(void) {
  char byte;
  int ends[2];
  if (is("early_read"))
    read(0, &byte, 1);
  if (is("early_copies")) {
    copied = dup(1);
    dup2(0, 9);
  }
  if (is("early_pipe"))
    pipe(ends);
  if (is("early_memory"))
    shared = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (is("early_link"))
    symlink("nowhere", "link");
}

// Writes by way of the working directory of every other process there is.
static void write_by_others(void) {
  DIR *processes = opendir("/proc");
  for (struct dirent *entry; (entry = readdir(processes));) {
    char path[300];
    int number = atoi(entry->d_name);
    if (number <= 1 || number == getpid())
      continue;
    snprintf(path, sizeof path, "/proc/%d/cwd/left", number);
    if (access(path, F_OK) == 0)
      puts("found");
    // The C library's function would have the shim keep the file.
    if (syscall(SYS_openat, AT_FDCWD, path, O_CREAT | O_RDWR, 0600) >= 0)
      puts("wrote");
  }
}

// Tells the daemon of a file that is none.
static void forge(void) {
  struct { unsigned kind, value, process, keeper; } note = {2, 0, 0, 0};
  const char *name = "/tmp/forged";
  struct iovec parts[] = {{&note, sizeof note}, {(void *) name, strlen(name)}};
  union { struct cmsghdr head; char bytes[CMSG_SPACE(sizeof(int))]; } control = {0};
  struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2, .msg_control = &control, .msg_controllen = sizeof control};
  control.head = (struct cmsghdr) {CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS};
  *(int *) CMSG_DATA(&control.head) = open("/tmp", O_RDONLY | O_DIRECTORY);
  if (access("left", F_OK) == 0)
    puts("found");
  close(open("left", O_CREAT | O_WRONLY, 0600));
  sendmsg(700, &message, 0);
}

static void tell(unsigned kind, unsigned process, unsigned keeper) {
  struct { unsigned kind, value, process, keeper; } note = {kind, 0, process, keeper};
  send(700, &note, sizeof note, 0);
}

// Tries to change the first process, of which the next runs are made, or to have the daemon end it.
static void change_zygote(void) {
  struct rlimit limit = {64, 64};
  struct sched_param idle = {0};
  timer_t timer;
  if (timer_create(CLOCK_MONOTONIC, 0, &timer) != 0)
    puts("no timers are left");
  if (prlimit(1, RLIMIT_NOFILE, &limit, 0) == 0 || setpriority(PRIO_PROCESS, 1, 19) == 0 ||
      setpriority(PRIO_USER, 0, 19) == 0 || setpriority(PRIO_PGRP, 1, 19) == 0 ||
      sched_setscheduler(1, SCHED_IDLE, &idle) == 0 || syscall(SYS_ioprio_set, 1, 1, 3 << 13) == 0)
    puts("changed");
  for (int i = 0; i < 200000; i++)
    if (sigqueue(1, SIGRTMIN + 3, (union sigval) {0}) != 0)
      break;
  // A process whose keeper is said to be the first one, and that there are too many.
  tell(6, 9999, 1);
  tell(12, 0, 0);
  usleep(20000);
}

// Looks for a text in all of its memory. It is not in it by itself: its letters are one too low here.
static void find_secret(void) {
  const char *letters = "YPWL@QJ";
  char line[512], *start, *end;
  FILE *maps = fopen("/proc/self/maps", "r");
  while (fgets(line, sizeof line, maps)) {
    char rights[8];
    if (sscanf(line, "%p-%p %7s", &start, &end, rights) != 3 || strncmp(rights, "rw", 2) || end - start > 1 << 28)
      continue;
    for (char *at = start; at < end - 7; at++) {
      int same = 0;
      while (same < 7 && at[same] == letters[same] + 1)
        same++;
      if (same == 7) {
        puts("found");
        return;
      }
    }
  }
}

static void leaf(void) {}

// Executes a copy of itself that has no path.
static void execute_memory(char **variables) {
  char *list[] = {"apart", "leaf", 0}, buffer[65536];
  int program = memfd_create("program", 0), own = open("/proc/self/exe", O_RDONLY);
  for (ssize_t got; (got = read(own, buffer, sizeof buffer)) > 0;)
    write(program, buffer, got);
  fexecve(program, list, variables);
}

// Traces a process and all that come of it, until there are none.
static void trace(void) {
  int status;
  pid_t process = fork();
  if (process == 0) {
    ptrace(PTRACE_TRACEME, 0, 0, 0);
    raise(SIGSTOP);
    if (fork() != 0)
      wait(0);
    exit(0);
  }
  waitpid(process, &status, 0);
  ptrace(PTRACE_SETOPTIONS, process, 0, PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE);
  ptrace(PTRACE_CONT, process, 0, 0);
  while ((process = waitpid(-1, &status, __WALL)) > 0)
    if (WIFSTOPPED(status)) {
      int signal = WSTOPSIG(status);
      ptrace(PTRACE_CONT, process, 0, signal == SIGTRAP || signal == SIGSTOP ? 0 : signal);
    }
}

static void take_for_a_moment(void) {
  char *memory = malloc(200 << 20);
  memset(memory, 1, 200 << 20);
  free(memory);
}

static int child(void *nothing) {
  volatile int done = 1;
  return done - 1;
}

static void use_library(void) {
  void *library = dlopen("./library.so", RTLD_NOW);
  void (*work)(void) = dlsym(library, "work");
  work();
  dlclose(library);
}

// Works for a while.
static void spin(void) {
  for (clock_t end = clock() + 6 * CLOCKS_PER_SEC / 10; clock() < end;);
}

// Takes memory that no process has mapped in the end.
static void take_unmapped(void) {
  size_t size = 256 << 20;
  char *memory = mmap(0, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  for (size_t part = 0; part < size; part += 1 << 20) {
    memset(memory + part, 1, 1 << 20);
    madvise(memory + part, 1 << 20, MADV_DONTNEED);
  }
  for (int i = 0; i < 4; i++)
    spin();
}

void ready(void) {}

int main(int count, char **arguments) {
  way = arguments[1];
  early();
  ready();
  static char stack[65536];
  char byte;
  if (count > 2)
    close(open(arguments[2], O_RDONLY));
  if (is("by_others"))
    write_by_others();
  if (is("forge"))
    forge();
  if (is("early_copies")) {
    read(9, &byte, 1);
    dprintf(copied, "copied %c\n", byte);
  }
  if (is("early_memory"))
    printf("%d\n", (*shared)++);
  if (is("fork") && fork() == 0)
    exit(child(0));
  if (is("background") && fork() == 0) {
    sleep(20);
    exit(child(0));
  }
  if (is("raw_fork") && _Fork() == 0)
    exit(child(0));
  if (is("clone"))
    clone(child, stack + sizeof stack, SIGCHLD, 0);
  if (is("thread_like")) {
    clone(child, stack + sizeof stack, CLONE_VM | CLONE_VFORK | SIGCHLD, 0);
  }
  if (is("daemon"))
    daemon(1, 1);
  if (is("spin_together"))
    for (int i = 0; i < 4; i++)
      if (fork() == 0) {
        spin();
        exit(0);
      }
  if (is("spin_unwaited") || is("spin_orphaned"))
    for (int i = 0; i < 4; i++) {
      int ends[2];
      char byte;
      pipe(ends);
      if (is("spin_unwaited"))
        signal(SIGCHLD, SIG_IGN);
      if (fork() == 0) {
        if (is("spin_orphaned") && fork() != 0)
          exit(0);
        spin();
        exit(0);
      }
      // Until the last one has ended.
      close(ends[1]);
      read(ends[0], &byte, 1);
      close(ends[0]);
    }
  if (is("take_unmapped"))
    take_unmapped();
  if (is("take_for_a_moment"))
    take_for_a_moment();
  if (is("trace"))
    trace();
  if (is("change_zygote"))
    change_zygote();
  if (is("find_secret"))
    find_secret();
  if (is("leaf"))
    leaf();
  if (is("execute_memory") && fork() == 0)
    execute_memory(environ);
  if (is("fork_unheard") && syscall(SYS_close_range, 3, ~0U, 0) == 0 && fork() == 0)
    exit(child(0));
  if (is("change_top")) {
    struct stat data;
    stat("/tmp", &data);
    puts(data.st_mode & 04 ? "open" : "closed");
    chmod("/tmp", 01700);
  }
  if (is("look")) {
    char line[20] = "nothing";
    FILE *file = fopen("looked", "r");
    puts(file && fgets(line, sizeof line, file) ? line : "none");
  }
  if (is("unload"))
    use_library();
  if (is("child_unloads") && fork() == 0) {
    use_library();
    exit(0);
  }
  if (is("executes_fork") && fork() == 0)
    execl(arguments[0], arguments[0], "fork", (char *) 0);
  if (!is("background"))
    while (wait(0) > 0);
  return 0;
}
