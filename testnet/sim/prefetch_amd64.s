#include "textflag.h"

// func prefetch(p unsafe.Pointer, lines int)
TEXT ·prefetch(SB), NOSPLIT, $0-16
	MOVQ p+0(FP), AX
	MOVQ lines+8(FP), CX
next:
	PREFETCHT0 (AX)
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
	PREFETCHT0 (DX)
	ADDQ $16, AX
	DECQ CX
	JNZ  next
done:
	RET
