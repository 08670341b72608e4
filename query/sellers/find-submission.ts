import { START, type EventStore, type Position } from '../../shared/event-store/event-store.ts';
import { readUntilFresh } from '../../shared/follow-log/consistent-read.ts';
import type { SellerReads } from './find-sellers.ts';

/** The read model. */
export const SUBMISSIONS = 'creative-submissions';

interface Row {
  /** Null when there is none. */
  readonly owner: number | null;
  readonly fresh: boolean;
}

/**
 * The account of a creative that was submitted to a seller, for the account of that seller; undefined for anybody else,
 * and of any other creative. Nothing else of other accounts can be seen from a seller's account (docs/access.md).
 *
 * What is not there is looked for again once the read model has reached what is the end of the log by now: whoever
 * submitted the creative has another account, whose last write says nothing here.
 * @param customerId the seller's account
 * @param creativeId UUID
 * @throws ReadModelBehindError
 */
export const findSubmission = async (
  { database, progress, store }: SellerReads & { readonly store: Pick<EventStore, 'head'> },
  customerId: number,
  { sellerId, creativeId }: { readonly sellerId: number; readonly creativeId: string },
): Promise<number | undefined> => {
  const ask = async (until: Position): Promise<Row> => {
    const [row] = await database.query<Row>(customerId, {
      name: 'find-submission',
      text: `select
               (select s.customer_id::float8 from creative_submissions s
                where s.seller_id = (select a.seller_id from accounts a where a.customer_id = $1)
                  and s.seller_id = $2 and s.creative_id = $3 limit 1) as owner,
               coalesce((select position from projection_checkpoints where name = $4), '-') collate "C"
                 >= $5 as fresh`,
      values: [customerId, sellerId, creativeId, SUBMISSIONS, until],
    });
    return row as Row;
  };
  const { owner } = await ask(START);
  if (owner !== null) return owner;
  const head = await store.head();
  const again = await readUntilFresh({ projection: SUBMISSIONS, progress }, () => ask(head));
  return again.owner ?? undefined;
};
