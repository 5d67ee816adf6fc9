#include "fetch.h"

#include "wide.h"

#include <winhttp.h>

#include <stdio.h>
#include <stdlib.h>

/* winhttp: uses the proxies and certificates configured in Windows. */

enum { PIECE = 128 << 10, ANSWER_MAX = 64 << 20, SILENCE_MS = 60000, CONNECT_MS = 10000 };

struct agent_fetch {
	HINTERNET session, connection;
	bool tls;
	char url[256];
	wchar_t *token; /* a header line, or NULL */
};

static bool fail(hob_error *err, const agent_fetch *fetch, const char *what)
{
	static const struct {
		DWORD code;
		const char *text;
	} known[] = {{ERROR_WINHTTP_CANNOT_CONNECT,
				  "nobody answers there; is the daemon running, and may others reach it?"},
				 {ERROR_WINHTTP_NAME_NOT_RESOLVED, "there is no machine of this name"},
				 {ERROR_WINHTTP_TIMEOUT, "no answer in time"},
				 {ERROR_WINHTTP_CONNECTION_ERROR, "the connection was cut"},
				 {ERROR_WINHTTP_SECURE_FAILURE,
				  "TLS: Windows does not trust its certificate, or it is for another name"}};
	DWORD code = GetLastError();
	for (size_t i = 0; i < HOB_COUNT_OF(known); i++)
		if (known[i].code == code)
			return hob_fail(err, IO, "%s: %s", fetch->url, known[i].text);
	return hob_fail(err, IO, "%s: %s (error %lu of Windows)", fetch->url, what, code);
}

agent_fetch *agent_fetch_open(const char *url, const char *token, const char *ca_file, hob_error *err)
{
	agent_fetch *fetch = calloc(1, sizeof *fetch);
	wchar_t *wide = agent_wide_text(hob_str_of(url)), host[256];
	URL_COMPONENTS parts = {.dwStructSize = sizeof parts, .lpszHostName = host, .dwHostNameLength = 256};
	bool ok = fetch && wide && !ca_file && WinHttpCrackUrl(wide, 0, 0, &parts);
	free(wide);
	if (!ok) {
		free(fetch);
		(void)!hob_fail(err, USAGE,
						ca_file ? "--cacert: add the certificate to Windows instead (certmgr)"
								: "'%s' is not an address like http://hob.studio:7780",
						url);
		return NULL;
	}
	snprintf(fetch->url, sizeof fetch->url, "%s", url);
	fetch->tls = parts.nScheme == INTERNET_SCHEME_HTTPS;
	hob_buf line = {0};
	hob_buf_printf(&line, "Authorization: Bearer %s\r\n", token);
	fetch->token = token[0] ? agent_wide_text(hob_buf_str(&line)) : NULL;
	hob_buf_release(&line);
	fetch->session = WinHttpOpen(L"hob-agent", WINHTTP_ACCESS_TYPE_DEFAULT_PROXY, NULL, NULL, 0);
	fetch->connection = fetch->session ? WinHttpConnect(fetch->session, host, parts.nPort, 0) : NULL;
	if (fetch->connection)
		return fetch;
	(void)!fail(err, fetch, "cannot start");
	agent_fetch_close(fetch);
	return NULL;
}

void agent_fetch_close(agent_fetch *fetch)
{
	if (!fetch)
		return;
	if (fetch->connection)
		WinHttpCloseHandle(fetch->connection);
	if (fetch->session)
		WinHttpCloseHandle(fetch->session);
	free(fetch->token);
	free(fetch);
}

