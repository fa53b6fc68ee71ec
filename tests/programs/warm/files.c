/* Does to files what programs do to files, one operation a line of output: its result, and what is to be seen of it. What it
   prints is the same in a plain run and in the sandbox. Files are open at the warm point, too: see main. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void say(const char *what, long result)
{
  printf("%s: %ld%s%s\n", what, result, result < 0 ? " " : "", result < 0 ? strerror(errno) : "");
  errno = 0;
}

/* Permissions, links and length of a file, and how it begins. */
static void see(const char *path)
{
  struct stat data;
  char text[32] = "";
  if (lstat(path, &data)) {
    printf("  %s: %s\n", path, strerror(errno));
    return;
  }
  int fd = S_ISREG(data.st_mode) ? open(path, O_RDONLY) : -1;
  long length = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
  if (fd >= 0)
    close(fd);
  printf("  %s: %o, %ld links, %ld bytes, %ld read: %s\n", path, data.st_mode, S_ISDIR(data.st_mode) ? 0L : (long) data.st_nlink,
         S_ISREG(data.st_mode) ? (long) data.st_size : 0L, length, text);
}

/* Sorted by the C library, which is not counted: file systems have orders of their own. */
static void list(const char *path)
{
  struct dirent **entries;
  int count = scandir(path, &entries, NULL, alphasort);
  if (count < 0) {
    printf("  %s: %s\n", path, strerror(errno));
    return;
  }
  printf("  %s:", path);
  for (int i = 0; i < count; i++)
    printf(" %s", entries[i]->d_name);
  printf("\n");
}

static long put(const char *path, int flags, int mode, const char *text)
{
  int fd = open(path, flags, mode);
  if (fd < 0)
    return -1;
  long written = write(fd, text, strlen(text));
  close(fd);
  return written;
}

static void create(void)
{
  say("create 0444", put("read-only", O_CREAT | O_WRONLY, 0444, "text"));
  see("read-only");
  say("create it again", put("read-only", O_CREAT | O_EXCL | O_WRONLY, 0600, "x"));
  say("append", put("appended", O_CREAT | O_WRONLY | O_APPEND, 0600, "one "));
  say("append more", put("appended", O_WRONLY | O_APPEND, 0, "two"));
  see("appended");
  say("in no directory", put("none/file", O_CREAT | O_WRONLY, 0600, "x"));
  say("a directory as a file", put(".", O_CREAT | O_WRONLY, 0600, "x"));
  say("without O_CREAT", put("absent", O_WRONLY, 0, "x"));
  int fd = open(".", O_TMPFILE | O_RDWR, 0600);
  say("O_TMPFILE", fd < 0 ? -1 : write(fd, "unnamed", 7));
  char name[64];
  snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
  say("name it", linkat(AT_FDCWD, name, AT_FDCWD, "named", AT_SYMLINK_FOLLOW));
  see("named");
  close(fd);
  say("mkfifo", mkfifo("fifo", 0600));
  see("fifo");
}

static void directories(void)
{
  say("mkdir", mkdir("inner", 0750));
  say("mkdir again", mkdir("inner", 0750));
  say("mkdir below", mkdir("inner/deeper", 0700));
  say("a file in it", put("inner/deeper/file", O_CREAT | O_WRONLY, 0640, "deep"));
  say("rmdir of a full one", rmdir("inner/deeper"));
  say("rename a directory", rename("inner/deeper", "inner/renamed"));
  see("inner/renamed/file");
  list("inner");
  say("chdir", chdir("inner"));
  say("a relative file", put("here", O_CREAT | O_WRONLY, 0600, "here"));
  list(".");
  char path[4096];
  printf("  in %s\n", strrchr(getcwd(path, sizeof path), '/'));
  say("chdir back", chdir(".."));
  int directory = open("inner", O_RDONLY | O_DIRECTORY);
  int fd = openat(directory, "at", O_CREAT | O_WRONLY, 0600);
  say("openat", fd < 0 ? -1 : write(fd, "at", 2));
  close(fd);
  say("unlinkat", unlinkat(directory, "here", 0));
  say("mkdirat", mkdirat(directory, "made", 0700));
  say("unlinkat of a directory", unlinkat(directory, "made", AT_REMOVEDIR));
  close(directory);
  list("inner");
  list(".");
}

static void links(void)
{
  say("symlink", symlink("inner", "link"));
  say("write through a linked directory", put("link/through", O_CREAT | O_WRONLY, 0600, "through"));
  see("inner/through");
  say("up from a linked directory", put("link/renamed/../sideways", O_CREAT | O_WRONLY, 0600, "sideways"));
  see("inner/sideways");
  char target[64] = "";
  say("readlink", readlink("link", target, sizeof target));
  printf("  %s\n", target);
  say("link", link("appended", "linked"));
  see("linked");
  say("write by one name", put("linked", O_WRONLY | O_APPEND, 0, "!"));
  see("appended");
  say("unlink one name", unlink("appended"));
  see("linked");
  say("unlink a link", unlink("link"));
  see("link");
  say("a link to nothing", symlink("nothing", "dangling"));
  say("create through it", put("dangling", O_CREAT | O_WRONLY, 0600, "made"));
  see("nothing");
  say("not through it", put("dangling", O_CREAT | O_EXCL | O_WRONLY, 0600, "x"));
}

