/* A small stack machine: the shape of a compiler's own loops. */
#include <stdio.h>

enum op { PUSH, ADD, SUB, MUL, DUP, SWAP, JNZ, PRINT, HALT };
struct insn { enum op op; int arg; };

static int run(const struct insn *code, int limit)
{
  int stack[32], top = 0, pc = 0, steps = 0, t;
  while (steps++ < limit)
    switch (code[pc].op)
      {
      case PUSH: stack[top++] = code[pc++].arg; break;
      case ADD: top--; stack[top - 1] += stack[top]; pc++; break;
      case SUB: top--; stack[top - 1] -= stack[top]; pc++; break;
      case MUL: top--; stack[top - 1] *= stack[top]; pc++; break;
      case DUP: stack[top] = stack[top - 1]; top++; pc++; break;
      case SWAP: t = stack[top - 1]; stack[top - 1] = stack[top - 2]; stack[top - 2] = t; pc++; break;
      case JNZ: pc = stack[--top] ? code[pc].arg : pc + 1; break;
      case PRINT: printf("%d\n", stack[top - 1]); pc++; break;
      case HALT: return steps;
      }
  return -1;
}

int main(void)
{
  static const struct insn count_down[] = {
    { PUSH, 10 }, { PUSH, 1 }, { SUB, 0 }, { DUP, 0 }, { JNZ, 1 }, { PRINT, 0 }, { HALT, 0 },
  };
  static const struct insn forever[] = { { PUSH, 1 }, { DUP, 0 }, { JNZ, 1 } };
  return run(count_down, 1000) > 0 && run(forever, 50) < 0 ? 0 : 1;
}
