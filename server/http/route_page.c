#include "inside.h"

#include <stdio.h>

/* Files that are part of the program: linked in as they lie in the source tree. */
#define EMBED(name, path)                                                                                    \
	__asm__(".section .rodata\n"                                                                             \
			".balign 16\n"                                                                                   \
			".global " #name "_begin\n" #name "_begin:\n.incbin \"" path "\"\n"                              \
			".global " #name "_end\n" #name "_end:\n"                                                        \
			".byte 0\n.previous\n");                                                                         \
	extern const char name##_begin[], name##_end[]

EMBED(hob_page_html, "server/http/page/page.html");
EMBED(hob_page_css, "server/http/page/page.css");
EMBED(hob_page_js, "server/http/page/page.js");
EMBED(hob_page_svg, "server/http/page/icon.svg");
EMBED(hob_openapi, "schema/openapi.json");

static enum MHD_Result reply_file(request *r, const char *begin, const char *end, const char *type)
{
	size_t size = (size_t)(end - begin);
	char etag[40];
	uint64_t hash[2];
	hob_fast_hash((hob_bytes){(const uint8_t *)begin, size}, hash);
	snprintf(etag, sizeof etag, "\"%016llx\"", (unsigned long long)hash[0]);
	struct MHD_Response *response =
		MHD_create_response_from_buffer(size, (void *)(uintptr_t)begin, MHD_RESPMEM_PERSISTENT);
	response_add(response, "Content-Type", type);
	response_add(response, "Cache-Control", "no-cache");
	response_add(response, "ETag", etag);
	response_add(response, "X-Content-Type-Options", "nosniff");
	response_add(response, "Cross-Origin-Resource-Policy", "same-origin");
	response_add(response, "Content-Security-Policy",
				 "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'");
	response_add(response, "Referrer-Policy", "no-referrer");
	bool unchanged = r->head.if_none_match.data && etag_in_list(r->head.if_none_match, hob_str_of(etag));
	return reply(r, unchanged ? MHD_HTTP_NOT_MODIFIED : MHD_HTTP_OK, response, size);
}

enum MHD_Result srv_route_page(request *r)
{
	return reply_file(r, hob_page_html_begin, hob_page_html_end, "text/html; charset=utf-8");
}

enum MHD_Result srv_route_page_style(request *r)
{
	return reply_file(r, hob_page_css_begin, hob_page_css_end, "text/css; charset=utf-8");
}

enum MHD_Result srv_route_page_script(request *r)
{
	return reply_file(r, hob_page_js_begin, hob_page_js_end, "text/javascript; charset=utf-8");
}

enum MHD_Result srv_route_page_icon(request *r)
{
	return reply_file(r, hob_page_svg_begin, hob_page_svg_end, "image/svg+xml");
}

enum MHD_Result srv_route_openapi(request *r)
{
	return reply_file(r, hob_openapi_begin, hob_openapi_end, "application/json");
}
