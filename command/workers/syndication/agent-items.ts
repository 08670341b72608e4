import { z } from 'zod';
import type { JsonObject } from '../../../shared/event-store/event-store.ts';
import type { SyndicatedKind } from '../../syndication/syndicated-kinds.ts';
import { shownText } from '../../../shared/outbound/shown-text.ts';

const Rows = z.array(z.record(z.string(), z.unknown()));
const Failure = z.object({
  errors: z.array(z.object({ code: z.string().optional().catch(undefined), message: z.string() })).min(1),
});

type Row = Readonly<Record<string, unknown>>;

export const itemRow = (
  { itemsMember, idMember }: SyndicatedKind,
  answer: JsonObject,
  resourceId: string,
): Row | undefined => Rows.safeParse(answer[itemsMember]).data?.find((row) => row[idMember] === resourceId);

export const itemProblem = (row: Row | undefined): string | undefined => {
  if (row === undefined) return 'The answer of the agent does not contain the resource.';
  if (row['action'] !== 'failed') return undefined;
  const failure = Failure.safeParse(row);
  return shownText(failure.data?.errors[0]?.message ?? 'The agent refused the resource.');
};

/** A resource that the agent does not know counts as deleted. */
export const dropProblem = (row: Row | undefined): string | undefined => {
  const code = Failure.safeParse(row).data?.errors[0]?.code;
  return code?.endsWith('NOT_FOUND') === true ? undefined : itemProblem(row);
};
