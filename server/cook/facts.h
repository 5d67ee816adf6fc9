/* facts.h - events of assets and jobs, passed to listeners. The trunk (assets, jobs, publishing) records
 * facts and calls no listener by name; listeners are chosen once, at the start. A disabled feature does not
 * subscribe and costs no call.
 *
 * Loop thread. A listener may change assets and publish; it must not wait. */
#ifndef SRV_FACTS_H
#define SRV_FACTS_H

#include "../../core/base/base.h"

typedef enum srv_fact_kind {
	SRV_FACT_SECOND,	   /* once a second */
	SRV_FACT_SOURCE_READ,  /* digest: of the asset's source */
	SRV_FACT_ASSET_FAILED, /* the failure of the asset was stored */
	SRV_FACT_ASSET_GONE,   /* the source of the asset was deleted */
	SRV_FACT_KINDS
} srv_fact_kind;

typedef struct srv_fact {
	srv_fact_kind kind;
	uint32_t asset;
	const void *digest; /* hob_sha256 */
} srv_fact;

enum { SRV_FACT_LISTENERS = 12 };

typedef void srv_fact_hear(void *user, const srv_fact *fact);

typedef struct srv_facts {
	struct {
		srv_fact_hear *hear;
		void *user;
	} listeners[SRV_FACT_KINDS][SRV_FACT_LISTENERS];
	uint32_t counts[SRV_FACT_KINDS];
	uint32_t depth; /* number of facts being passed on: a listener may cause another */
} srv_facts;

/* Listeners of a kind are called in the order of registration. */
void srv_facts_on(srv_facts *facts, srv_fact_kind kind, srv_fact_hear *hear, void *user);
void srv_facts_tell(srv_facts *facts, const srv_fact *fact);

#endif
