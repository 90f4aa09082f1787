#include "textflag.h"

// Into which level of the cache lines are asked for was measured on amd64 alone.

// func prefetch(p unsafe.Pointer, lines int)
TEXT ·prefetch(SB), NOSPLIT, $0-16
	MOVD p+0(FP), R0
	MOVD lines+8(FP), R1
next:
	PRFM (R0), PLDL1KEEP
	ADD  $64, R0
	SUBS $1, R1
	BGT  next
	RET

// func prefetchFirst(list []piece)
TEXT ·prefetchFirst(SB), NOSPLIT, $0-24
	MOVD list_base+0(FP), R0
	MOVD list_len+8(FP), R1
	CBZ  R1, done
next:
	MOVD (R0), R2
	PRFM (R2), PLDL1KEEP
	ADD  $16, R0
	SUBS $1, R1
	BGT  next
done:
	RET
