.macro m a, b /* first */ // second
 v_add_f32 v\a /* d */, v\b, v\b ; tail
 # whole line
 // whole line
 /* over
 two lines */ s_nop 1
.endm
m 1, 2 // use
m /* x */ 3, /* y */ 4
/* a */ s_nop 0 /* b */ /* c */
label: /* after a label */ s_nop 2 ; end
/*
s_nop 3
*/
