#include "textflag.h"

// Lines are asked for into the second level of the cache. The first has room for some 24 on
// their way, and waits for the address of one page after the other; the second has twice
// the room and looks addresses up side by side.

// func prefetch(p unsafe.Pointer, lines int)
TEXT ·prefetch(SB), NOSPLIT, $0-16
	MOVQ p+0(FP), AX
	MOVQ lines+8(FP), CX
next:
	PREFETCHT1 (AX)
	ADDQ $64, AX
	DECQ CX
	JGT  next
	RET

// func prefetchFirst(list []piece)
TEXT ·prefetchFirst(SB), NOSPLIT, $0-24
	MOVQ  list_base+0(FP), AX
	MOVQ  list_len+8(FP), CX
	TESTQ CX, CX
	JZ    done
next:
	MOVQ (AX), DX
	PREFETCHT1 (DX)
	ADDQ $16, AX
	DECQ CX
	JNZ  next
done:
	RET
