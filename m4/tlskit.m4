dnl SPDX-License-Identifier: GPL-3.0-or-later

dnl TK_FLAG(FLAG, [compile|link|both], [IF-NOT])
dnl Adds FLAG to TK_CFLAGS (compile, the default), TK_LDFLAGS (link) or both,
dnl when the compiler takes it without a warning.
AC_DEFUN([TK_FLAG], [
  AC_MSG_CHECKING([whether $CC takes $1])
  tk_save_cflags=$CFLAGS
  CFLAGS="$CFLAGS $TK_CFLAGS -Werror $1"
  AC_LINK_IFELSE([AC_LANG_PROGRAM([], [])], [tk_ok=yes], [tk_ok=no])
  CFLAGS=$tk_save_cflags
  AC_MSG_RESULT([$tk_ok])
  AS_IF([test "$tk_ok" = yes], [
    m4_case([$2],
      [link], [TK_LDFLAGS="$TK_LDFLAGS $1"],
      [both], [TK_CFLAGS="$TK_CFLAGS $1"; TK_LDFLAGS="$TK_LDFLAGS $1"],
      [TK_CFLAGS="$TK_CFLAGS $1"])
  ], [m4_default([$3], [:])])
])

dnl TK_FORTIFY(LEVEL, [IF-NOT])
dnl Has the C library check buffer sizes (_FORTIFY_SOURCE), when its headers take
dnl LEVEL with these flags without a warning. It takes an optimizing compiler.
AC_DEFUN([TK_FORTIFY], [
  AC_MSG_CHECKING([whether the C library takes _FORTIFY_SOURCE=$1])
  tk_save_cflags=$CFLAGS
  tk_fortify="-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=$1"
  CFLAGS="$CFLAGS $TK_CFLAGS -Werror $tk_fortify"
  AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[
#include <stdio.h>
#ifndef __OPTIMIZE__
#error "nothing is checked without optimization"
#endif
]], [])], [tk_ok=yes], [tk_ok=no])
  CFLAGS=$tk_save_cflags
  AC_MSG_RESULT([$tk_ok])
  AS_IF([test "$tk_ok" = yes], [TK_CPPFLAGS="$TK_CPPFLAGS $tk_fortify"], [m4_default([$2], [:])])
])

dnl TK_THREADS: POSIX threads, in the C library or beside it
AC_DEFUN([TK_THREADS], [
  TK_FLAG([-pthread], [both])
])
