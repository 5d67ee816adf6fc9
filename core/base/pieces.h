/* pieces.h - cuts a text at a mark. */
#ifndef HOB_PIECES_H
#define HOB_PIECES_H

#include "base.h"

/* Takes the text up to the next `mark` off the front of *rest, without the mark. False when nothing is left:
 * a mark at the end is followed by an empty piece. */
static inline bool hob_str_piece(hob_str *rest, char mark, hob_str *piece)
{
	if (!rest->data)
		return false;
	const char *end = rest->len > 0 ? memchr(rest->data, mark, rest->len) : NULL;
	size_t length = end ? (size_t)(end - rest->data) : rest->len;
	*piece = (hob_str){rest->data, length};
	*rest = end ? (hob_str){end + 1, rest->len - length - 1} : (hob_str){0};
	return true;
}

/* The same; empty when nothing is left. */
static inline hob_str hob_str_next(hob_str *rest, char mark)
{
	hob_str piece = {0};
	(void)hob_str_piece(rest, mark, &piece);
	return piece;
}

#endif
