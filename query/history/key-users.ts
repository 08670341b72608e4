import { textArray } from '../../shared/postgres/binary-array.ts';
import type { ResourceReads } from '../resources/resource-reads.ts';
import { credentialOfActor } from '../../domain/history/actor.ts';
import type { KeyUsers } from './event-resource.ts';

/** Rows of ended keys may be purged, but by then the audit log has stored their owners. */
export const findKeyUsers = async (
  { database }: Pick<ResourceReads, 'database'>,
  customerId: number,
  actors: readonly string[],
): Promise<KeyUsers> => {
  const keyIds = new Set(actors.flatMap((actor) => credentialOfActor(actor) ?? []));
  if (keyIds.size === 0) return new Map();
  const rows = await database.query<{ key_id: string; user_id: string | null }>(customerId, {
    name: 'find-key-users',
    text: `select q.key_id, coalesce(
             (select k.user_id from api_keys k where k.key_id = q.key_id and k.customer_id = $1),
             (select s.user_id from sessions s where s.session_id = q.key_id and s.customer_id = $1),
             (select g.user_id from oauth_grants g where g.grant_id = q.key_id and g.customer_id = $1),
             (select e.key_user_id from audit_entries e
              where e.customer_id = $1 and e.part = q.key_id and e.key_user_id is not null limit 1)) as user_id
           from unnest($2::text[]) as q(key_id)`,
    values: [customerId, textArray([...keyIds])],
  });
  return new Map(rows.flatMap(({ key_id, user_id }) => (user_id === null ? [] : [[key_id, user_id]])));
};
