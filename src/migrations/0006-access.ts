import type { Knex } from 'knex';

/**
 * Who may do what, as the credential check reads it. Like `api_keys` no read model: each row is written before
 * the event that announces it is answered.
 *
 * `sealed_secret` lets whoever issued a key repeat the request (docs/access.md): encrypted under the secret of
 * the credential that issued it, which is stored nowhere, and removed after a day.
 */
const credentials = `
create table accounts (
  customer_id  bigint primary key,
  name         text not null,
  disabled_at  timestamptz
);
create table users (
  customer_id  bigint not null,
  user_id      text collate "C" not null,
  name         text not null,
  role         text not null check (role in ('admin', 'member')),
  primary key (customer_id, user_id)
);

insert into accounts (customer_id, name)
  select (data::jsonb->>'customerId')::bigint, data::jsonb->>'name' from events where type = 'AccountOpened';
insert into users (customer_id, user_id, name, role)
  select customer_id, customer_id || '-1', 'Administrator', 'admin' from accounts;

alter table api_keys
  add user_id text collate "C",
  add scopes text[],
  add masked_key text,
  add expires_at timestamptz,
  add last_used_at timestamptz,
  add sealed_secret bytea;
update api_keys set user_id = customer_id || '-1',
  scopes = array['exchange:read', 'exchange:write', 'exchange:admin'], masked_key = 'bx_' || key_id || '_****';
update api_keys k set masked_key = e.data::jsonb->>'maskedKey'
  from events e where e.type = 'ApiKeyIssued' and e.data::jsonb->>'keyId' = k.key_id;
alter table api_keys
  alter user_id set not null, alter scopes set not null, alter masked_key set not null,
  add check (scopes <@ array['exchange:read', 'exchange:write', 'exchange:admin']);
drop index api_keys_by_customer;
create index api_keys_by_customer on api_keys (customer_id, created_at, key_id);
create index api_keys_sealed on api_keys (created_at) where sealed_secret is not null;
`;

/**
 * The second wall between accounts: whatever a query asks for, the role that requests run under sees the rows of
 * the account that its transaction was bound to, and none when it was bound to none (docs/access.md).
 */
const isolation = `
create function current_customer_id() returns bigint language sql stable
return nullif(current_setting('app.customer_id', true), '')::bigint;
`;

const tenantTables = ['advertisers', 'advertiser_counts', 'accounts', 'users', 'api_keys', 'parked_streams'];

export const access = {
  name: '0006-access',
  up: async (knex: Knex): Promise<void> => {
    await knex.raw(credentials);
    await knex.raw(isolation);
    for (const table of tenantTables) {
      await knex.raw(`
        alter table ${table} enable row level security;
        create policy tenant on ${table} using (customer_id = current_customer_id());
      `);
    }
  },
};
