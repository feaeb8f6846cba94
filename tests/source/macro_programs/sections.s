.section .rodata,"a",@progbits
.long 1
.text
 s_nop 0
.pushsection .foo,"ax",@progbits
 s_nop 1
.popsection
 s_nop 2
.data
.long 3
.previous
 s_nop 4
