/* Misbehaves as its first argument says. Each way first calls mark() a number of times of its own. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile int marks;

static void mark(int times)
{
  for (int i = 0; i < times; i++)
    marks++;
}

static int hang(void) { mark(3); for (;;) pause(); }
static int spin(void) { mark(4); for (;;) marks++; }

static int fork_bomb(void)
{
  mark(5);
  for (;;)
    if (fork() < 0)
      usleep(1000);
}

static int eat_memory(void)
{
  mark(6);
  for (;;) {
    char *memory = malloc(1 << 20);
    if (memory)
      memset(memory, 1, 1 << 20);
  }
}

static int flood_output(void)
{
  static char text[1 << 16];
  mark(7);
  memset(text, 'x', sizeof text);
  for (;;)
    if (write(1, text, sizeof text) < 0)
      return 1;
}

static int flood_file(void)
{
  static char text[1 << 16];
  mark(8);
  FILE *file = fopen("flood", "w");
  for (;;)
    if (fwrite(text, 1, sizeof text, file) != sizeof text)
      return 1;
}

/* Writes over all memory it can, the shim's and the C library's first, until that kills it. */
static int scribble(void)
{
  char line[512];
  static struct { uintptr_t start, end; } ranges[256];
  int count = 0;
  mark(9);
  FILE *maps = fopen("/proc/self/maps", "r");
  while (fgets(line, sizeof line, maps)) {
    uintptr_t start, end;
    char access[5];
    if (sscanf(line, "%lx-%lx %4s", &start, &end, access) == 3 && access[1] == 'w' && !strstr(line, "misbehave")
        && !strstr(line, "[stack]") && count < 256) {
      ranges[count].start = start;
      ranges[count++].end = end;
    }
  }
  for (int i = 0; i < count; i++)
    for (volatile char *byte = (char *) ranges[i].start; byte < (char *) ranges[i].end; byte++)
      *byte = 0x5a;
  for (volatile char *byte = (char *) 4096;; byte += 4096)
    *byte = 1;
}

static int close_all(void)
{
  mark(10);
  for (int fd = 0; fd < 2048; fd++)
    close(fd);
  return open("file", O_CREAT | O_WRONLY, 0600) < 0 ? 17 : 18;
}

static int kill_parent(void)
{
  mark(11);
  kill(getppid(), SIGKILL);
  kill(getppid(), SIGTERM);
  kill(0, SIGCONT);
  return 19;
}

static int kill_everything(void)
{
  mark(12);
  kill(-1, SIGKILL);
  usleep(20000);
  return 20;
}

static int ignore_signals(void)
{
  sigset_t all;
  mark(13);
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, NULL);
  for (int i = 1; i < 65; i++)
    signal(i, SIG_IGN);
  for (;;)
    pause();
}

static int change_directory(void)
{
  mark(14);
  if (chdir("/"))
    return 1;
  FILE *file = fopen("written-elsewhere", "w");
  if (!file)
    return 2;
  fputs("here", file);
  return fclose(file) ? 3 : 21;
}

static int daemonize(void)
{
  mark(15);
  if (fork() == 0) {
    setsid();
    if (fork() == 0)
      for (;;)
        pause();
    _exit(0);
  }
  return 22;
}

static int underscore_exit(void) { mark(16); _exit(23); }
static int quick(void) { mark(17); quick_exit(24); }
static int exit_now(void) { mark(18); exit(25); }
static int raw_exit(void) { mark(19); return syscall(SYS_exit_group, 26); }
static int call_abort(void) { mark(20); abort(); }
static int crash(void) { mark(21); *(volatile int *) 8 = 1; return 0; }
static int kill_self(void) { mark(22); return kill(getpid(), SIGKILL); }
static int return_normally(void) { mark(23); return 27; }

/* Neither the network nor the file system can be reached by going around the C library. */
static int break_out(void)
{
  mark(24);
  struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(9), .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  if (fd >= 0 && (connect(fd, (struct sockaddr *) &address, sizeof address) == 0 || errno != ENETUNREACH))
    return 1;
  if (syscall(SYS_openat, AT_FDCWD, "/proc/self/oom_score_adj", O_CREAT | O_WRONLY, 0600) >= 0)
    return 2;
  /* What another run has written is not here, and what this one writes goes to memory, or nowhere. */
  const char *paths[] = { "broken-out", "/tmp/broken-out", "/dev/shm/broken-out", "/broken-out" };
  for (int i = 0; i < 4; i++) {
    if (syscall(SYS_access, paths[i], F_OK) == 0)
      return 3 + i;
    int file = syscall(SYS_openat, AT_FDCWD, paths[i], O_CREAT | O_WRONLY, 0600);
    if (file >= 0)
      write(file, "x", 1);
  }
  char path[4096];
  snprintf(path, sizeof path, "%s/kept", getenv("OUTSIDE"));
  int kept = syscall(SYS_openat, AT_FDCWD, path, O_RDWR, 0);
  if (syscall(SYS_access, path, F_OK) || (kept >= 0 && (write(kept, "lost", 4) != 4 || syscall(SYS_truncate, path, 2))))
    return 7;
  syscall(SYS_chmod, path, 0777);
  syscall(SYS_unlink, path);
  return 28;
}

