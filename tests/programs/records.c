/* Structures, bit-fields, unions, floating point and a lookup table. */
#include <stdio.h>
#include <string.h>

struct point { int x : 12; unsigned y : 20; };
union word { float f; unsigned u; unsigned char b[4]; };
struct node { struct node *next; char name[8]; double weight; };

static inline int manhattan(struct point p) { return (p.x < 0 ? -p.x : p.x) + (int) p.y; }

static unsigned hash(const char *s)
{
  unsigned h = 5381;
  while (*s)
    h = h * 33 ^ (unsigned char) *s++;
  return h;
}

static struct node *insert(struct node **table, struct node *n)
{
  struct node **slot = &table[hash(n->name) % 4];
  for (; *slot; slot = &(*slot)->next)
    if (strcmp((*slot)->name, n->name) == 0)
      return 0;
  return *slot = n;
}

int main(void)
{
  static struct node nodes[6] = { {0, "ash", 1.5}, {0, "oak", 2}, {0, "elm", .25}, {0, "oak", 3}, {0, "fir", 1e3} };
  struct node *table[4] = {0};
  double sum = 0;
  for (int i = 0; i < 5; i++)
    if (insert(table, &nodes[i]))
      sum += nodes[i].weight;
  union word w = { .f = (float) sum };
  int bits = 0;
  for (unsigned u = w.u; u; u &= u - 1)
    bits++;
  printf("%d %d %.2f\n", bits, manhattan((struct point) { -5, 7 }), sum);
  return 0;
}
