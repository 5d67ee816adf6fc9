-- The farm's database (PostgreSQL 12 or newer), schema 1. `hob farm init` runs this file, once, in one transaction.
--
-- Rows are never more than a cache: all of it can be made again by cooking. Digests are 32 bytes. A record is the text of
-- server/store/record.h. Blobs are elsewhere, and are there before a row names them.

create table hob_farm(
	one boolean primary key default true check (one),
	version int not null,  -- of this schema
	oldest int not null,   -- programs that know less than this schema must not write
	made timestamptz not null default now());
insert into hob_farm(version, oldest) values (1, 1);

-- What was cooked.
create table hob_action(
	key bytea primary key check (length(key) = 32),
	lookup bytea not null check (length(lookup) = 32),
	result bytea not null check (length(result) = 32),
	record text not null check (length(record) < 67108864),
	bytes bigint not null,
	cook_ms bigint not null,
	node text not null,                            -- who cooked it
	made timestamptz not null default now(),
	last_used date not null default current_date,
	suspect int not null default 0);               -- how often another result came for this key
create index hob_action_lookup on hob_action(lookup);
create index hob_action_last_used on hob_action(last_used);

-- Who cooks what: what is known before a cook is its lookup. `records` counts the rows of hob_action with this lookup, so that a
-- claim that comes late sees in the very row it locks that somebody has finished.
create table hob_lookup(
	lookup bytea primary key check (length(lookup) = 32),
	records int not null default 0,
	owner text,
	until timestamptz not null default 'epoch',
	attempt int not null default 0,
	what text) with (fillfactor = 70);

create table hob_node(
	id text primary key,
	name text not null,
	version text not null,
	role text not null,
	seen timestamptz not null default now(),
	state json not null);

-- Records that somebody fetched and did not believe.
create table hob_refused(
	at timestamptz not null default now(),
	key bytea not null,
	author text not null,
	reporter text not null,
	why text not null);

-- items: [{"lookup":HEX,"seen":N,"what":TEXT},..]. A row each, place from 0: 'mine' (with the attempt), 'again' (there are other
-- records than `seen`: look), or 'held' (for so long, by whom). In the order of lookups, so that two never wait for each other.
create function hob_claim(p_items json, p_owner text, p_seconds float8)
returns table(place bigint, verdict text, tries int, left_ms bigint, holder text) language plpgsql as $$
#variable_conflict use_column
declare
	i record;
	l hob_lookup;
begin
	for i in select ord - 1 as place, decode(item->>'lookup', 'hex') as lookup, (item->>'seen')::int as seen,
			item->>'what' as what from json_array_elements(p_items) with ordinality u(item, ord) order by 2 loop
		insert into hob_lookup as h(lookup, owner, until, attempt, what)
			values (i.lookup, p_owner, clock_timestamp() + make_interval(secs => p_seconds), 1, i.what)
			on conflict (lookup) do update set owner = excluded.owner, until = excluded.until,
				attempt = h.attempt + 1, what = excluded.what
			where h.records = i.seen and (h.until < clock_timestamp() or h.owner = excluded.owner)
			returning * into l;
		if found then
			return query select i.place, 'mine', l.attempt, 0::bigint, p_owner;
		else
			select * into l from hob_lookup h where h.lookup = i.lookup;
			return query select i.place, case when l.records <> i.seen then 'again' else 'held' end, l.attempt,
				greatest(0, extract(epoch from l.until - clock_timestamp()) * 1000)::bigint, l.owner;
		end if;
	end loop;
end $$;

-- 'given', 'known' (the same is there), 'conflict' (another result is there), or 'late' (somebody else holds the lease by now:
-- try again when that is over).
create function hob_give(p_key text, p_lookup text, p_result text, p_record text, p_bytes bigint, p_cook_ms bigint,
	p_owner text, p_node text)
returns text language plpgsql as $$
declare
	k bytea := decode(p_key, 'hex');
	u bytea := decode(p_lookup, 'hex');
	l hob_lookup;
	kept bytea;
	verdict text := 'given';
begin
	insert into hob_lookup(lookup) values (u) on conflict do nothing;
	select * into l from hob_lookup h where h.lookup = u for update;
	select a.result into kept from hob_action a where a.key = k;
	if kept = decode(p_result, 'hex') then
		verdict := 'known';
		-- A text that somebody has changed.
		update hob_action a set record = p_record where a.key = k and left(a.record, 170) <> left(p_record, 170);
	elsif kept is not null then
		verdict := 'conflict';
		update hob_action set suspect = suspect + 1 where key = k;
	elsif l.owner <> p_owner and l.until > clock_timestamp() then
		return 'late';
	else
		insert into hob_action(key, lookup, result, record, bytes, cook_ms, node)
			values (k, u, decode(p_result, 'hex'), p_record, p_bytes, p_cook_ms, p_node);
		update hob_lookup h set records = h.records + 1 where h.lookup = u;
	end if;
	update hob_lookup h set owner = null, until = 'epoch' where h.lookup = u and h.owner = p_owner;
	perform pg_notify('hob_farm', p_lookup);
	return verdict;
end $$;

-- What was claimed and will not be given: a cook that failed, or was not needed any more.
create function hob_leave(p_lookups text, p_owner text)
returns void language sql as $$
	with gone as (update hob_lookup h set owner = null, until = 'epoch'
		where h.lookup in (select decode(x, 'hex') from unnest(string_to_array(p_lookups, ',')) x) and h.owner = p_owner
		returning h.lookup)
	select pg_notify('hob_farm', encode(lookup, 'hex')) from gone
$$;

create function hob_refuse(p_key text, p_reporter text, p_why text)
returns void language plpgsql as $$
declare
	gone hob_action;
begin
	delete from hob_action where key = decode(p_key, 'hex') returning * into gone;
	if not found then
		return;
	end if;
	update hob_lookup h set records = greatest(0, h.records - 1) where h.lookup = gone.lookup;
	insert into hob_refused(key, author, reporter, why) values (gone.key, gone.node, p_reporter, p_why);
end $$;

-- Forgets what nobody used for so many days, and says how much that was.
create function hob_trim(p_days int)
returns table(records bigint, bytes bigint) language plpgsql as $$
#variable_conflict use_column
begin
	return query with gone as (delete from hob_action where last_used < current_date - p_days returning lookup, bytes),
		less as (update hob_lookup h set records = greatest(0, h.records - g.n)
			from (select lookup, count(*)::int as n from gone group by lookup) g where h.lookup = g.lookup returning 1)
		select count(*), coalesce(sum(bytes), 0)::bigint from gone, (select count(*) from less) counted;
	delete from hob_lookup where records = 0 and until < clock_timestamp() - interval '1 day';
	delete from hob_node where seen < now() - interval '30 days';
	delete from hob_refused where at < now() - interval '90 days';
end $$;
