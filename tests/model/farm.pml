/* farm.pml - the protocol of a farm: claim, lease, heartbeat, outbox, fence, notification; machines that stop,
 * crash, sleep and are cut off. farm.py checks it with spin, then removes each guard and expects a trail.
 *
 * M machines want K lookups, with one key each and one right result. A statement of the database is one atomic
 * step, because it is one transaction there. Time is a flag: a lease is valid until it lapses. It can lapse only
 * while nobody renews it, and SLOW times while its machine is merely late.
 *
 * Checked: nobody waits for ever (every machine ends with every result, also cut off); no result is lost; a
 * record is inserted once, with its blobs in the store, and never against a valid lease of another machine; only
 * its holder or time ends a lease; without faults each key is cooked once. */

/* README.md names the function behind each step and each guard. */
#ifndef M
#define M 3
#endif
#ifndef K
#define K 2
#endif
#ifndef FAULTS
#define FAULTS 1
#endif

#define at(m, k) ((m) * K + (k))
#define none 0
#define self(m) ((m) + 1)

byte owner[K];		/* of the lease; none, or self(m) */
bool lapsed[K];		/* its time is over */
byte records[K];	/* rows of the key */
bool blobs[K];		/* the store has the outputs */

bool up[M];			/* reaches the database */
bool awake[M];
bool gone[M];		/* stopped for good */
bool away[M];		/* cut off for good */
bool crash[M * K];	/* the machine crashed: leases and jobs are forgotten, the outbox stays */
bool done[M * K];	/* the job has ended */
bool lease[M * K];	/* what the machine believes to hold */
bool gave_up[M * K];	/* given up, but hob_leave failed */
bool outbox[M * K];
byte heard[M * K];	/* 1: the claim is parked; 2: and a notification arrived */
bool fresh[M * K];	/* the asset is served */

byte cooks[K];
bool good[K];		/* somebody has made the result */
byte faults;

#define others_valid(m, k) (owner[k] != none && owner[k] != self(m) && !lapsed[k])

/* Guard CLAIM_FREE, schema/farm_4.sql:
 *   "(h.until < clock_timestamp() or h.until > clock_timestamp() + interval '1 day' or h.owner = excluded.owner)" */
#ifdef NO_CLAIM_FREE
#define may_claim(m, k) true
#else
#define may_claim(m, k) (!others_valid(m, k))
#endif

/* Guard CLAIM_SEEN, schema/farm_4.sql, seen is 0 here:
 *   "where least(h.records, 64) = least(i.seen, 64)" */
#ifdef NO_CLAIM_SEEN
#define is_news(k) false
#else
#define is_news(k) (records[k] != 0)
#endif

/* Guard PARK_TIME, server/upstream/farm_claim.c:
 *   "o->look_at = srv_clock_ms(CLOCK_MONOTONIC) + (heard ? 0 : left < LOOK_MS ? left : LOOK_MS);" */
#ifdef NO_PARK_TIME
#define is_time(m, k) false
#else
#define is_time(m, k) (may_claim(m, k) || is_news(k))
#endif

/* Guard ALONE, server/upstream/carry.c:
 *   "srv_carry_fail_all(u, &u->claims); srv_carry_fail_all(u, &u->parked);" */
#ifdef NO_ALONE
#define is_alone(m) false
#else
#define is_alone(m) (!up[m])
#endif

/* Guard FENCE, schema/farm_4.sql:
 *   "elsif l.owner <> p_owner and l.until > clock_timestamp()" */
#ifdef NO_FENCE
#define is_late(m, k) false
#else
#define is_late(m, k) (others_valid(m, k))
#endif

/* Guard KNOWN, schema/farm_4.sql:
 *   "if kept = decode(p_result, 'hex') then verdict := 'known';" */
#ifdef NO_KNOWN
#define is_known(k) false
#else
#define is_known(k) (records[k] > 0)
#endif

/* Guard LEFT, server/upstream/farm_claim.c:
 *   "if (!l->asked && !l->left)" */
#ifdef NO_LEFT
#define is_renewed(m, k) (lease[at(m, k)])
#else
#define is_renewed(m, k) (lease[at(m, k)] && !gave_up[at(m, k)])
#endif

/* Afterwards a key may be cooked twice, so the count says nothing more. */
inline fault()
{
	faults++; cooks[0] = 0; cooks[K - 1] = 0
}

