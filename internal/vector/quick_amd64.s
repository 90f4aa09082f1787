#include "textflag.h"

// func dot(x, y []float64) float64
TEXT ·dot(SB), NOSPLIT, $0-56
	MOVQ   x_base+0(FP), SI
	MOVQ   x_len+8(FP), CX
	MOVQ   y_base+24(FP), DI
	VXORPD Y0, Y0, Y0
	SUBQ   $8, CX
	JL     four

eight:
	VMOVUPD (SI), Y1
	VMOVUPD 32(SI), Y2
	VMULPD  (DI), Y1, Y1
	VMULPD  32(DI), Y2, Y2
	VADDPD  Y1, Y0, Y0
	VADDPD  Y2, Y0, Y0
	ADDQ    $64, SI
	ADDQ    $64, DI
	SUBQ    $8, CX
	JGE     eight

four:
	ADDQ    $4, CX
	JL      few
	VMOVUPD (SI), Y1
	VMULPD  (DI), Y1, Y1
	VADDPD  Y1, Y0, Y0
	ADDQ    $32, SI
	ADDQ    $32, DI
	SUBQ    $4, CX

few:
	VEXTRACTF128 $1, Y0, X3
	ADDQ         $4, CX
	JLE          done

one:
	VMOVSD (SI), X1
	VMULSD (DI), X1, X1
	VADDSD X1, X0, X0
	ADDQ   $8, SI
	ADDQ   $8, DI
	DECQ   CX
	JNZ    one

done:
	VADDPD    X3, X0, X0
	VUNPCKHPD X0, X0, X1
	VADDSD    X1, X0, X0
	VMOVSD    X0, ret+48(FP)
	VZEROUPPER
	RET

// func addScaled(dst []float64, alpha float64, x []float64)
TEXT ·addScaled(SB), NOSPLIT, $0-56
	MOVQ         dst_base+0(FP), DI
	MOVQ         dst_len+8(FP), CX
	VBROADCASTSD alpha+24(FP), Y0
	MOVQ         x_base+32(FP), SI
	SUBQ         $8, CX
	JL           few

eight:
	VMULPD  (SI), Y0, Y1
	VMULPD  32(SI), Y0, Y2
	VADDPD  (DI), Y1, Y1
	VADDPD  32(DI), Y2, Y2
	VMOVUPD Y1, (DI)
	VMOVUPD Y2, 32(DI)
	ADDQ    $64, SI
	ADDQ    $64, DI
	SUBQ    $8, CX
	JGE     eight

few:
	ADDQ $8, CX
	JLE  done

one:
	VMULSD (SI), X0, X1
	VADDSD (DI), X1, X1
	VMOVSD X1, (DI)
	ADDQ   $8, SI
	ADDQ   $8, DI
	DECQ   CX
	JNZ    one

done:
	VZEROUPPER
	RET

// func squares(x []float64) float64
TEXT ·squares(SB), NOSPLIT, $0-32
	MOVQ   x_base+0(FP), SI
	MOVQ   x_len+8(FP), CX
	VXORPD Y4, Y4, Y4
	VXORPD Y5, Y5, Y5
	VXORPD Y6, Y6, Y6
	VXORPD Y7, Y7, Y7
	SUBQ   $16, CX
	JL     few

sixteen:
	VMOVUPD (SI), Y0
	VMOVUPD 32(SI), Y1
	VMOVUPD 64(SI), Y2
	VMOVUPD 96(SI), Y3
	VMULPD  Y0, Y0, Y0
	VMULPD  Y1, Y1, Y1
	VMULPD  Y2, Y2, Y2
	VMULPD  Y3, Y3, Y3
	VADDPD  Y0, Y4, Y4
	VADDPD  Y1, Y5, Y5
	VADDPD  Y2, Y6, Y6
	VADDPD  Y3, Y7, Y7
	ADDQ    $128, SI
	SUBQ    $16, CX
	JGE     sixteen

few:
	VADDPD       Y5, Y4, Y4
	VADDPD       Y7, Y6, Y6
	VADDPD       Y6, Y4, Y4
	VEXTRACTF128 $1, Y4, X5
	VADDPD       X5, X4, X4
	VUNPCKHPD    X4, X4, X5
	VADDSD       X5, X4, X4
	ADDQ         $16, CX
	JLE          done

one:
	VMOVSD (SI), X0
	VMULSD X0, X0, X0
	VADDSD X0, X4, X4
	ADDQ   $8, SI
	DECQ   CX
	JNZ    one

done:
	VMOVSD X4, ret+24(FP)
	VZEROUPPER
	RET

// 1.5 2^52
DATA middle<>+0(SB)/8, $0x4338000000000000
GLOBL middle<>(SB), RODATA, $8

// func addUnits(total []int64, x []float64, units float64)
TEXT ·addUnits(SB), NOSPLIT, $0-56
	MOVQ         total_base+0(FP), DI
	MOVQ         total_len+8(FP), CX
	MOVQ         x_base+24(FP), SI
	VBROADCASTSD units+48(FP), Y0
	VBROADCASTSD middle<>(SB), Y1
	SUBQ         $8, CX
	JL           few

eight:
	VMULPD   (SI), Y0, Y2
	VMULPD   32(SI), Y0, Y3
	VROUNDPD $3, Y2, Y2      // toward zero
	VROUNDPD $3, Y3, Y3
	VADDPD   Y1, Y2, Y2
	VADDPD   Y1, Y3, Y3
	VPSUBQ   Y1, Y2, Y2
	VPSUBQ   Y1, Y3, Y3
	VPADDQ   (DI), Y2, Y2
	VPADDQ   32(DI), Y3, Y3
	VMOVDQU  Y2, (DI)
	VMOVDQU  Y3, 32(DI)
	ADDQ     $64, SI
	ADDQ     $64, DI
	SUBQ     $8, CX
	JGE      eight

few:
	ADDQ $8, CX
	JLE  done

one:
	VMULSD      (SI), X0, X2
	VCVTTSD2SIQ X2, AX
	ADDQ        AX, (DI)
	ADDQ        $8, SI
	ADDQ        $8, DI
	DECQ        CX
	JNZ         one

done:
	VZEROUPPER
	RET
