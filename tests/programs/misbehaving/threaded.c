/* Has a second thread running when it comes to later(). */
#include <pthread.h>
#include <unistd.h>

static void *wait_forever(void *nothing)
{
  for (;;)
    pause();
  return nothing;
}

int later(void) { return 5; }

int main(void)
{
  pthread_t thread;
  pthread_create(&thread, 0, wait_forever, 0);
  return later();
}
