/* embed.h - links files into the program, unchanged. Paths are relative to the project's folder;
 * server/CMakeLists.txt lists them as dependencies of the object that uses this. */
#ifndef SRV_HTTP_EMBED_H
#define SRV_HTTP_EMBED_H

/* Defines name_begin and name_end around the file's bytes. */
#define EMBED(name, path)                                                                                    \
	__asm__(".section .rodata\n"                                                                             \
			".balign 16\n"                                                                                   \
			".global " #name "_begin\n" #name "_begin:\n.incbin \"" path "\"\n"                              \
			".global " #name "_end\n" #name "_end:\n"                                                        \
			".byte 0\n.previous\n");                                                                         \
	extern const char name##_begin[], name##_end[]

#endif
