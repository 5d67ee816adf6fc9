-- Schema 2: failed cooks are shared, and however many rows somebody writes for one lookup, the newest few are found at once. `hob farm
-- init` runs this file after farm.sql, or on a database of schema 1. Programs that know
-- schema 1 go on working: they never read hob_failure, and cook what failed once more.

update hob_farm set version = 2;

-- Models that fail on every machine. A failure for want of time or memory is not among them.
create table hob_failure(
	key bytea primary key check (length(key) = 32),
	lookup bytea not null check (length(lookup) = 32),
	record text not null check (length(record) < 1048576),
	node text not null,
	made timestamptz not null default now(),
	last_used date not null default current_date);
create index hob_failure_lookup on hob_failure(lookup, made desc);
drop index hob_action_lookup;
create index hob_action_lookup on hob_action(lookup, made desc);

-- As hob_give. A failure counts among the lookup's records, so that a claim that comes late sees it. 'conflict': another machine
-- has cooked it well.
create function hob_give_failure(p_key text, p_lookup text, p_record text, p_owner text, p_node text)
returns text language plpgsql as $$
declare
	k bytea := decode(p_key, 'hex');
	u bytea := decode(p_lookup, 'hex');
	verdict text := 'given';
begin
	insert into hob_lookup(lookup) values (u) on conflict do nothing;
	perform 1 from hob_lookup h where h.lookup = u for update;
	update hob_action set suspect = suspect + 1 where key = k;
	if found then
		verdict := 'conflict';
	else
		insert into hob_failure(key, lookup, record, node) values (k, u, p_record, p_node) on conflict do nothing;
		if found then
			update hob_lookup h set records = h.records + 1 where h.lookup = u;
		else
			verdict := 'known';
		end if;
	end if;
	update hob_lookup h set owner = null, until = 'epoch' where h.lookup = u and h.owner = p_owner;
	perform pg_notify('hob_farm', p_lookup);
	return verdict;
end $$;

create or replace function hob_refuse(p_key text, p_reporter text, p_why text)
returns void language plpgsql as $$
declare
	k bytea := decode(p_key, 'hex');
	gone record;
begin
	for gone in with a as (delete from hob_action where key = k returning lookup, node),
			b as (delete from hob_failure where key = k returning lookup, node) select * from a union all select * from b loop
		update hob_lookup h set records = greatest(0, h.records - 1) where h.lookup = gone.lookup;
		insert into hob_refused(key, author, reporter, why) values (k, gone.node, p_reporter, p_why);
	end loop;
end $$;

create or replace function hob_trim(p_days int)
returns table(records bigint, bytes bigint) language plpgsql as $$
#variable_conflict use_column
begin
	return query with gone as (delete from hob_action where last_used < current_date - p_days returning lookup, bytes),
		failed as (delete from hob_failure where last_used < current_date - p_days returning lookup),
		less as (update hob_lookup h set records = greatest(0, h.records - g.n)
			from (select lookup, count(*)::int as n from (select lookup from gone union all select lookup from failed) x group by lookup) g
			where h.lookup = g.lookup returning 1)
		select count(*), coalesce(sum(bytes), 0)::bigint from gone, (select count(*) from less) counted;
	delete from hob_lookup where records = 0 and until < clock_timestamp() - interval '1 day';
	delete from hob_node where seen < now() - interval '30 days';
	delete from hob_refused where at < now() - interval '90 days';
end $$;