inline notify(k)
{
	byte n = 0;
	do
	:: n < M && heard[at(n, k)] == 1 -> heard[at(n, k)] = 2; n++
	:: n < M && heard[at(n, k)] != 1 -> n++
	:: else -> break
	od;
	n = 0
}

/* Guard RELEASE, schema/farm.sql:
 *   "and h.owner = p_owner returning h.lookup" */
inline release(m, k)
{
#ifdef NO_RELEASE
	assert(!others_valid(m, k));
	owner[k] = none; lapsed[k] = false;
#else
	if
	:: owner[k] == self(m) -> owner[k] = none; lapsed[k] = false
	:: else
	fi;
#endif
	lease[at(m, k)] = false;
	gave_up[at(m, k)] = false
}

/* Guard BLOBS_FIRST, server/upstream/exchange.c:
 *   "end = x->way->give_blob(x, &record.outputs[i]);"
 * Guard OUTBOX, server/upstream/carry.c:
 *   "case SRV_EXCHANGE_LATE: u->facts.late++; u->give_at = srv_clock_ms(CLOCK_MONOTONIC) + LATE_MS; return;" */

/* Insert and its checks; the row's primary key allows one. */
inline insert(m, k)
{
	assert(!others_valid(m, k));
	records[k]++;
	assert(records[k] == 1)
}

#define runs (awake[m] && !crash[at(m, k)])
#define crashed (crash[at(m, k)])

proctype job(byte m; byte k)
{
	bool was_away = false;
look:
	atomic {
		if
		:: crashed -> crash[at(m, k)] = false; was_away = false; goto look
		:: runs ->
			if
			:: outbox[at(m, k)] -> fresh[at(m, k)] = true; goto deliver /* after a crash: the result is here */
			:: else
			fi;
			if
			:: is_alone(m) -> goto cook
			:: up[m] && records[k] > 0 -> goto fetch
			:: up[m] && records[k] == 0
			fi
		fi
	}
claim:
	atomic {
		if
		:: crashed -> crash[at(m, k)] = false; was_away = false; goto look
		:: runs && is_alone(m) -> goto cook
		:: runs && up[m] ->
			heard[at(m, k)] = 0;
			if
			:: is_news(k) -> goto fetch
			:: !is_news(k) && may_claim(m, k) ->
				owner[k] = self(m); lapsed[k] = false;
				lease[at(m, k)] = true; gave_up[at(m, k)] = false;
				goto cook
			:: !is_news(k) && !may_claim(m, k) -> heard[at(m, k)] = 1 /* held: parked */
			fi
		fi
	}
	atomic {
		if
		:: crashed -> crash[at(m, k)] = false; was_away = false; goto look
		:: runs && (heard[at(m, k)] == 2 || is_time(m, k) || is_alone(m)) -> heard[at(m, k)] = 0; goto claim
		fi
	}
fetch:
	atomic {
		if
		:: crashed -> crash[at(m, k)] = false; was_away = false; goto look
		:: runs && is_alone(m) -> goto cook
		:: runs && up[m] -> assert(records[k] == 1 && blobs[k]); fresh[at(m, k)] = true; done[at(m, k)] = true; goto over
		fi
	}
cook:
	atomic {
		if
		:: crashed -> crash[at(m, k)] = false; was_away = false; goto look
		:: runs && faults == 0 -> cooks[k]++; assert(cooks[k] == 1)
		:: runs && faults > 0
		fi
	}
	atomic {
		if
		:: crashed -> crash[at(m, k)] = false; was_away = false; goto look
		:: runs ->
			good[k] = true; outbox[at(m, k)] = true; fresh[at(m, k)] = true
		:: runs && faults < FAULTS -> /* not needed any more: given up, and hob_leave may fail */
			fault();
			fresh[at(m, k)] = true;
			if
			:: up[m] -> release(m, k); notify(k)
			:: lease[at(m, k)] -> gave_up[at(m, k)] = true
			:: !lease[at(m, k)]
			fi;
			done[at(m, k)] = true; goto over
		fi
	}
deliver:
	atomic {
		if
		:: crashed -> crash[at(m, k)] = false; was_away = false; goto look
		:: runs && !up[m] -> was_away = true
		:: runs && up[m] && was_away -> /* announced: carry.c set_state, srv_carry_announce */
			was_away = false;
			if
			:: !is_news(k) && may_claim(m, k) -> owner[k] = self(m); lapsed[k] = false; lease[at(m, k)] = true
			:: else
			fi
		:: runs && up[m] && !was_away
		fi
	}
store_blobs:
	atomic {
		if
		:: crashed -> crash[at(m, k)] = false; was_away = false; goto look
		:: runs && up[m] && was_away -> goto deliver
		:: runs && up[m] && !was_away ->
#ifdef NO_BLOBS_FIRST
			skip
#else
			blobs[k] = true
#endif
		fi
	}
	atomic {
		if
		:: crashed -> crash[at(m, k)] = false; was_away = false; goto look
		:: runs && !up[m] -> was_away = true; goto store_blobs
#ifdef NO_OUTBOX
		:: runs && up[m] && !is_known(k) && is_late(m, k) -> outbox[at(m, k)] = false; done[at(m, k)] = true; goto over
#endif
		:: runs && up[m] && (is_known(k) || !is_late(m, k)) ->
			if
			:: is_known(k)
			:: !is_known(k) -> insert(m, k)
			fi;
			release(m, k);
			outbox[at(m, k)] = false;
			notify(k);
			done[at(m, k)] = true
		fi
	}
#ifdef NO_BLOBS_FIRST
	atomic { blobs[k] = true }
#endif
over:
	false
}

