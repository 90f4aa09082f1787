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

// func addAllScaled(dst []float64, list []Scaled)
TEXT ·addAllScaled(SB), NOSPLIT, $0-48
	MOVQ  dst_base+0(FP), DI
	MOVQ  dst_len+8(FP), CX
	MOVQ  list_base+24(FP), R8
	MOVQ  list_len+32(FP), R9
	XORQ  BX, BX
	TESTQ R9, R9
	JLE   done
	SUBQ  $16, CX
	JL    few

sixteen:
	LEAQ    (DI)(BX*8), AX
	VMOVUPD (AX), Y4
	VMOVUPD 32(AX), Y5
	VMOVUPD 64(AX), Y6
	VMOVUPD 96(AX), Y7
	MOVQ    R8, R10
	MOVQ    R9, R11

next:
	MOVQ         (R10), SI
	LEAQ         (SI)(BX*8), SI
	VBROADCASTSD 24(R10), Y0
	VMULPD       (SI), Y0, Y1
	VMULPD       32(SI), Y0, Y2
	VMULPD       64(SI), Y0, Y3
	VMULPD       96(SI), Y0, Y8
	VADDPD       Y1, Y4, Y4
	VADDPD       Y2, Y5, Y5
	VADDPD       Y3, Y6, Y6
	VADDPD       Y8, Y7, Y7
	ADDQ         $32, R10
	DECQ         R11
	JNZ          next
	VMOVUPD      Y4, (AX)
	VMOVUPD      Y5, 32(AX)
	VMOVUPD      Y6, 64(AX)
	VMOVUPD      Y7, 96(AX)
	ADDQ         $16, BX
	SUBQ         $16, CX
	JGE          sixteen

few:
	ADDQ $16, CX
	JLE  done

one:
	VMOVSD (DI)(BX*8), X4
	MOVQ   R8, R10
	MOVQ   R9, R11

nextOne:
	MOVQ   (R10), SI
	VMOVSD 24(R10), X0
	VMULSD (SI)(BX*8), X0, X1
	VADDSD X1, X4, X4
	ADDQ   $32, R10
	DECQ   R11
	JNZ    nextOne
	VMOVSD X4, (DI)(BX*8)
	INCQ   BX
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

// func multiply(theta []float64, list []Product)
TEXT ·multiply(SB), NOSPLIT, $0-48
	MOVQ theta_base+0(FP), DI
	MOVQ theta_len+8(FP), DX
	MOVQ list_base+24(FP), R8
	MOVQ list_len+32(FP), R9
	TESTQ R9, R9
	JLE  done

two:
	// Of an odd number the last is taken twice.
	MOVQ    R8, R10
	CMPQ    R9, $1
	JE      last
	ADDQ    $40, R10

last:
	MOVQ    (R8), SI
	MOVQ    (R10), R11
	VXORPD  Y0, Y0, Y0
	VXORPD  Y1, Y1, Y1
	VXORPD  Y2, Y2, Y2
	VXORPD  Y3, Y3, Y3
	XORQ    BX, BX
	MOVQ    DX, CX
	SUBQ    $4, CX
	JL      few

four:
	VMOVUPD (DI)(BX*8), Y4
	VMOVUPD (SI)(BX*8), Y5
	VMOVUPD (R11)(BX*8), Y6
	VMULPD  Y4, Y5, Y7
	VMULPD  Y4, Y6, Y8
	VMULPD  Y5, Y5, Y5
	VMULPD  Y6, Y6, Y6
	VADDPD  Y7, Y0, Y0
	VADDPD  Y8, Y1, Y1
	VADDPD  Y5, Y2, Y2
	VADDPD  Y6, Y3, Y3
	ADDQ    $4, BX
	SUBQ    $4, CX
	JGE     four

few:
	VEXTRACTF128 $1, Y0, X9
	VEXTRACTF128 $1, Y1, X10
	VEXTRACTF128 $1, Y2, X11
	VEXTRACTF128 $1, Y3, X12
	ADDQ         $4, CX
	JLE          sum

