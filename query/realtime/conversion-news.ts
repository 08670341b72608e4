import { sleep } from '../../shared/async/backoff.ts';
import type { WakeUp } from '../../shared/async/wake-up.ts';
import type { ProjectionProgress } from '../../shared/follow-log/projection-progress.ts';
import { writeFrame, type LiveAccount, type LiveNode } from './live-account.ts';

export interface ConversionListeners extends LiveNode {
  readonly accounts: ReadonlyMap<number, LiveAccount>;
  readonly opened: WakeUp;
  readonly progress: ProjectionProgress;
}

const COUNTS = 'conversions';
/** A burst of calls is one frame. */
const TOGETHER_MS = 500;
const POLL_MS = 1_000;

/**
 * Tells the streams that asked for it that conversion events were counted. These frames are hints without an id, not
 * entries of the feed: a notification for each call of a busy source would be more rows than its counts.
 */
export const followConversions = async (node: ConversionListeners): Promise<void> => {
  const { opened, progress, signal, log } = node;
  let known: ReadonlyMap<number, string> = new Map();
  while (!signal.aborted) {
    const accounts = listeners(node);
    if (accounts.length === 0) {
      known = new Map();
      await opened.next({ signal });
      continue;
    }
    const seen = progress.version(COUNTS);
    try {
      const counted = await node.feed.countedConversions(accounts.map(({ customerId }) => customerId));
      for (const account of accounts) {
        const before = known.get(account.customerId);
        if (before !== undefined && before !== counted.get(account.customerId)) tell(account);
      }
      known = new Map(accounts.map(({ customerId: id }) => [id, counted.get(id) ?? '']));
    } catch (error) {
      log.warn({ err: error }, 'counts of conversions could not be polled');
    }
    await sleep(TOGETHER_MS, signal);
    await progress.beyond(COUNTS, seen, POLL_MS, signal);
  }
};

const listeners = ({ accounts }: ConversionListeners): readonly LiveAccount[] =>
  [...accounts.values()].filter(({ streams }) => [...streams].some(({ texts }) => texts.conversions !== ''));

const tell = (account: LiveAccount): void => {
  for (const stream of account.streams) {
    const { isOver, blockedAtMs, texts } = stream;
    if (!isOver && blockedAtMs === undefined) writeFrame(account, stream, texts.conversions);
  }
};
