# FindAsmEvoSkill
# ---------------
#
# Finds the command asm-evo-skill (pip install asmevo-gate) and offers a function that rewrites a kernel source when it is
# built. Put this directory on CMAKE_MODULE_PATH:
#
#   list(APPEND CMAKE_MODULE_PATH "${CMAKE_SOURCE_DIR}/cmake")
#   find_package(AsmEvoSkill REQUIRED)
#   asm_evo_skill_rewrite(kernel_opt
#     SOURCE      kernel.s
#     GPU         gfx90a
#     ROCM        6.1.3
#     CONSTRAINTS ci/gfx90a_rocm613.json)
#   add_custom_target(kernels ALL DEPENDS ${kernel_opt})
#
# Result variables:
#   AsmEvoSkill_FOUND, AsmEvoSkill_VERSION, ASM_EVO_SKILL_EXECUTABLE
#
# Hints: ASM_EVO_SKILL_ROOT (variable or environment), and the active Python environment (VIRTUAL_ENV).

find_program(ASM_EVO_SKILL_EXECUTABLE
  NAMES asm-evo-skill
  HINTS "${ASM_EVO_SKILL_ROOT}" ENV ASM_EVO_SKILL_ROOT ENV VIRTUAL_ENV
  PATH_SUFFIXES bin Scripts
  DOC "Rewrites AMD GPU assembly where it is proved safe")

if(ASM_EVO_SKILL_EXECUTABLE AND NOT DEFINED AsmEvoSkill_VERSION)
  execute_process(
    COMMAND "${ASM_EVO_SKILL_EXECUTABLE}" --version
    OUTPUT_VARIABLE _asm_evo_skill_version
    RESULT_VARIABLE _asm_evo_skill_result
    ERROR_QUIET
    OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(_asm_evo_skill_result EQUAL 0 AND _asm_evo_skill_version MATCHES "([0-9]+\\.[0-9]+(\\.[0-9]+)?)")
    set(AsmEvoSkill_VERSION "${CMAKE_MATCH_1}")
  endif()
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(AsmEvoSkill
  REQUIRED_VARS ASM_EVO_SKILL_EXECUTABLE
  VERSION_VAR AsmEvoSkill_VERSION)
mark_as_advanced(ASM_EVO_SKILL_EXECUTABLE)

# asm_evo_skill_rewrite(<result variable>
#   SOURCE <kernel.s> [OUTPUT <file>] [GPU <gfx...>] [ROCM <version>]
#   [CONSTRAINTS <file>...] [OPTIONS <option>...])
#
# Adds the custom command that makes OUTPUT (by default <name>_opt<extension> in the binary directory) from SOURCE, and
# sets <result variable> to its path. It runs again when the source, one of the constraint files or the command itself
# changes. GPU and ROCM are found by the command when they are not given.
function(asm_evo_skill_rewrite result)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "SOURCE;OUTPUT;GPU;ROCM" "CONSTRAINTS;OPTIONS")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "asm_evo_skill_rewrite: unknown arguments: ${arg_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT arg_SOURCE)
    message(FATAL_ERROR "asm_evo_skill_rewrite: SOURCE is missing")
  endif()
  if(NOT ASM_EVO_SKILL_EXECUTABLE)
    message(FATAL_ERROR "asm_evo_skill_rewrite: asm-evo-skill was not found; call find_package(AsmEvoSkill REQUIRED)")
  endif()

  get_filename_component(source "${arg_SOURCE}" ABSOLUTE BASE_DIR "${CMAKE_CURRENT_SOURCE_DIR}")
  if(arg_OUTPUT)
    get_filename_component(output "${arg_OUTPUT}" ABSOLUTE BASE_DIR "${CMAKE_CURRENT_BINARY_DIR}")
  else()
    get_filename_component(name "${source}" NAME_WE)
    get_filename_component(extension "${source}" LAST_EXT)
    set(output "${CMAKE_CURRENT_BINARY_DIR}/${name}_opt${extension}")
  endif()

  set(command "${ASM_EVO_SKILL_EXECUTABLE}" --input "${source}" --output "${output}")
  if(arg_GPU)
    list(APPEND command --gpu "${arg_GPU}")
  endif()
  if(arg_ROCM)
    list(APPEND command --rocm "${arg_ROCM}")
  endif()
  set(constraints "")
  foreach(file IN LISTS arg_CONSTRAINTS)
    get_filename_component(file "${file}" ABSOLUTE BASE_DIR "${CMAKE_CURRENT_SOURCE_DIR}")
    list(APPEND constraints "${file}")
    list(APPEND command --constraints "${file}")
  endforeach()
  list(APPEND command ${arg_OPTIONS})

  get_filename_component(directory "${output}" DIRECTORY)
  file(MAKE_DIRECTORY "${directory}")
  add_custom_command(
    OUTPUT "${output}"
    COMMAND ${command}
    DEPENDS "${source}" ${constraints} "${ASM_EVO_SKILL_EXECUTABLE}"
    COMMENT "Rewriting ${arg_SOURCE} where it is proved safe"
    VERBATIM)
  set(${result} "${output}" PARENT_SCOPE)
endfunction()
