import type { Pool } from 'pg';
import type { MemberWrites } from '../command/accounts/members.ts';
import { revokeGrantsOfUser } from '../command/accounts/oauth/grants.ts';
import { oauthGrantRowsIn } from '../projections/oauth-grant-rows.ts';
import { systemClock as clock } from '../shared/async/clock.ts';
import type { EventStore } from '../shared/event-store/event-store.ts';

export const endGrantsIn = ({
  store,
  pool,
}: {
  readonly store: EventStore;
  readonly pool: Pool;
}): MemberWrites['endGrants'] => {
  const writes = { store, clock, rows: oauthGrantRowsIn(pool), pool };
  return (userId, context) => revokeGrantsOfUser(writes, userId, 'removal', context);
};
