/* Text that a command had a hand in, made harmless: for a terminal, and for who reads the violations block.
 * Pure. */
#ifndef OS_SANDBOX_VIOLATIONS_ESCAPE_H
#define OS_SANDBOX_VIOLATIONS_ESCAPE_H

#include <stdio.h>

/* The tag that the block begins and ends with. */
#define BLOCK_TAG "sandbox_violations"

/*
 * Writes the text with all that cannot be seen, moves the cursor or ends a line as \n, \uXXXX or \u{XXXXX},
 * and with the "<" of the block's own tags as \u003c, in any case and with any blanks in them.
 */
void escape_text(FILE *out, const char *text);

#endif
