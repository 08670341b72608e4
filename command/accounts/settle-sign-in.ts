import { randomUUID } from 'node:crypto';
import { valueOf } from '../../domain/accounts/shared-map.ts';
import type { Purgeable } from '../../shared/async/purge-regularly.ts';
import { oldRows } from '../../shared/postgres/old-rows.ts';
import { createSweep } from '../../shared/work-list/sweep.ts';
import { loadAccount } from './handler.ts';
import {
  announceAddress,
  deleteAddress,
  unannouncedAddresses,
  type UnannouncedAddress,
} from './login-rows.ts';
import { unrecordedEnds, type UnrecordedEnd } from './session-rows.ts';
import { recordEnds, type SessionWrites } from './sessions.ts';

/** Ended and expired sessions are kept, so that their use is seen in the audit log. */
const ENDED_SESSIONS_DAYS = 7;
/** A used link is refused like an unknown one. */
const LINKS_DAYS = 1;

/** What commands left when their process ended, and rows whose time is over. */
export const signInHousekeeping = (writes: Pick<SessionWrites, 'store' | 'snapshots' | 'pool'>) =>
  ({
    'ends of sessions': createSweep<UnrecordedEnd>({
      find: (after, rowsMax) => unrecordedEnds(writes.pool, after, rowsMax),
      work: (ended) => recordEnds(writes, [ended], { actor: 'worker:sessions', requestId: randomUUID() }),
    }),
    'unused addresses': createSweep<UnannouncedAddress>({
      find: (after, rowsMax) => unannouncedAddresses(writes.pool, after, rowsMax),
      work: (address) => settleAddress(writes, address),
    }),
    sessions: oldRows(writes.pool, 'sessions', { column: 'ends_at', days: ENDED_SESSIONS_DAYS }),
    'one-time links': oldRows(writes.pool, 'one_time_links', { column: 'expires_at', days: LINKS_DAYS }),
  }) satisfies Readonly<Record<string, Purgeable>>;

/** With the event of its password, an address becomes effective. Without one, it is free again. */
const settleAddress = async (
  writes: Pick<SessionWrites, 'store' | 'snapshots' | 'pool'>,
  address: UnannouncedAddress,
): Promise<void> => {
  const { state } = await loadAccount(writes, address.customerId);
  const hasPassword = state.status !== 'NONE' && valueOf(state.signIns, address.userId)?.password === true;
  if (hasPassword) await announceAddress(writes.pool, address);
  else if (address.isOld) await deleteAddress(writes.pool, address);
};
