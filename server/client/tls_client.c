#include "tls_client.h"

#include <arpa/inet.h>
#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <signal.h>
#include <stdlib.h>

struct srv_tls {
	SSL_CTX *context;
	SSL *ssl;
};

const char **srv_tls_ca_file(void)
{
	static const char *file;
	static bool asked;
	if (!asked) {
		const char *told = getenv("HOB_CACERT");
		file = told && told[0] ? told : NULL;
		asked = true;
	}
	return &file;
}

static const char *reason(void)
{
	const char *text = ERR_reason_error_string(ERR_peek_last_error());
	return text ? text : "no reason given";
}

static bool trust(SSL_CTX *context, hob_error *err)
{
	const char *file = *srv_tls_ca_file();
	if (!file)
		return SSL_CTX_set_default_verify_paths(context) == 1 ||
			   hob_fail(err, IO, "the system's certificates cannot be read: %s", reason());
	return SSL_CTX_load_verify_locations(context, file, NULL) == 1 ||
		   hob_fail(err, USAGE, "'%s' holds no certificates in PEM that can be read: %s", file, reason());
}

static bool expect_name(SSL *ssl, const char *host)
{
	unsigned char address[16];
	bool literal = inet_pton(AF_INET, host, address) == 1 || inet_pton(AF_INET6, host, address) == 1;
	if (literal)
		return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host) == 1;
	SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
	return SSL_set1_host(ssl, host) == 1 && SSL_ctrl(ssl, SSL_CTRL_SET_TLSEXT_HOSTNAME,
													 TLSEXT_NAMETYPE_host_name, (void *)(uintptr_t)host) == 1;
}

static bool fail_handshake(const srv_tls *tls, const char *host, const char *url, hob_error *err)
{
	long verdict = SSL_get_verify_result(tls->ssl);
	const char *why = verdict == X509_V_OK ? reason() : X509_verify_cert_error_string(verdict);
	if (verdict == X509_V_ERR_HOSTNAME_MISMATCH || verdict == X509_V_ERR_IP_ADDRESS_MISMATCH)
		return hob_fail(err, IO, "the certificate of %s is not for '%s'; use a name that it was made for",
						url, host);
	if (verdict != X509_V_OK)
		return hob_fail(
			err, IO,
			"the certificate of %s is not trusted: %s; name the file of its authority with --cacert "
			"FILE or HOB_CACERT",
			url, why);
	return hob_fail(err, IO, "%s does not speak TLS (%s); without it the address begins with http://", url,
					why);
}

/* Blocks SIGPIPE in this thread, as OpenSSL writes without MSG_NOSIGNAL; release_signal consumes it. */
static void hold_signal(sigset_t *before)
{
	sigset_t pipe;
	sigemptyset(&pipe);
	sigaddset(&pipe, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &pipe, before);
}

static void release_signal(const sigset_t *before)
{
	sigset_t pipe;
	sigemptyset(&pipe);
	sigaddset(&pipe, SIGPIPE);
	if (!sigismember(before, SIGPIPE))
		while (sigtimedwait(&pipe, NULL, &(struct timespec){0}) < 0 && errno == EINTR)
			;
	pthread_sigmask(SIG_SETMASK, before, NULL);
}

bool srv_tls_open(int fd, const char *host, const char *url, srv_tls **out, hob_error *err)
{
	srv_tls *tls = calloc(1, sizeof *tls);
	ERR_clear_error();
	if (tls)
		tls->context = SSL_CTX_new(TLS_client_method());
	bool ok = tls && tls->context && SSL_CTX_set_min_proto_version(tls->context, TLS1_2_VERSION) == 1;
	if (!ok)
		hob_fail(err, MEMORY, "no memory left for TLS");
	ok = ok && trust(tls->context, err);
	if (ok) {
		SSL_CTX_set_verify(tls->context, SSL_VERIFY_PEER, NULL);
		tls->ssl = SSL_new(tls->context);
		ok = (tls->ssl && SSL_set_fd(tls->ssl, fd) == 1 && expect_name(tls->ssl, host)) ||
			 hob_fail(err, MEMORY, "no memory left for TLS");
	}
	if (ok) {
		sigset_t before;
		hold_signal(&before);
		bool shaken = SSL_connect(tls->ssl) == 1;
		release_signal(&before);
		ok = shaken || fail_handshake(tls, host, url, err);
	}
	if (ok)
		*out = tls;
	else
		srv_tls_close(tls);
	return ok;
}

bool srv_tls_send(srv_tls *tls, const void *data, size_t size)
{
	size_t wrote = 0;
	sigset_t before;
	hold_signal(&before);
	bool ok = size == 0 || (SSL_write_ex(tls->ssl, data, size, &wrote) == 1 && wrote == size);
	release_signal(&before);
	return ok;
}

ssize_t srv_tls_recv(srv_tls *tls, void *data, size_t size)
{
	size_t got = 0;
	return SSL_read_ex(tls->ssl, data, size, &got) == 1 ? (ssize_t)got : 0;
}

void srv_tls_close(srv_tls *tls)
{
	if (!tls)
		return;
	SSL_free(tls->ssl);
	SSL_CTX_free(tls->context);
	free(tls);
}
