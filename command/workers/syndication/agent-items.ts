import { z } from 'zod';
import type { JsonObject } from '../../../shared/event-store/event-store.ts';
import type { SyndicatedKind } from '../../syndication/syndicated-kinds.ts';
import { shownText } from './shown-text.ts';

const Rows = z.array(z.record(z.string(), z.unknown()));
const Failure = z.object({
  errors: z.array(z.object({ code: z.string().optional().catch(undefined), message: z.string() })).min(1),
});

type Row = Readonly<Record<string, unknown>>;

/** What the agent says of one resource in its answer; undefined when it says nothing. */
export const itemRow = (
  { itemsMember, idMember }: SyndicatedKind,
  answer: JsonObject,
  resourceId: string,
): Row | undefined => Rows.safeParse(answer[itemsMember]).data?.find((row) => row[idMember] === resourceId);

/** A call that succeeds may hold items that did not: why one did not, undefined when it did. */
export const itemProblem = (row: Row | undefined): string | undefined => {
  if (row === undefined) return 'The agent did not say what became of the resource.';
  if (row['action'] !== 'failed') return undefined;
  const failure = Failure.safeParse(row);
  return shownText(failure.data?.errors[0]?.message ?? 'The agent did not take the resource.');
};

/** The same of one that was to be dropped: what the agent does not know is dropped. */
export const dropProblem = (row: Row | undefined): string | undefined => {
  const code = Failure.safeParse(row).data?.errors[0]?.code;
  return code?.endsWith('NOT_FOUND') === true ? undefined : itemProblem(row);
};
