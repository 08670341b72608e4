import { invalid } from '../shared/http/errors.ts';
import { fingerprintOf } from '../shared/idempotency/request-fingerprint.ts';
import type { KeyRing } from '../shared/secrets/key-ring.ts';
import { createTextSigner } from '../shared/secrets/signed-text.ts';

/** What a list was asked for: a page of it, with another size or view, belongs to the same query. */
export interface PagedQuery {
  readonly customerId: number;
  readonly tool: string;
  readonly asked: Readonly<Record<string, unknown>>;
}

/** A cursor is valid for one account and one query. */
export interface ToolCursors {
  seal(query: PagedQuery, position: string): Promise<string>;
  /** @throws ApiError VALIDATION_ERROR if the cursor belongs to another query or was modified */
  open(query: PagedQuery, cursor: string): Promise<string>;
}

export const createToolCursors = (ask: () => Promise<KeyRing>): ToolCursors => {
  const signer = createTextSigner(ask, 'tool-cursor');
  return {
    seal: (query, position) => signer.sign(position, contextOf(query)),
    open: async (query, cursor) => {
      const position = await signer.verify(cursor, contextOf(query));
      if (position !== undefined) return position;
      throw invalid(
        'This cursor was not given out for this query. Repeat the call that gave it, with nextCursor as cursor; or leave it out for the first page.',
        'cursor',
      );
    },
  };
};

const contextOf = ({ customerId, tool, asked }: PagedQuery): string => {
  // Through JSON, so that an undefined member equals an absent one.
  const body = JSON.parse(JSON.stringify(asked)) as unknown;
  const hash = fingerprintOf({ method: 'tool', path: tool, pathValues: {}, body });
  return `${customerId}|${hash.toString('base64url')}`;
};
