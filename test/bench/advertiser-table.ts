/** The advertisers table of the bare servers: rows of one account, without events. */

export const tables = `
  create table if not exists bare_advertisers (
    id bigint generated always as identity primary key, customer_id int not null, name text not null,
    status text not null, sandbox boolean not null, primary_currency text not null, description text,
    brand_countries text[] not null, channels text[] not null, apply_mode text not null,
    autonomy json not null, controls json not null, labels json not null, created_at timestamptz not null default now(),
    updated_at timestamptz not null default now());
  create index if not exists bare_by_age on bare_advertisers (customer_id, status, created_at, id)`;

export const list = `select * from bare_advertisers where customer_id = 1 and status = 'ACTIVE'
  order by created_at desc, id desc limit 50`;

export const detail = 'select * from bare_advertisers where customer_id = 1 and id = $1';
