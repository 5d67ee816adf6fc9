#include "inside.h"

#include <sys/socket.h>
#include <unistd.h>

struct mailbox {
	pthread_mutex_t lock;
	int wake_fd;
	uint32_t references; /* number of references: one from the server, and one from each unanswered ask */
	ask *answered, **tail;
};

mailbox *srv_mailbox_new(int wake_fd)
{
	mailbox *box = hob_must(calloc(1, sizeof *box));
	pthread_mutex_init(&box->lock, NULL);
	box->wake_fd = wake_fd;
	box->references = 1;
	box->tail = &box->answered;
	return box;
}

static void unlock_and_drop(mailbox *box)
{
	bool last = --box->references == 0;
	pthread_mutex_unlock(&box->lock);
	if (!last)
		return;
	close(box->wake_fd);
	pthread_mutex_destroy(&box->lock);
	free(box);
}

void srv_mailbox_drop(mailbox *box)
{
	if (!box)
		return;
	pthread_mutex_lock(&box->lock);
	unlock_and_drop(box);
}

ask *srv_mailbox_take(mailbox *box)
{
	SRV_LOCKED(&box->lock);
	ask *list = box->answered;
	box->answered = NULL;
	box->tail = &box->answered;
	for (ask *a = list; a; a = a->next)
		a->answered = true;
	return list;
}

static void ask_free(ask *a)
{
	hob_buf_release(&a->body);
	free(a->control.query);
	free(a->texts);
	free(a);
}

static void on_answer(srv_control *control, int status, hob_str body)
{
	ask *a = control->user;
	mailbox *box = a->box;
	hob_buf copy = {0};
	hob_buf_put_str(&copy, body);
	pthread_mutex_lock(&box->lock);
	a->status = copy.failed ? 503 : status;
	a->body = copy;
	if (a->owner) {
		*box->tail = a;
		box->tail = &a->next;
		srv_wake(box->wake_fd);
	} else {
		ask_free(a);
	}
	unlock_and_drop(box);
}

static hob_str copy_text(char **room, hob_str text)
{
	hob_str copy = {*room, text.len};
	if (text.len > 0)
		memcpy(*room, text.data, text.len);
	(*room)[text.len] = 0;
	*room += text.len + 1;
	return copy;
}

static ask *ask_new(srv_http *http, srv_control_kind kind, hob_str asset, const srv_control *rest)
{
	ask *a = hob_must(calloc(1, sizeof *a));
	srv_control control = rest ? *rest : (srv_control){0};
	char *texts = hob_must(malloc(asset.len + control.text.len + control.tag.len + control.file.len + 4));
	a->texts = texts;
	a->control = control;
	a->control.kind = kind;
	a->control.asset = copy_text(&texts, asset);
	a->control.text = copy_text(&texts, control.text);
	a->control.tag = copy_text(&texts, control.tag);
	a->control.file = copy_text(&texts, control.file);
	a->control.user = a;
	a->control.answer = on_answer;
	a->box = http->box;
	SRV_LOCKED(&a->box->lock);
	a->box->references++;
	return a;
}

/* Whether a peer that ended its side may still read: sends an interim answer, to which a peer that is gone
 * replies with a reset. */
static bool may_be_read(const request *r)
{
	static const char interim[] = "HTTP/1.1 102 Processing\r\n\r\n";
	bool tls = MHD_get_connection_info(r->connection, MHD_CONNECTION_INFO_GNUTLS_SESSION) != NULL;
	return r->takes_interim && !tls &&
		   send(r->fd, interim, sizeof interim - 1, MSG_DONTWAIT | MSG_NOSIGNAL) > 0;
}

enum MHD_Result srv_ask(request *r, srv_control_kind kind, hob_str asset, const srv_control *rest)
{
	srv_ask_forget(r);
	ask *a = ask_new(r->http, kind, asset, rest);
	a->owner = r;
	if (kind == SRV_CONTROL_DERIVE)
		a->control.client = srv_request_client(r);
	r->ask = a;
	r->asked++;
	srv_request_park(r);
	if (r->gone_ms > 0 && kind == SRV_CONTROL_DERIVE && !may_be_read(r))
		atomic_store(&a->control.abandoned, true);
	const srv_http_sources *sources = &r->http->sources;
	const srv_control_port *port = kind == SRV_CONTROL_MIRROR			? &sources->mirrors
								   : kind == SRV_CONTROL_GIT			? &sources->gits
								   : kind >= SRV_CONTROL_FIRST_QUESTION ? &sources->query
																		: &sources->control;
	port->post(port->user, &a->control);
	return MHD_YES;
}

void srv_ask_aside(srv_http *http, srv_control_kind kind, const srv_control *rest)
{
	ask *a = ask_new(http, kind, (hob_str){0}, rest);
	http->sources.control.post(http->sources.control.user, &a->control);
}

void srv_ask_abandon(request *r, bool whole)
{
	ask *a = r->ask;
	if (!a || a->answered || r->http->stopping || a->control.kind != SRV_CONTROL_DERIVE ||
		(!whole && may_be_read(r)) || atomic_exchange(&a->control.abandoned, true))
		return;
	srv_ask_aside(r->http, SRV_CONTROL_ABANDONED, NULL);
}

void srv_ask_forget(request *r)
{
	ask *a = r->ask;
	if (!a)
		return;
	srv_ask_abandon(r, true);
	r->ask = NULL;
	pthread_mutex_lock(&a->box->lock);
	bool free_now = a->answered;
	a->owner = NULL;
	if (!free_now)
		/* Answered while the server stops: the ask is still in the list, and nobody will take it. */
		for (ask **at = &a->box->answered; *at; at = &(*at)->next)
			if (*at == a) {
				*at = a->next;
				if (!a->next)
					a->box->tail = at;
				free_now = true;
				break;
			}
	pthread_mutex_unlock(&a->box->lock);
	if (free_now)
		ask_free(a);
}
