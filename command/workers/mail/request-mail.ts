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

export interface MailRequest {
  readonly customerId: number;
  readonly mailId: string;
  /** What `ComposeMail` needs to write the mail. */
  readonly request: JsonObject;
  /** The API request that leads to the mail. Undefined in workers, whose work has its own. */
  readonly correlationId?: string | undefined;
}

/**
 * Both rows or none, and an id that waits already changes nothing. Only the sealed request may contain an
 * address: the work list and its jobs are in clear.
 * @param database a client takes part in the transaction of its owner
 */
export const requestMail = async (
  database: Pool | ClientBase,
  keys: () => Promise<KeyRing>,
  mail: MailRequest,
): Promise<void> => {
  if (database instanceof Pool) {
    return inTransaction(database, (client) => requestMail(client, keys, mail));
  }
  const { customerId, mailId, request, correlationId } = mail;
  const owner = { kind: MAIL, id: mailId };
  await createSecretStore(database, keys).put(customerId, mailId, JSON.stringify(request), owner);
  await requestWork(database, MAIL, [{ customerId, key: mailId, revision: 1, correlationId }]);
};
