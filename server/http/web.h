/* web.h - the dashboard's files, built into the program; written by web/build/embed.cmake.
 *
 * index.html is the page for every address below /ui and for "/"; the names of other files contain a hash of
 * their content, so that they never change. A program without the dashboard has none of them. */
#ifndef SRV_WEB_H
#define SRV_WEB_H

typedef struct srv_web_file {
	const char *name, *type;		 /* "main-2VPJ4QNA.js", "text/javascript; charset=utf-8" */
	const char *plain, *plain_end;	 /* content; NULL: only the gzip exists */
	const char *packed, *packed_end; /* content as gzip */
} srv_web_file;

/* Ends with an entry whose name is NULL. */
extern const srv_web_file srv_web_files[];

#endif
