import { KEPT_DAYS } from '../../../domain/notifications/kept-days.ts';
import { RowsChange, WEBHOOK_ROWS, type Replay } from '../../../domain/webhooks/work.ts';
import type { Clock } from '../../../shared/async/clock.ts';
import type { Position } from '../../../shared/event-store/event-store.ts';
import type { WorkKind, WorkRun } from '../../../shared/work-list/run-work.ts';
import { DONE, type WorkEntry, type WorkResult } from '../../../shared/work-list/work-list.ts';

interface Place {
  readonly customerId: number;
  readonly subscriptionId: string;
}

/** The last row of a page. */
export type PageEnd = Readonly<Record<string, string | number>>;

/**
 * Changes of many delivery rows, one page in each transaction, with the request of the subscription's work. Each may be
 * repeated. Undefined: that was the last page, or the deliveries of the subscription have ended.
 */
export interface DeliveryPages {
  cancel(place: Place, generation: number): Promise<PageEnd | undefined>;
  recover(
    place: Place,
    change: Extract<RowsChange, { readonly is: 'recover' }>,
    after: PageEnd | undefined,
  ): Promise<PageEnd | undefined>;
  /** Notifications of events up to `until`. */
  replay(
    place: Place,
    change: Replay & { readonly replayId: string; readonly lastPosition: Position },
    after: PageEnd | undefined,
  ): Promise<PageEnd | undefined>;
  /** Whether the feed contains the notifications of all events up to the position. */
  isFeedAt(position: Position): Promise<boolean>;
}

export interface ChangeRowsOptions {
  readonly pages: DeliveryPages;
  readonly clock: Clock;
  /** False while the endpoints are read from the log again. */
  readonly isWhole: () => Promise<boolean>;
}

export const deliveryChanges = (options: ChangeRowsOptions): WorkKind => ({
  name: WEBHOOK_ROWS,
  concurrency: 4,
  perAccountMax: 2,
  // Only our own database can fail: the queue tries again, then the list.
  attemptsMax: 20,
  prepare: options.isWhole,
  handle: (entry, run) => changeRows(options, entry, run),
});

const FEED_BEHIND: WorkResult = {
  is: 'again',
  afterMs: 500,
  isTry: false,
  reason: 'The feed does not contain the last events yet.',
};
const DAY_MS = 86_400_000;

/** @throws the signal's reason; database errors */
const changeRows = async (
  { pages, clock }: ChangeRowsOptions,
  { customerId, key: replayId, revision, data }: WorkEntry,
  { signal }: WorkRun,
): Promise<WorkResult> => {
  const change = RowsChange.parse(data);
  const place = { customerId, subscriptionId: change.subscriptionId };
  // Positions are printed as they are compared (`revisionText`).
  const lastPosition = revision as Position;
  switch (change.is) {
    case 'cancel':
      return eachPage(() => pages.cancel(place, change.generation), signal);
    case 'recover':
      return eachPage((after) => pages.recover(place, change, after), signal);
    case 'replay':
      // It was applied before, and its rows may be gone: the log was read again from the beginning.
      if (clock.now() - Date.parse(change.requestedAt) > (KEPT_DAYS - 1) * DAY_MS) return DONE;
      if (!(await pages.isFeedAt(lastPosition))) return FEED_BEHIND;
      return eachPage((after) => pages.replay(place, { ...change, replayId, lastPosition }, after), signal);
    default:
      return change satisfies never;
  }
};

const eachPage = async (
  page: (after: PageEnd | undefined) => Promise<PageEnd | undefined>,
  signal: AbortSignal,
): Promise<WorkResult> => {
  let after: PageEnd | undefined;
  do {
    signal.throwIfAborted();
    after = await page(after);
  } while (after !== undefined);
  return DONE;
};
