import { Pool, type ClientBase } from 'pg';
import type { JsonObject } from '../../../shared/event-store/event-store.ts';
import { inTransaction } from '../../../shared/postgres/pool.ts';
import type { KeyRing } from '../../../shared/secrets/key-ring.ts';
import { createSecretStore } from '../../../shared/secrets/secret-store.ts';
import { requestWork } from '../../../shared/work-list/request-work.ts';

/** Kind of work, and owner of the sealed request. Key of both: the id of the mail. */
export const MAIL = 'mail';

/** The account of mails to people without one. */
export const NO_ACCOUNT = 0;

/**
 * Both rows or none, and an id that waits already changes nothing. Only the sealed request may contain an
 * address: the work list and its jobs are in clear.
 * @param database a client takes part in the transaction of its owner
 * @param request what `ComposeMail` needs to write the mail
 */
export const requestMail = async (
  database: Pool | ClientBase,
  keys: () => Promise<KeyRing>,
  customerId: number,
  mailId: string,
  request: JsonObject,
): Promise<void> => {
  if (database instanceof Pool) {
    return inTransaction(database, (client) => requestMail(client, keys, customerId, mailId, request));
  }
  const owner = { kind: MAIL, id: mailId };
  await createSecretStore(database, keys).put(customerId, mailId, JSON.stringify(request), owner);
  await requestWork(database, MAIL, [{ customerId, key: mailId, revision: 1 }]);
};
