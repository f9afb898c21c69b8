/*
 * A mark of the numbers that functions have in this build: FNV-1a over the symbols of functions.def, each followed by a
 * line feed. It lies in the preloaded library, so that a recorder of another build is known. Made by generate.py; do
 * not edit.
 */
#ifndef GW_SHIM_API_FUNCTIONS_MARK_H
#define GW_SHIM_API_FUNCTIONS_MARK_H

#define GW_FUNCTIONS_MARK "gpuwitness functions ad3657556abbabf1"

#endif
