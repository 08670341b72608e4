import { REPLAY_HOURS } from '../../../shared/idempotency/claim.ts';
import type { Row, Table } from './database.ts';
import { strings, type Statement } from './statement.ts';

/** The statements of shared/idempotency/{claim,complete}-keys.ts on the table `idempotency_keys`. */

const LEASE_MS = 5_000;
const REPLAY_MS = REPLAY_HOURS * 3_600_000;

export interface KeyRow extends Row {
  readonly scope: string;
  readonly key: string;
  readonly fingerprint: Buffer;
  readonly reserved: string;
  readonly leaseUntil: number;
  readonly claimedAt: number;
  readonly completedAt: number | undefined;
  readonly status: number | null;
  readonly body: string | null;
}

const keyOf = (scope: unknown, key: unknown): string => `${String(scope)} ${String(key)}`;
const find = (table: Table, name: string): KeyRow | undefined => table.get(name) as KeyRow | undefined;
export const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10).replaceAll('-', '');

/** The row after `on conflict do update ... where`. Undefined if it does not change. */
const claimedRow = (
  existing: KeyRow | undefined,
  asked: Pick<KeyRow, 'scope' | 'key' | 'fingerprint' | 'reserved'>,
  now: number,
): KeyRow | undefined => {
  const fresh = {
    ...asked,
    leaseUntil: now + LEASE_MS,
    claimedAt: now,
    completedAt: undefined,
    status: null,
    body: null,
  };
  if (existing === undefined) return fresh;
  if (existing.completedAt !== undefined) return existing.completedAt <= now - REPLAY_MS ? fresh : undefined;
  if (existing.leaseUntil > now || !existing.fingerprint.equals(asked.fingerprint)) return undefined;
  return { ...fresh, reserved: existing.reserved, claimedAt: existing.claimedAt };
};

const updateUncompleted = (
  table: Table,
  name: string,
  change: (row: KeyRow) => KeyRow | undefined,
): number => {
  const row = find(table, name);
  if (row === undefined || row.completedAt !== undefined) return 0;
  const changed = change(row);
  if (changed === undefined) table.delete(name);
  else table.set(name, changed);
  return 1;
};

const updateClaimed = (
  table: Table,
  name: string,
  lease: unknown,
  change: (row: KeyRow) => KeyRow | undefined,
): number => (String(find(table, name)?.leaseUntil) === lease ? updateUncompleted(table, name, change) : 0);

export const keyStatements: readonly Statement[] = [
  {
    is: 'idempotency-claim',
    run: ({ keys }, [scopes, names, fingerprints, reserved], { now }) =>
      strings(scopes).flatMap((scope, index) => {
        const key = strings(names)[index] ?? '';
        const isFirst = find(keys, keyOf(scope, key)) === undefined;
        const row = claimedRow(
          find(keys, keyOf(scope, key)),
          {
            scope,
            key,
            fingerprint: (fingerprints as readonly Buffer[])[index] as Buffer,
            reserved: strings(reserved)[index] ?? '',
          },
          now,
        );
        if (row === undefined) return [];
        keys.set(keyOf(scope, key), row);
        return [
          {
            scope,
            key,
            reserved: row.reserved,
            day: dayOf(row.claimedAt),
            lease: String(row.leaseUntil),
            is_first: isFirst,
          },
        ];
      }),
  },
  {
    is: 'idempotency-kept',
    run: ({ keys }, [scopes, names]) =>
      strings(scopes).flatMap((scope, index) => {
        const row = find(keys, keyOf(scope, strings(names)[index]));
        return row === undefined ? [] : [{ ...row, day: dayOf(row.claimedAt) }];
      }),
  },
  {
    is: 'idempotency-complete',
    run: ({ keys, completions }, [scopes, names, statuses, bodies], { now }) => {
      for (const [index, scope] of strings(scopes).entries()) {
        const key = strings(names)[index] ?? '';
        const completed = updateUncompleted(keys, keyOf(scope, key), (row) => ({
          ...row,
          completedAt: now,
          status: (statuses as readonly number[])[index] ?? null,
          body: strings(bodies)[index] ?? null,
        }));
        if (completed > 0 && completions.get(key) === undefined) completions.set(key, { at: now });
      }
      return 0;
    },
  },
  {
    is: 'idempotency-release',
    run: ({ keys }, [scope, key, lease]) => updateClaimed(keys, keyOf(scope, key), lease, () => undefined),
  },
  {
    is: 'idempotency-lapse',
    run: ({ keys }, [scope, key, lease], { now }) =>
      updateClaimed(keys, keyOf(scope, key), lease, (row) => ({ ...row, leaseUntil: now })),
  },
  {
    is: 'idempotency-held',
    run: ({ keys }, [scopes, names, leases]) =>
      strings(scopes).flatMap((scope, index) => {
        const row = find(keys, keyOf(scope, strings(names)[index] ?? ''));
        const isHeld = row?.completedAt === undefined && String(row?.leaseUntil) === strings(leases)[index];
        return isHeld ? [{ at: index + 1 }] : [];
      }),
  },
  {
    is: 'idempotency-purge',
    run: ({ keys }, [limit], { now }) => {
      const before = now - REPLAY_MS;
      const old = (keys.rows() as readonly (readonly [string, KeyRow])[])
        .filter(
          ([, row]) => row.claimedAt <= before && (row.completedAt ?? row.leaseUntil + REPLAY_MS) <= before,
        )
        .slice(0, Number(limit));
      for (const [name] of old) keys.delete(name);
      return old.length;
    },
  },
];