/* Heartbeats that change something. Guard BEAT, server/farm/farm.c:
 *   "where h.lookup = m.lookup and h.owner = $2" */
#ifdef NO_BEAT
#define beat_other(m, k) assert(!others_valid(m, k)); owner[k] = self(m); lapsed[k] = false
#else
#define beat_other(m, k) lease[at(m, k)] = false /* lost */
#endif
#define beat(m, k) \
	:: atomic { awake[m] && up[m] && is_renewed(m, k) && owner[k] == self(m) && lapsed[k] -> lapsed[k] = false } \
	:: atomic { awake[m] && up[m] && is_renewed(m, k) && owner[k] != self(m) -> beat_other(m, k) }

/* Time and trouble. */
#define cannot_beat(m, k) (!awake[m] || !up[m] || !is_renewed(m, k))
#define lapse(k) \
	:: atomic { owner[k] != none && !lapsed[k] && cannot_beat(owner[k] - 1, k) -> lapsed[k] = true } \
	:: atomic { owner[k] != none && !lapsed[k] && faults < FAULTS -> fault(); lapsed[k] = true } /* a late beat */
#define trouble(m) \
	:: atomic { faults < FAULTS && awake[m] -> fault(); awake[m] = false } \
	:: atomic { !awake[m] && !gone[m] -> awake[m] = true } \
	:: atomic { faults < FAULTS && awake[m] -> fault(); awake[m] = false; gone[m] = true } \
	:: atomic { faults < FAULTS && up[m] -> fault(); up[m] = false } \
	:: atomic { !up[m] && !away[m] -> up[m] = true } \
	:: atomic { faults < FAULTS && up[m] -> fault(); up[m] = false; away[m] = true } \
	:: atomic { faults < FAULTS && awake[m] -> fault(); forget(m, 0); forget(m, K - 1) }
#define forget(m, k) lease[at(m, k)] = false; gave_up[at(m, k)] = false; heard[at(m, k)] = 0; crash[at(m, k)] = !done[at(m, k)]

active proctype world()
{
	byte m = 0, k = 0;
	atomic {
		do
		:: m < M ->
			up[m] = true;
			awake[m] = true;
			k = 0;
			do
			:: k < K -> run job(m, k); k++
			:: else -> break
			od;
			m++
		:: else -> break
		od
	}
	do
	lapse(0)
	beat(0, 0)
	beat(M - 1, 0)
	/* The machines are alike: as many as there can be faults suffice. */
	trouble(0)
#if M > 1 && FAULTS > 1
	trouble(1)
#endif
#if M > 2 && FAULTS > 2
	trouble(2)
#endif
#if M > 2
	beat(1, 0)
#endif
#if K > 1
	lapse(1)
	beat(0, 1)
	beat(M - 1, 1)
#if M > 2
	beat(1, 1)
#endif
#endif
	od
}

/* When nothing can happen any more: everybody who runs serves everything, and no result is lost. */
active proctype judge()
{
	byte m, k, kept;
	timeout ->
	d_step {
		k = 0;
		do
		:: k < K ->
			m = 0; kept = records[k];
			do
			:: m < M ->
				assert(fresh[at(m, k)] || gone[m]);
				kept = kept + outbox[at(m, k)];
				m++
			:: else -> break
			od;
			assert(!good[k] || kept > 0);
			k++
		:: else -> break
		od
	}
}
