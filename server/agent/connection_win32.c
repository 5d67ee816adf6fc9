#include "../client/connection.h"

#include "../client/tls_client.h"
#include "wide.h"

#include <winhttp.h>

#include <stdio.h>
#include <stdlib.h>

/* server/client's connections on winhttp, which uses the proxies and certificates configured in Windows. */

struct srv_connection {
	HINTERNET session, host, request;
	const srv_peer *peer;
	bool tls, whole;
	uint32_t silence_ms;
};

static void close_handle(HINTERNET *handle)
{
	if (*handle)
		WinHttpCloseHandle(*handle);
	*handle = NULL;
}

enum {
	FLAWS = SECURITY_FLAG_IGNORE_UNKNOWN_CA | SECURITY_FLAG_IGNORE_CERT_CN_INVALID |
			SECURITY_FLAG_IGNORE_CERT_DATE_INVALID | SECURITY_FLAG_IGNORE_CERT_WRONG_USAGE
};

/* `ignore`: the flag with which winhttp accepts this flaw of a certificate. */
static const struct {
	DWORD code, ignore;
	const char *text;
} known[] = {{ERROR_WINHTTP_CANNOT_CONNECT, 0,
			  "nobody answers there; is the daemon running, and may others reach it?"},
			 {ERROR_WINHTTP_NAME_NOT_RESOLVED, 0, "there is no machine of this name"},
			 {ERROR_WINHTTP_TIMEOUT, 0, "no answer in time"},
			 {ERROR_WINHTTP_CONNECTION_ERROR, 0, "the connection was cut"},
			 {ERROR_WINHTTP_RESEND_REQUEST, 0, "the connection was cut"},
			 {ERROR_WINHTTP_INVALID_SERVER_RESPONSE, 0, "that is no HTTP answer"},
			 {ERROR_WINHTTP_AUTO_PROXY_SERVICE_ERROR, 0, "the proxy that Windows is set to cannot be found"},
			 {ERROR_WINHTTP_UNABLE_TO_DOWNLOAD_SCRIPT, 0, "the proxy that Windows is set to cannot be found"},
			 {ERROR_WINHTTP_SECURE_INVALID_CA, SECURITY_FLAG_IGNORE_UNKNOWN_CA,
			  "Windows does not trust its certificate; add it, or that of its authority, with certmgr"},
			 {ERROR_WINHTTP_SECURE_CERT_CN_INVALID, SECURITY_FLAG_IGNORE_CERT_CN_INVALID,
			  "its certificate is not for this name; use a name that it was made for"},
			 {ERROR_WINHTTP_SECURE_CERT_DATE_INVALID, SECURITY_FLAG_IGNORE_CERT_DATE_INVALID,
			  "its certificate has ended or not begun; renew it, and look at the clocks of both machines"},
			 {ERROR_WINHTTP_SECURE_CERT_WRONG_USAGE, SECURITY_FLAG_IGNORE_CERT_WRONG_USAGE,
			  "its certificate is not made for servers; the daemon needs another"},
			 {ERROR_WINHTTP_SECURE_INVALID_CERT, FLAWS,
			  "Windows trusts neither its certificate nor its name; the daemon needs another certificate"},
			 {ERROR_WINHTTP_SECURE_CERT_REVOKED, 0, "its certificate was revoked; the daemon needs another"},
			 {ERROR_WINHTTP_SECURE_CERT_REV_FAILED, 0,
			  "Windows cannot ask whether its certificate was revoked; look at the network of this machine"},
			 {ERROR_WINHTTP_SECURE_CHANNEL_ERROR, 0,
			  "it does not speak TLS that Windows knows; without TLS the address begins with http://"},
			 {ERROR_WINHTTP_CLIENT_AUTH_CERT_NEEDED, 0,
			  "it asks for a certificate of this machine, which hob-agent cannot give; is it a daemon?"}};

/* Whether TLS is agreed on if these flaws of the certificate are ignored. The request has neither token nor
 * body: winhttp waits for an answer to a whole one. */
static bool gets_through(const srv_connection *c, DWORD ignore)
{
	HINTERNET request = WinHttpOpenRequest(c->host, L"POST", L"/", NULL, NULL, NULL, WINHTTP_FLAG_SECURE);
	int wait = (int)c->peer->connect_ms;
	bool through = request && WinHttpSetTimeouts(request, wait, wait, wait, wait) &&
				   WinHttpSetOption(request, WINHTTP_OPTION_SECURITY_FLAGS, &ignore, sizeof ignore) &&
				   WinHttpSendRequest(request, NULL, 0, NULL, 0, 1, 0);
	close_handle(&request);
	return through;
}

static bool fail(const srv_connection *c, const char *what, hob_error *err)
{
	DWORD code = GetLastError();
	bool plain = code == ERROR_WINHTTP_CONNECTION_ERROR || code == ERROR_WINHTTP_INVALID_SERVER_RESPONSE;
	const char *advice =
		plain && !c->tls ? "; a daemon with a certificate is asked as https://HOST:PORT" : "";
	/* Two codes stand for any failure of TLS. */
	if (code == ERROR_WINHTTP_SECURE_FAILURE || code == ERROR_WINHTTP_SECURE_CHANNEL_ERROR) {
		code = ERROR_WINHTTP_SECURE_CHANNEL_ERROR;
		for (size_t i = 0; i < HOB_COUNT_OF(known) && code == ERROR_WINHTTP_SECURE_CHANNEL_ERROR; i++)
			if (known[i].ignore && gets_through(c, known[i].ignore))
				code = known[i].code;
	}
	for (size_t i = 0; i < HOB_COUNT_OF(known); i++)
		if (known[i].code == code)
			return hob_fail(err, IO, "%s: %s%s", c->peer->url, known[i].text, advice);
	return hob_fail(err, IO, "%s: %s (error %lu of Windows)", c->peer->url, what, code);
}

