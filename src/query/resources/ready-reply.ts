import type { Principal } from '../../shared/http/principal.ts';
import type { Pagination, Reply } from '../../shared/http/route.ts';
import type { AnswerCache } from '../../shared/read-your-writes/answer-cache.ts';

export interface Found {
  /** What the answer shows; undefined when there is nothing. */
  readonly data: unknown;
  readonly pagination?: Pagination;
  /** Of the snapshot that it was read in (`keptMark`); undefined: not to be kept. */
  readonly mark: string | undefined;
}

/**
 * The answer to a read, as it was made before while the account's mark is the same, else as `read` finds it. Only
 * for what is made of read models of the account's own events, conversion events apart, and of the installation's.
 * @param question its name, which no other has, and all that the answer depends on besides the account
 * @returns undefined when there is nothing
 */
export const readyReply = (
  answers: AnswerCache,
  { customerId, mark }: Principal,
  question: readonly (string | number | boolean | undefined)[],
  read: () => Promise<Found>,
): Promise<Reply | undefined> =>
  answers.answer(JSON.stringify([customerId, ...question]), mark, async () => {
    const { data, pagination, mark: madeAt } = await read();
    // Ids that nothing has are without number: they would take the memory from what is there.
    if (data === undefined) return { mark: undefined, value: undefined, bytes: 0 };
    const dataJson = JSON.stringify(data);
    const value = { status: 200, dataJson, ...(pagination === undefined ? {} : { pagination }) };
    return { mark: madeAt, value, bytes: 2 * dataJson.length };
  });
