-- Schema 4: a farm has an id, which its blob store carries as well; and a time, count or size that somebody wrote into a row ends
-- no statement. `hob farm init` runs this file after farm_3.sql, or on a database of schema 3. Programs that know schema 3 go on
-- working.

update hob_farm set version = 4;
alter table hob_farm add column id text not null
	default encode(sha256((random()::text || random()::text || clock_timestamp()::text)::bytea), 'hex');

-- As in schema 3, but a lease that lasts longer than a day is none: no machine asks for one.
create or replace function hob_claim(p_items json, p_owner text, p_seconds float8)
returns table(place bigint, verdict text, tries int, left_ms bigint, holder text) language plpgsql as $$
#variable_conflict use_column
declare
	i record;
	l hob_lookup;
	now_is timestamptz;
begin
	for i in select ord - 1 as place, decode(item->>'lookup', 'hex') as lookup, (item->>'seen')::int as seen,
			item->>'what' as what from json_array_elements(p_items) with ordinality u(item, ord) order by 2 loop
		insert into hob_lookup as h(lookup, owner, until, attempt, what)
			values (i.lookup, p_owner, clock_timestamp() + make_interval(secs => p_seconds), 1, i.what)
			on conflict (lookup) do update set owner = excluded.owner, until = excluded.until,
				attempt = least(h.attempt, 1000000) + 1, what = excluded.what
			where least(h.records, 64) = least(i.seen, 64) and (h.until < clock_timestamp()
				or h.until > clock_timestamp() + interval '1 day' or h.owner = excluded.owner)
			returning * into l;
		if found then
			return query select i.place, 'mine', l.attempt, 0::bigint, p_owner;
		else
			select * into l from hob_lookup h where h.lookup = i.lookup;
			now_is := clock_timestamp();
			return query select i.place, case when least(l.records, 64) <> least(i.seen, 64) then 'again' else 'held' end, l.attempt,
				(extract(epoch from least(greatest(l.until, now_is), now_is + interval '1 day') - now_is) * 1000)::bigint, l.owner;
		end if;
	end loop;
end $$;

create or replace function hob_give(p_key text, p_lookup text, p_result text, p_record text, p_bytes bigint, p_cook_ms bigint,
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
		update hob_action set suspect = least(suspect, 1000000) + 1 where key = k;
	elsif l.owner <> p_owner and l.until > clock_timestamp() and l.until < clock_timestamp() + interval '1 day' then
		return 'late';
	else
		insert into hob_action(key, lookup, result, record, bytes, cook_ms, node)
			values (k, u, decode(p_result, 'hex'), p_record, p_bytes, p_cook_ms, p_node);
		update hob_lookup h set records = h.records + 1 where h.lookup = u;
	end if;
	update hob_lookup h set owner = null, until = 'epoch' where h.lookup = u and (h.owner = p_owner or h.until > clock_timestamp() + interval '1 day');
	perform pg_notify('hob_farm', p_lookup);
	return verdict;
end $$;

-- No sum of these leaves its type.
update hob_lookup set records = least(greatest(records, 0), 1000000) where records not between 0 and 1000000;
alter table hob_lookup add check (records between 0 and 100000000);
alter table hob_action add check (bytes between 0 and 1::bigint << 42) not valid;
