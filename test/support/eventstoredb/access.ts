import type { Metadata } from '@grpc/grpc-js';
import type { EventLog } from './event-log.ts';
import { accessDenied, notAuthenticated, type GrpcStatus } from './grpc-status.ts';
import { rawMetadata } from './stream-metadata.ts';

/** Users of a service by name. Without users all calls are allowed, as on an insecure server. */
export type Users = Readonly<
  Record<string, { readonly password: string; readonly groups?: readonly string[] }>
>;

/** The default, until the metadata of `$all` changes it. */
const READERS_OF_ALL = ['$admins'];

/** The reason to refuse a call of this user; undefined if it is allowed. */
export const accessRefusal = (
  users: Users,
  log: EventLog,
  metadata: Metadata,
  isReadOfAll: boolean,
): GrpcStatus | undefined => {
  const [header] = metadata.get('authorization');
  if (header === undefined) return accessDenied;
  const [name = '', password] = Buffer.from(String(header).replace(/^Basic /, ''), 'base64')
    .toString('utf8')
    .split(':');
  const user = users[name];
  if (user === undefined || user.password !== password) return notAuthenticated;
  if (!isReadOfAll) return undefined;
  const readers = readersOfAll(log);
  const mayRead = [name, ...(user.groups ?? []), '$all'].some((role) => readers.includes(role));
  return mayRead || user.groups?.includes('$admins') === true ? undefined : accessDenied;
};

const readersOfAll = (log: EventLog): readonly string[] => {
  const { $acl } = rawMetadata(log, '$all') as { readonly $acl?: { readonly $r?: string | string[] } };
  return $acl?.$r === undefined ? READERS_OF_ALL : [$acl.$r].flat();
};
