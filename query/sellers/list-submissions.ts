import { START, type EventStore, type Position } from '../../shared/event-store/event-store.ts';
import { readUntilFresh } from '../../shared/follow-log/consistent-read.ts';
import { SUBMISSIONS, type SellerReads } from './list.ts';

export interface Submission {
  readonly creativeId: string;
  readonly owner: number;
}

export interface SubmissionPage {
  readonly submissions: readonly Submission[];
  readonly hasMore: boolean;
}

interface Row {
  readonly isSeller: boolean;
  readonly items: readonly Submission[];
  readonly fresh: boolean;
}

/**
 * Sorted by id. A seller's account sees nothing else of other accounts (docs/design/isolation.md). Other
 * accounts write submissions, so it waits for the current end of the log.
 * @param customerId the seller's account; otherwise undefined is returned
 * @param after UUID of the last creative before
 * @throws ReadModelBehindError
 */
export const listSubmissions = async (
  { database, progress, store }: SellerReads & { readonly store: Pick<EventStore, 'head'> },
  customerId: number,
  sellerId: number,
  after: string | undefined,
  limit: number,
): Promise<SubmissionPage | undefined> => {
  const ask = async (until: Position): Promise<Row> => {
    const [row] = await database.query<Row>(customerId, {
      name: `list-submissions${after === undefined ? '' : '-after'}`,
      text: `select own.seller_id is not distinct from $2::int as "isSeller",
               (select coalesce(json_agg(json_build_object('creativeId', p.creative_id, 'owner', p.customer_id)
                          order by p.creative_id), '[]')
                from (select s.creative_id, s.customer_id from creative_submissions s
                      where s.seller_id = $2 and s.seller_id = own.seller_id
                        ${after === undefined ? '' : 'and s.creative_id > $6::uuid'}
                      order by s.creative_id limit $3) p) as items,
               coalesce((select position from projection_checkpoints where name = $4), '-') collate "C"
                 >= $5 as fresh
             from (select (select a.seller_id from accounts a where a.customer_id = $1) as seller_id) own`,
      values: [customerId, sellerId, limit + 1, SUBMISSIONS, until, ...(after === undefined ? [] : [after])],
    });
    return row as Row;
  };
  const { isSeller } = await ask(START);
  if (!isSeller) return undefined;
  const head = await store.head();
  const { items } = await readUntilFresh({ projection: SUBMISSIONS, progress }, () => ask(head));
  return { submissions: items.slice(0, limit), hasMore: items.length > limit };
};