/* *cut: the file ends before what was announced, so there is no answer to wait for. */
static bool write_body(HINTERNET handle, const fetch_request *r, uint64_t *sent, bool *cut)
{
	DWORD wrote;
	if (!r->file) {
		*sent += r->body.len;
		return r->body.len == 0 || WinHttpWriteData(handle, r->body.data, (DWORD)r->body.len, &wrote);
	}
	char *room = malloc(PIECE);
	uint64_t left = r->size - r->from;
	bool ok = room != NULL;
	while (ok && left > 0) {
		int64_t got = sys_read(r->file, room, left < PIECE ? (size_t)left : PIECE);
		*cut = got <= 0;
		ok = !*cut && WinHttpWriteData(handle, room, (DWORD)got, &wrote);
		left -= ok ? (uint64_t)got : 0;
		*sent += ok ? (uint64_t)got : 0;
	}
	free(room);
	return ok;
}

static bool read_answer(const agent_fetch *fetch, HINTERNET handle, int *status, hob_buf *answer,
						hob_error *err)
{
	DWORD code = 0, size = sizeof code, got = 1;
	if (!WinHttpReceiveResponse(handle, NULL) ||
		!WinHttpQueryHeaders(handle, WINHTTP_QUERY_STATUS_CODE | WINHTTP_QUERY_FLAG_NUMBER, NULL, &code,
							 &size, NULL))
		return fail(err, fetch, "no answer");
	*status = (int)code;
	char bytes[16384];
	while (got > 0) {
		if (!WinHttpReadData(handle, bytes, sizeof bytes, &got))
			return fail(err, fetch, "the answer was cut off");
		hob_buf_put(answer, bytes, got);
		if (answer->failed || answer->size > ANSWER_MAX)
			return hob_fail(err, IO, "the answer of %s is too large", fetch->url);
	}
	return true;
}

bool agent_fetch_send(agent_fetch *fetch, const fetch_request *r, int *status, hob_buf *answer,
					  uint64_t *sent, hob_error *err)
{
	char lines[160] = "";
	hob_buf_clear(answer);
	uint64_t length = r->file ? r->size - r->from : r->body.len;
	/* winhttp's own length is 32 bits. */
	if (length > UINT32_MAX)
		return hob_fail(err, IO, "files of more than 4 GiB cannot be sent");
	if (r->file && r->from > 0)
		snprintf(lines, sizeof lines,
				 "Content-Type: application/octet-stream\r\nContent-Range: bytes %llu-%llu/%llu\r\n",
				 (unsigned long long)r->from, (unsigned long long)r->size - 1, (unsigned long long)r->size);
	else
		snprintf(lines, sizeof lines, "Content-Type: application/%s\r\n", r->file ? "octet-stream" : "json");
	wchar_t *method = agent_wide_text(hob_str_of(r->method)),
			*target = agent_wide_text(hob_str_of(r->target));
	wchar_t *headers = agent_wide_text(hob_str_of(lines));
	HINTERNET handle =
		!method || !target || !headers
			? NULL
			: WinHttpOpenRequest(fetch->connection, method, target, NULL, NULL, NULL,
								 WINHTTP_FLAG_ESCAPE_DISABLE | (fetch->tls ? WINHTTP_FLAG_SECURE : 0));
	int silence = (int)(r->silence_ms ? r->silence_ms : SILENCE_MS);
	bool ok = handle && WinHttpSetTimeouts(handle, CONNECT_MS, CONNECT_MS, silence, silence) &&
			  WinHttpAddRequestHeaders(handle, headers, (DWORD)-1, WINHTTP_ADDREQ_FLAG_ADD) &&
			  (!fetch->token ||
			   WinHttpAddRequestHeaders(handle, fetch->token, (DWORD)-1, WINHTTP_ADDREQ_FLAG_ADD)) &&
			  WinHttpSendRequest(handle, NULL, 0, NULL, 0, (DWORD)length, 0);
	if (!ok)
		(void)!fail(err, fetch, "cannot send");
	/* A refusal may arrive before everything is sent. */
	if (ok) {
		bool cut = false;
		write_body(handle, r, sent, &cut);
		ok = cut ? hob_fail(err, IO, "the file became shorter while it was sent")
				 : read_answer(fetch, handle, status, answer, err);
	}
	if (handle)
		WinHttpCloseHandle(handle);
	free(method);
	free(target);
	free(headers);
	return ok;
}