one:
	VMOVSD (DI)(BX*8), X4
	VMOVSD (SI)(BX*8), X5
	VMOVSD (R11)(BX*8), X6
	VMULSD X4, X5, X7
	VMULSD X4, X6, X8
	VMULSD X5, X5, X5
	VMULSD X6, X6, X6
	VADDSD X7, X0, X0
	VADDSD X8, X1, X1
	VADDSD X5, X2, X2
	VADDSD X6, X3, X3
	INCQ   BX
	DECQ   CX
	JNZ    one

sum:
	VADDPD    X9, X0, X0
	VADDPD    X10, X1, X1
	VADDPD    X11, X2, X2
	VADDPD    X12, X3, X3
	VUNPCKHPD X0, X0, X9
	VUNPCKHPD X1, X1, X10
	VUNPCKHPD X2, X2, X11
	VUNPCKHPD X3, X3, X12
	VADDSD    X9, X0, X0
	VADDSD    X10, X1, X1
	VADDSD    X11, X2, X2
	VADDSD    X12, X3, X3
	VMOVSD    X0, 24(R8)
	VMOVSD    X1, 24(R10)
	VMOVSD    X2, 32(R8)
	VMOVSD    X3, 32(R10)
	ADDQ      $80, R8
	SUBQ      $2, R9
	JG        two

done:
	VZEROUPPER
	RET

// func addAllUnits(total []int64, list []Scaled)
TEXT ·addAllUnits(SB), NOSPLIT, $0-48
	MOVQ         total_base+0(FP), DI
	MOVQ         total_len+8(FP), CX
	MOVQ         list_base+24(FP), R8
	MOVQ         list_len+32(FP), R9
	VBROADCASTSD middle<>(SB), Y9
	XORQ         BX, BX
	TESTQ        R9, R9
	JLE          done

	// What the bits of middle add up to is taken off once.
	MOVQ         middle<>(SB), AX
	IMULQ        R9, AX
	VMOVQ        AX, X10
	VPBROADCASTQ X10, Y10
	SUBQ         $16, CX
	JL           few

sixteen:
	LEAQ    (DI)(BX*8), AX
	VMOVDQU (AX), Y4
	VMOVDQU 32(AX), Y5
	VMOVDQU 64(AX), Y6
	VMOVDQU 96(AX), Y7
	VPSUBQ  Y10, Y4, Y4
	VPSUBQ  Y10, Y5, Y5
	VPSUBQ  Y10, Y6, Y6
	VPSUBQ  Y10, Y7, Y7
	MOVQ    R8, R10
	MOVQ    R9, R11

next:
	MOVQ         (R10), SI
	LEAQ         (SI)(BX*8), SI
	VBROADCASTSD 24(R10), Y0
	VMULPD       (SI), Y0, Y1
	VMULPD       32(SI), Y0, Y2
	VMULPD       64(SI), Y0, Y3
	VMULPD       96(SI), Y0, Y8
	VROUNDPD     $3, Y1, Y1           // toward zero
	VROUNDPD     $3, Y2, Y2
	VROUNDPD     $3, Y3, Y3
	VROUNDPD     $3, Y8, Y8
	VADDPD       Y9, Y1, Y1
	VADDPD       Y9, Y2, Y2
	VADDPD       Y9, Y3, Y3
	VADDPD       Y9, Y8, Y8
	VPADDQ       Y1, Y4, Y4
	VPADDQ       Y2, Y5, Y5
	VPADDQ       Y3, Y6, Y6
	VPADDQ       Y8, Y7, Y7
	ADDQ         $32, R10
	DECQ         R11
	JNZ          next
	VMOVDQU      Y4, (AX)
	VMOVDQU      Y5, 32(AX)
	VMOVDQU      Y6, 64(AX)
	VMOVDQU      Y7, 96(AX)
	ADDQ         $16, BX
	SUBQ         $16, CX
	JGE          sixteen

