import type { Operation } from './read-operations.ts';

/** Counts requests and answers of each operation. */
export interface Tally {
  count(operation: Operation, kind: 'valid' | 'malformed' | 'raw', status: number, tookMs: number): void;
  readonly statuses: ReadonlyMap<number, number>;
  readonly sent: Readonly<Record<'valid' | 'malformed' | 'raw', number>>;
  readonly slowest: { readonly tookMs: number; readonly what: string };
  /** Operations with too few successes or refusals to judge them, each with a remedy. */
  shallow(refusalsMin: number): readonly string[];
  /** No valid request has succeeded, although one should. */
  readonly isUnreached: (operation: Operation) => boolean;
  refusalsOf(operation: Operation): number;
  /** One line for each operation. */
  lines(): readonly string[];
}

interface Counts {
  successes: number;
  refusals: number;
  unavailable: number;
}

export const createTally = (
  operations: readonly Operation[],
  refusedOnly: ReadonlySet<string> = new Set(),
): Tally => {
  const counts = new Map<Operation, Counts>(
    operations.map((one) => [one, { successes: 0, refusals: 0, unavailable: 0 }]),
  );
  const statuses = new Map<number, number>();
  const sent = { valid: 0, malformed: 0, raw: 0 };
  const isUnreached = (operation: Operation): boolean =>
    counts.get(operation)?.successes === 0 && !refusedOnly.has(operation.operationId);
  let slowest = { tookMs: 0, what: 'nothing' };
  return {
    statuses,
    sent,
    get slowest() {
      return slowest;
    },
    count: (operation, kind, status, tookMs) => {
      sent[kind] += 1;
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      if (tookMs > slowest.tookMs) slowest = { tookMs, what: operation.operationId };
      const own = counts.get(operation);
      if (own === undefined) return;
      if (status < 300 && kind === 'valid') own.successes += 1;
      if (status >= 400 && status < 500) own.refusals += 1;
      if (status === 503) own.unavailable += 1;
    },
    shallow: (refusalsMin) =>
      [...counts].flatMap(([operation, { refusals }]) => {
        const { operationId, method, path } = operation;
        const what = `${operationId} (${method} ${path})`;
        if (isUnreached(operation)) return [unreached(what)];
        return refusals < refusalsMin
          ? [`${what}: only ${refusals} refusals, despite many malformed requests`]
          : [];
      }),
    isUnreached,
    refusalsOf: (operation) => counts.get(operation)?.refusals ?? 0,
    lines: () =>
      [...counts].map(
        ([{ operationId }, { successes, refusals, unavailable }]) =>
          `${operationId.padEnd(28)} valid 2xx ${String(successes).padStart(6)}   4xx ${String(refusals).padStart(6)}   503 ${unavailable}`,
      ),
  };
};

const unreached = (what: string): string =>
  `${what}: no valid request succeeded, so only its schema was tested. Create what the operation needs and add it ` +
  'to test/fuzz/given.ts: `resources` for resources in its path, `members` for values that a schema cannot describe.';
