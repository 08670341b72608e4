import type { Pagination, Route } from '../../src/shared/http/route.ts';

export interface InvariantCheck {
  /** Given to `startService`, beside the check against the declarations. */
  readonly onAnswer: (route: Route, status: number, text: string) => void;
  /** No answer may ever hold this text. */
  neverShow(secret: string): void;
  readonly problems: string[];
}

type Json = Record<string, unknown>;

/** Rules that no schema says (decisions.md section 6): they hold for every answer, whatever was asked. */
export const createInvariantCheck = (): InvariantCheck => {
  const problems: string[] = [];
  const secrets: string[] = [];
  return {
    problems,
    neverShow: (secret) => void secrets.push(secret),
    onAnswer: (route, status, text) => {
      const complain = (what: string): void =>
        void problems.push(`${route.operationId} ${status}: ${what} in ${text.slice(0, 2_000)}`);
      if (secrets.some((secret) => text.includes(secret))) complain('a credential');
      if (status >= 300 || text === '' || route.responses[status]?.mediaType !== undefined) return;
      const body = JSON.parse(text) as Json;
      checkTimes(body, complain);
      if (route.responses[status]?.paginated === true) {
        const { data, meta } = body as { data: unknown[]; meta: { pagination: Pagination } };
        checkPage(data.length, meta.pagination, complain);
      }
    },
  };
};

/** A page holds all there is in its place: total and items are of one moment. */
const checkPage = (
  length: number,
  { skip, take, total, hasMore }: Pagination,
  complain: (what: string) => void,
): void => {
  const expected = Math.max(0, Math.min(take, total - skip));
  if (length !== expected) complain(`${length} items, not ${expected}`);
  if (hasMore !== skip + length < total) complain('a wrong hasMore');
};

const checkTimes = (value: unknown, complain: (what: string) => void): void => {
  if (typeof value !== 'object' || value === null) return;
  const { createdAt, updatedAt } = value as Json;
  if (typeof createdAt === 'string' && typeof updatedAt === 'string' && updatedAt < createdAt) {
    complain('updatedAt before createdAt');
  }
  for (const member of Object.values(value)) checkTimes(member, complain);
};