static int exec_other(void)
{
  mark(25);
  execl("/bin/sh", "sh", "-c", "exit ${LD_PRELOAD:+1}29", (char *) NULL);
  return 1;
}

/* Local sockets, by the plain way, the way of the x32 ABI, and by turning a datagram socket of a pair. */
static int connect_socket(void)
{
  struct sockaddr_un address = { .sun_family = AF_UNIX };
  int pair[2];
  mark(26);
  snprintf(address.sun_path, sizeof address.sun_path, "%s/socket", getenv("OUTSIDE"));
  if (socket(AF_UNIX, SOCK_STREAM, 0) >= 0 || errno != EAFNOSUPPORT)
    return 1;
  if (syscall(SYS_socket | 0x40000000, AF_UNIX, SOCK_STREAM, 0) >= 0 || errno != ENOSYS)
    return 2;
  if (socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) == 0)
    return 3;
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0)
    return 4;
  if (connect(pair[0], (struct sockaddr *) &address, sizeof address) == 0)
    return 5;
  if (socket(AF_VSOCK, SOCK_STREAM, 0) >= 0 || socket(AF_NETLINK, SOCK_RAW, 0) >= 0)
    return 6;
  return 30;
}

static int write_fifo(void)
{
  char path[4096];
  mark(27);
  snprintf(path, sizeof path, "%s/fifo", getenv("OUTSIDE"));
  if (access(path, F_OK))
    return 1;
  for (int i = 0; i < 2; i++) {
    /* Where it can be opened it leads to no other process. */
    int fifo = syscall(SYS_openat, AT_FDCWD, path, (i ? O_RDWR : O_WRONLY) | O_NONBLOCK, 0);
    if (fifo >= 0)
      write(fifo, "x", 1);
  }
  return 31;
}

/* No device but the harmless ones is there, and none can be made. */
static int use_devices(void)
{
  static const char *harmless[] = { ".", "..", "null", "zero", "full", "random", "urandom", "tty", "fd", "stdin",
    "stdout", "stderr", "shm", "hearth-sh.so" };
  mark(28);
  DIR *directory = opendir("/dev");
  if (!directory)
    return 1;
  for (struct dirent *entry; (entry = readdir(directory));) {
    int known = 0;
    for (unsigned i = 0; i < sizeof harmless / sizeof *harmless; i++)
      known |= !strcmp(entry->d_name, harmless[i]);
    if (!known)
      return 2;
  }
  for (int i = 0; i < 2; i++)
    if (syscall(SYS_mknodat, AT_FDCWD, i ? "/dev/shm/disk" : "/tmp/disk", S_IFBLK | 0600, makedev(254, 0)) == 0)
      return 3 + i;
  int null = syscall(SYS_openat, AT_FDCWD, "/dev/null", O_RDWR, 0);
  int zero = syscall(SYS_openat, AT_FDCWD, "/dev/zero", O_RDONLY, 0);
  return null >= 0 && write(null, "x", 1) == 1 && zero >= 0 ? 32 : 5;
}

/* What no compiler asks of the kernel. */
static int ask_the_kernel(void)
{
  mark(29);
  char parameters[256] = { 0 };
  if (syscall(SYS_io_uring_setup, 8, parameters) >= 0)
    return 1;
  if (syscall(SYS_userfaultfd, 0) >= 0 || syscall(SYS_userfaultfd, 1) >= 0)
    return 2;
  if (unshare(CLONE_NEWUSER) == 0 || unshare(CLONE_NEWNS) == 0)
    return 3;
  if (syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0) >= 0 || errno != EPERM)
    return 4;
  if (mount("none", "/tmp", "tmpfs", 0, "") == 0 || umount2("/dev", MNT_DETACH) == 0)
    return 5;
  if (syscall(SYS_shmget, 1, 4096, 01600) >= 0 || syscall(SYS_bpf, 0, parameters, 64) >= 0)
    return 6;
  if (syscall(SYS_keyctl, 0, -3, 1) >= 0 || syscall(SYS_open_by_handle_at, 0, parameters, 0) >= 0)
    return 7;
  int number;
  /* The 32-bit way in: socket(AF_UNIX, SOCK_STREAM, 0). */
  __asm__ volatile("int $0x80" : "=a"(number) : "a"(359), "b"(1), "c"(1), "d"(0) : "memory");
  return number < 0 ? 33 : 8;
}

