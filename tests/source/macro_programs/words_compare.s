.macro type t
 .ifc \t, f32
 v_add_f32 v0, v1, v2
 .endif
 .ifc \t,f16
 v_add_f16 v0, v1, v2
 .endif
 .ifnc \t, f32
 s_nop 7
 .endif
.endm
type f32
type f16
