import { START, type EventStore, type Position } from '../../shared/event-store/event-store.ts';
import { readUntilFresh } from '../../shared/follow-log/consistent-read.ts';
import { SUBMISSIONS, type SellerReads } from '../../query/sellers/list.ts';

interface Row {
  readonly owner: number | null;
  readonly fresh: boolean;
}

/**
 * A seller's account sees nothing else of other accounts (docs/design/isolation.md). Tries again at the log's
 * end: another account submitted, so waiting for the caller's last write is not enough.
 * @param customerId the seller's account
 * @param creativeId UUID
 * @returns undefined without a submission, or for another account
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
