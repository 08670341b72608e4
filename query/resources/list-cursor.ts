import { ApiError } from '../../shared/http/errors.ts';
import type { KeyRing } from '../../shared/secrets/key-ring.ts';
import { createTextSigner } from '../../shared/secrets/signed-text.ts';

/** The last item of a page. The list is sorted by a time, then by id. */
export interface ListPlace {
  readonly at: string;
  readonly id: string;
}

/** Valid for one list, with any page size. */
export interface ListCursors {
  of(customerId: number, list: string, place: ListPlace): Promise<string>;
  /** @throws ApiError VALIDATION_ERROR if the cursor belongs to another list or was modified */
  read(customerId: number, list: string, cursor: string): Promise<ListPlace>;
}

/** `base64url(at|id)` with a tag over it, the account and the list. */
export const createListCursors = (ask: () => Promise<KeyRing>): ListCursors => {
  const signer = createTextSigner(ask, 'list-cursor');
  return {
    of: (customerId, list, { at, id }) => signer.sign(`${at}|${id}`, `${customerId}|${list}`),
    read: async (customerId, list, cursor) => {
      const text = await signer.verify(cursor, `${customerId}|${list}`);
      const [at, id] = text?.split('|') ?? [];
      if (at === undefined || id === undefined) throw badCursor();
      return { at, id };
    },
  };
};

const badCursor = (): ApiError =>
  new ApiError({
    code: 'VALIDATION_ERROR',
    message:
      'This cursor was not given out for this list. Send the nextCursor of the page before, or none for the first page.',
    field: 'cursor',
  });