few:
	ADDQ $16, CX
	JLE  done

one:
	MOVQ (DI)(BX*8), AX
	MOVQ R8, R10
	MOVQ R9, R11

nextOne:
	MOVQ        (R10), SI
	VMOVSD      24(R10), X0
	VMULSD      (SI)(BX*8), X0, X1
	VCVTTSD2SIQ X1, DX
	ADDQ        DX, AX
	ADDQ        $32, R10
	DECQ        R11
	JNZ         nextOne
	MOVQ        AX, (DI)(BX*8)
	INCQ        BX
	DECQ        CX
	JNZ         one

done:
	VZEROUPPER
	RET

// The lower 22 bits.
DATA lower<>+0(SB)/8, $0x3fffff
GLOBL lower<>(SB), RODATA, $8

// func addUnitsSquared(total []int64, x []float64, units float64) (high, middle, low uint64)
TEXT ·addUnitsSquared(SB), NOSPLIT, $0-80
	MOVQ         total_base+0(FP), DI
	MOVQ         total_len+8(FP), CX
	MOVQ         x_base+24(FP), SI
	VBROADCASTSD units+48(FP), Y0
	VBROADCASTSD middle<>(SB), Y1
	VPBROADCASTQ lower<>(SB), Y2
	VPXOR        Y8, Y8, Y8
	VPXOR        Y9, Y9, Y9
	VPXOR        Y10, Y10, Y10
	SUBQ         $4, CX
	JL           few

four:
	VMULPD   (SI), Y0, Y3
	VROUNDPD $3, Y3, Y3      // toward zero
	VADDPD   Y1, Y3, Y3
	VPSUBQ   Y1, Y3, Y3
	VPADDQ   (DI), Y3, Y4
	VMOVDQU  Y4, (DI)
	VPSRLQ   $22, Y3, Y4     // as a signed number of 32 bits the upper part
	VPAND    Y2, Y3, Y5
	VPMULDQ  Y4, Y4, Y6
	VPMULDQ  Y4, Y5, Y7
	VPMULUDQ Y5, Y5, Y5
	VPADDQ   Y6, Y8, Y8
	VPADDQ   Y7, Y9, Y9
	VPADDQ   Y5, Y10, Y10
	ADDQ     $32, SI
	ADDQ     $32, DI
	SUBQ     $4, CX
	JGE      four

few:
	VEXTRACTI128 $1, Y8, X3
	VEXTRACTI128 $1, Y9, X4
	VEXTRACTI128 $1, Y10, X5
	VPADDQ       X3, X8, X8
	VPADDQ       X4, X9, X9
	VPADDQ       X5, X10, X10
	VPSRLDQ      $8, X8, X3
	VPSRLDQ      $8, X9, X4
	VPSRLDQ      $8, X10, X5
	VPADDQ       X3, X8, X8
	VPADDQ       X4, X9, X9
	VPADDQ       X5, X10, X10
	VMOVQ        X8, R8
	VMOVQ        X9, R9
	VMOVQ        X10, R10
	ADDQ         $4, CX
	JLE          done

one:
	VMULSD      (SI), X0, X3
	VCVTTSD2SIQ X3, AX
	ADDQ        AX, (DI)
	MOVQ        AX, BX
	SARQ        $22, BX
	ANDQ        $0x3fffff, AX
	MOVQ        BX, DX
	IMULQ       BX, DX
	IMULQ       AX, BX
	IMULQ       AX, AX
	ADDQ        DX, R8
	ADDQ        BX, R9
	ADDQ        AX, R10
	ADDQ        $8, SI
	ADDQ        $8, DI
	DECQ        CX
	JNZ         one

done:
	MOVQ R8, high+56(FP)
	MOVQ R9, middle+64(FP)
	MOVQ R10, low+72(FP)
	VZEROUPPER
	RET