static void replace(void)
{
  put("old", O_CREAT | O_WRONLY, 0600, "old");
  put("new", O_CREAT | O_WRONLY, 0644, "new one");
  int fd = open("old", O_RDONLY);
  say("rename over", rename("new", "old"));
  see("old");
  see("new");
  char text[16] = "";
  say("what was open stays", read(fd, text, sizeof text));
  printf("  %s\n", text);
  close(fd);
  fd = open("old", O_RDWR);
  say("unlink while open", unlink("old"));
  say("write to it", write(fd, "NEW", 3));
  say("read it", pread(fd, text, sizeof text, 0));
  printf("  %.7s\n", text);
  close(fd);
  see("old");
  say("rename of nothing", rename("old", "older"));
  say("truncate", truncate("linked", 3));
  see("linked");
  say("truncate of nothing", truncate("old", 3));
  say("make it longer", truncate("linked", 8));
  see("linked");
  say("chmod", chmod("linked", 0604));
  see("linked");
  struct timespec times[2] = { { 1000, 0 }, { 2000, 0 } };
  say("utimensat", utimensat(AT_FDCWD, "linked", times, 0));
  struct statx data;
  say("statx", statx(AT_FDCWD, "linked", 0, STATX_MTIME | STATX_SIZE, &data));
  printf("  %lld s, %llu bytes\n", (long long) data.stx_mtime.tv_sec, (unsigned long long) data.stx_size);
  say("access", access("linked", R_OK | W_OK));
  say("access of nothing", access("old", F_OK));
}

static void map(void)
{
  int fd = open("mapped", O_CREAT | O_RDWR, 0600);
  say("ftruncate", ftruncate(fd, 4096));
  char *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  strcpy(memory, "mapped");
  munmap(memory, 4096);
  close(fd);
  see("mapped");
}

static void temporary(void)
{
  char name[64];
  int failed = 0;
  for (int i = 0; i < 1000; i++) {
    strcpy(name, "temporary-XXXXXX");
    int fd = mkstemp(name);
    failed += fd < 0 || write(fd, name, 4) != 4 || close(fd) || unlink(name) || access(name, F_OK) == 0;
  }
  say("temporary files one after another", -failed);
  int fds[100];
  for (int i = 0; i < 100; i++) {
    strcpy(name, "/tmp/temporary-XXXXXX");
    fds[i] = mkstemp(name);
    failed += fds[i] < 0 || unlink(name);
  }
  say("and at a time", -failed);
  strcpy(name, "directory-XXXXXX");
  failed = !mkdtemp(name) || rmdir(name);
  say("mkdtemp", -failed);
  FILE *file = tmpfile();
  say("tmpfile", file && fputs("text", file) >= 0 && !fclose(file) ? 0 : -1);
}

/* What is there before the program begins. */
static void existing(const char *input)
{
  char text[64] = "";
  int fd = open(input, O_RDWR);
  say("read the input", read(fd, text, 3));
  say("write to it", pwrite(fd, "IN", 2, 0));
  close(fd);
  see(input);
  say("rename it", rename(input, "input-renamed"));
  see("input-renamed");
  say("and back", rename("input-renamed", input));
  say("unlink it", unlink(input));
  see(input);
}

/* A process of its own sees what was written, and what it writes is seen. */
static void processes(void)
{
  put("from-parent", O_CREAT | O_WRONLY, 0600, "parent");
  fflush(stdout);
  if (fork() == 0) {
    see("from-parent");
    put("from-child", O_CREAT | O_WRONLY, 0600, "child");
    unlink("from-parent");
    exit(0);
  }
  wait(NULL);
  see("from-child");
  see("from-parent");
  fflush(stdout);
  say("another program", system("cat from-child && echo made > from-shell && mkdir by-shell && rm from-child"));
  see("from-shell");
  see("by-shell");
  see("from-child");
}

int main(int argc, char **argv)
{
  const char *input = argv[argc - 3], *output = argv[argc - 1];
  char text[8] = "";
  umask(027);
  /* Open before the input is opened, which is a warm point: a file that is read from the middle, one that is written, one
     that has no name any more, and a directory. */
  put("early", O_CREAT | O_WRONLY | O_TRUNC, 0600, "early text");
  int reads = open("early", O_RDONLY), writes = open("early-written", O_CREAT | O_WRONLY | O_TRUNC, 0600);
  int nameless = open("early-unnamed", O_CREAT | O_RDWR | O_TRUNC, 0600), directory = open(".", O_RDONLY | O_DIRECTORY);
  unlink("early-unnamed");
  read(reads, text, 6);
  write(writes, "before ", 7);
  write(nameless, "before ", 7);
  FILE *file = fopen(input, "r");
  say("the rest of an open file", read(reads, text, 4));
  printf("  %.4s\n", text);
  say("its position", lseek(reads, 0, SEEK_CUR));
  say("to an open file", write(writes, "after", 5));
  see("early-written");
  say("to one without a name", write(nameless, "after", 5));
  say("its length", lseek(nameless, 0, SEEK_END));
  say("in an open directory", openat(directory, "early", O_RDONLY) >= 0);
  close(openat(directory, "early-at", O_CREAT | O_WRONLY, 0600));
  see("early-at");
  say("the input", getc(file) > 0);
  fclose(file);
  create();
  directories();
  links();
  replace();
  map();
  temporary();
  existing(input);
  list(".");
  /* From here on gcov writes its data beside these files, in a plain run. */
  processes();
  say("the output", put(output, O_CREAT | O_WRONLY | O_TRUNC, 0644, "output\n"));
  return 0;
}
