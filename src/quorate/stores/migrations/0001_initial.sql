-- The ledger.  One text for both databases: KEY is an 8-byte integer primary key in each, BIG an 8-byte integer.
-- A row's id is the campaign's number * 2^40 + its seq (of an item: + its index); item and ask hold such ids.
-- sum is the row's checksum, text_hash covers its texts (0 where there are none).

create table campaign (
    id KEY,
    name text not null unique,
    uid text not null unique,
    spec_version BIG not null,
    epoch BIG not null,
    state text not null,
    budget BIG not null,
    spent BIG not null,
    reserved BIG not null,
    items BIG not null,
    seq BIG not null,
    digests text not null,
    sum BIG not null
);

create table item (
    id KEY,
    seq BIG not null,
    hash BIG not null,
    gold BIG not null,
    name text not null,
    payload text not null,
    text_hash BIG not null,
    sum BIG not null
);

create table ask (
    id KEY,
    item BIG not null references item,
    ordinal BIG not null,
    worker_class BIG not null,
    price BIG not null,
    stage BIG not null,
    epoch BIG not null,
    at BIG not null,
    sum BIG not null
);
create unique index one_ask on ask (item, ordinal);

create table receipt (
    id KEY,
    ask BIG not null references ask,
    at BIG not null,
    platform text not null,
    data text not null,
    text_hash BIG not null,
    sum BIG not null
);
create unique index one_receipt on receipt (ask);

create table answer (
    id KEY,
    ask BIG not null references ask,
    item BIG not null,
    ordinal BIG not null,
    worker_class BIG not null,
    label BIG not null,
    charged BIG not null,
    failure BIG not null,
    at BIG not null,
    worker text,
    raw text,
    text_hash BIG not null,
    sum BIG not null
);
create unique index one_answer on answer (ask);
create unique index one_per_worker on answer (item, worker) where worker is not null;

create table conflict (
    id KEY,
    outcome BIG not null,
    ask BIG not null references ask,
    item BIG not null,
    ordinal BIG not null,
    worker_class BIG not null,
    label BIG not null,
    failure BIG not null,
    charged BIG not null,
    at BIG not null,
    worker text,
    raw text,
    text_hash BIG not null,
    sum BIG not null
);
create index conflict_ask on conflict (ask);
create index conflict_item on conflict (item);

create table stray (
    id KEY,
    at BIG not null,
    key text not null,
    payload text not null,
    text_hash BIG not null,
    sum BIG not null
);
create index stray_key on stray (key);

create table event (
    id KEY,
    number BIG not null,
    at BIG not null,
    kind text not null,
    payload text not null,
    text_hash BIG not null,
    sum BIG not null
);
create index event_kind on event (kind, number);