/* Nothing that the starting process had open. The shim's own are 700 and above. */
static int use_descriptors(void)
{
  mark(30);
  for (int fd = 3; fd < 700; fd++)
    if (fcntl(fd, F_GETFD) >= 0)
      return 1;
  return 34;
}

static int read_secrets(void)
{
  char path[4096];
  mark(31);
  if (getuid() == 0 && (open("/etc/shadow", O_RDONLY) >= 0 || (errno != EACCES && errno != ENOENT)))
    return 1;
  const char *home = getenv("HOME"), *names[] = { ".ssh/key", ".config/token", ".netrc", ".shell_history" };
  for (int i = 0; home && i < 4; i++) {
    snprintf(path, sizeof path, "%s/%s", home, names[i]);
    if (open(path, O_RDONLY) >= 0)
      return 2 + i;
  }
  return 35;
}

/* 400 MiB that are shared with nobody yet. */
static int share_memory(void)
{
  mark(32);
  char *memory = mmap(NULL, 400 << 20, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  for (size_t i = 0; memory != MAP_FAILED && i < 400 << 20; i += 4096)
    memory[i] = 1;
  for (;;)
    pause();
}

static int child_eats_memory(void)
{
  mark(33);
  if (fork() == 0) {
    char *memory = malloc(400 << 20);
    memset(memory, 1, 400 << 20);
    for (;;)
      pause();
  }
  for (;;)
    pause();
}

/* Many files in memory, none of them large. */
static int fill_memory_files(void)
{
  static char text[1 << 20];
  mark(34);
  for (int i = 0; i < 200; i++)
    if (write(memfd_create("file", 0), text, sizeof text) < 0)
      return 1;
  for (;;)
    pause();
}

/* None of these is above the limit for one file, and none takes memory. */
static int many_files(void)
{
  char name[32];
  mark(35);
  for (int i = 0; i < 40; i++) {
    snprintf(name, sizeof name, "sparse%d", i);
    if (ftruncate(open(name, O_CREAT | O_WRONLY, 0600), 1 << 19))
      return 1;
  }
  return 2;
}

/* A file that nobody may read, in a directory that nobody may enter. */
static int lock_away(void)
{
  mark(37);
  int fd = mkdir("locked", 0700) ? -1 : open("locked/away", O_CREAT | O_WRONLY, 0);
  return fd < 0 || write(fd, "away", 4) != 4 || chmod("locked", 0) ? 1 : 37;
}

/* Processes one after another; each could be told of. */
static int fork_often(void)
{
  mark(36);
  for (int i = 0; i < 300; i++) {
    pid_t child = fork();
    if (child == 0)
      _exit(0);
    if (child < 0 || waitpid(child, NULL, 0) != child)
      return 1;
  }
  return 36;
}

/* As many processes at a time as there may be. */
static int count_processes(void)
{
  int count = 1;
  for (; count < 250; count++) {
    pid_t child = fork();
    if (child < 0)
      return count;
    if (child == 0)
      for (;;)
        pause();
  }
  return count;
}

/* Takes a while to go away. */
static int large(void)
{
  size_t size = 512 << 20;
  memset(malloc(size), 1, size);
  _exit(37);
}

static const struct { const char *name; int (*way)(void); } ways[] = {
  { "hang", hang }, { "spin", spin }, { "fork_bomb", fork_bomb }, { "eat_memory", eat_memory },
  { "flood_output", flood_output }, { "flood_file", flood_file }, { "scribble", scribble },
  { "close_all", close_all }, { "kill_parent", kill_parent }, { "kill_everything", kill_everything },
  { "ignore_signals", ignore_signals }, { "change_directory", change_directory }, { "daemonize", daemonize },
  { "underscore_exit", underscore_exit }, { "quick", quick }, { "exit_now", exit_now }, { "raw_exit", raw_exit },
  { "call_abort", call_abort }, { "crash", crash }, { "kill_self", kill_self },
  { "return_normally", return_normally }, { "break_out", break_out }, { "exec_other", exec_other },
  { "connect_socket", connect_socket }, { "write_fifo", write_fifo }, { "use_devices", use_devices },
  { "share_memory", share_memory }, { "child_eats_memory", child_eats_memory },
  { "fill_memory_files", fill_memory_files }, { "many_files", many_files }, { "fork_often", fork_often }, { "lock_away", lock_away },
  { "count_processes", count_processes }, { "large", large }, { "ask_the_kernel", ask_the_kernel }, { "use_descriptors", use_descriptors }, { "read_secrets", read_secrets },
};

int main(int argc, char **argv)
{
  const char *wanted = getenv("WAY");
  for (unsigned i = 0; i < sizeof ways / sizeof *ways; i++)
    if (wanted && !strcmp(ways[i].name, wanted))
      return ways[i].way();
  (void) argc, (void) argv;
  return 99;
}
