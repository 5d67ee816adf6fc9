/* web.h - the dashboard's files, part of the program; written by web/build/embed.cmake.
 *
 * index.html is the page of every address below /ui and of "/"; the others have a hash of their content in
 * their names and never change. A program without the dashboard has none of them. */
#ifndef SRV_WEB_H
#define SRV_WEB_H

typedef struct srv_web_file {
	const char *name, *type;		 /* "main-2VPJ4QNA.js", "text/javascript; charset=utf-8" */
	const char *plain, *plain_end;	 /* its bytes; NULL: there is only the gzip */
	const char *packed, *packed_end; /* the same as gzip */
} srv_web_file;

/* The last one has the name NULL. */
extern const srv_web_file srv_web_files[];

#endif