const char **srv_tls_ca_file(void)
{
	static const char *file;
	return &file;
}

bool srv_connect(const srv_peer *peer, srv_connection **out, hob_error *err)
{
	srv_connection *c = calloc(1, sizeof *c);
	hob_own wchar_t *url = agent_wide_text(hob_str_of(peer->url));
	wchar_t host[256];
	URL_COMPONENTS parts = {.dwStructSize = sizeof parts, .lpszHostName = host, .dwHostNameLength = 256};
	bool ok = c && url;
	if (!ok)
		ok = hob_fail(err, MEMORY, "no memory left to connect");
	else if (*srv_tls_ca_file())
		ok = hob_fail(err, USAGE, "--cacert: add the certificate to Windows instead (certmgr)");
	else if (!WinHttpCrackUrl(url, 0, 0, &parts))
		ok = hob_fail(err, USAGE, "'%s' is not an address like http://hob.studio:7780", peer->url);
	if (ok) {
		c->peer = peer;
		c->tls = parts.nScheme == INTERNET_SCHEME_HTTPS;
		c->session = WinHttpOpen(L"hob-agent", WINHTTP_ACCESS_TYPE_DEFAULT_PROXY, NULL, NULL, 0);
		c->host = c->session ? WinHttpConnect(c->session, host, parts.nPort, 0) : NULL;
		ok = c->host || fail(c, "cannot start", err);
	}
	if (ok)
		*out = c;
	else
		srv_disconnect(c);
	return ok;
}

void srv_disconnect(srv_connection *c)
{
	if (!c)
		return;
	close_handle(&c->request);
	close_handle(&c->host);
	close_handle(&c->session);
	free(c);
}

void srv_connection_limit_silence(srv_connection *c, uint32_t ms)
{
	c->silence_ms = ms;
}

bool srv_connection_ask(srv_connection *c, const srv_ask *ask, hob_error *err)
{
	hob_own_buf lines = {0};
	/* winhttp's own length is 32 bits. */
	if (ask->body_size > UINT32_MAX)
		return hob_fail(err, IO, "files of more than 4 GiB cannot be sent");
	hob_buf_printf(&lines, "Content-Type: %s\r\n%s", ask->type ? ask->type : "application/json",
				   ask->headers ? ask->headers : "");
	if (c->peer->token && c->peer->token[0])
		hob_buf_printf(&lines, "Authorization: Bearer %s\r\n", c->peer->token);
	hob_own wchar_t *method = agent_wide_text(hob_str_of(ask->method)),
					*target = agent_wide_text(hob_str_of(ask->target)),
					*headers = lines.failed ? NULL : agent_wide_text(hob_buf_str(&lines));
	close_handle(&c->request);
	c->whole = false;
	if (method && target && headers)
		c->request = WinHttpOpenRequest(c->host, method, target, NULL, NULL, NULL,
										WINHTTP_FLAG_ESCAPE_DISABLE | (c->tls ? WINHTTP_FLAG_SECURE : 0));
	bool ok = c->request &&
			  WinHttpSetTimeouts(c->request, (int)c->peer->connect_ms, (int)c->peer->connect_ms,
								 (int)c->silence_ms, (int)c->silence_ms) &&
			  WinHttpAddRequestHeaders(c->request, headers, (DWORD)-1, WINHTTP_ADDREQ_FLAG_ADD) &&
			  WinHttpSendRequest(c->request, NULL, 0, NULL, 0, (DWORD)ask->body_size, 0);
	if (!ok)
		ok = fail(c, "cannot send", err);
	return ok;
}

bool srv_connection_put(srv_connection *c, const void *data, size_t size, hob_error *err)
{
	DWORD wrote;
	return size == 0 || WinHttpWriteData(c->request, data, (DWORD)size, &wrote) ||
		   fail(c, "took only a part of a request", err);
}

bool srv_connection_answer(srv_connection *c, srv_answer *out, hob_error *err)
{
	DWORD code = 0, size = sizeof code;
	bool ok = WinHttpReceiveResponse(c->request, NULL) &&
			  WinHttpQueryHeaders(c->request, WINHTTP_QUERY_STATUS_CODE | WINHTTP_QUERY_FLAG_NUMBER, NULL,
								  &code, &size, NULL);
	*out = (srv_answer){.status = (int)code};
	return ok || fail(c, "no answer", err);
}

size_t srv_connection_read(srv_connection *c, void *out, size_t room)
{
	DWORD got = 0;
	c->whole = WinHttpReadData(c->request, out, (DWORD)room, &got) && got == 0;
	return got;
}

bool srv_connection_is_whole(const srv_connection *c)
{
	return c->whole;
}

bool srv_connection_is_reusable(const srv_connection *c)
{
	return c->whole;
}
