import { keyRingOf } from '../shared/secrets/key-ring.ts';
import { reEncryptSecrets } from '../shared/secrets/re-encrypt-secrets.ts';
import type { OperatorCommand, Tools } from './command.ts';

export const addSecretCommands = (program: OperatorCommand, tools: Tools): void => {
  program
    .command('secrets')
    .description('Stored secrets.')
    .command('re-encrypt')
    .description(
      'Encrypts every secret with the first key of SECRET_KEYS. Every running process of the service must already ' +
        'have that key. Run it again after an interruption: it continues.',
    )
    .exits({ 1: 'some secrets could not be decrypted and are unchanged' })
    .action(() => reEncrypt(tools));
};

const reEncrypt = async ({ installation, config, print, remark, fail }: Tools): Promise<void> => {
  const { pool } = await installation();
  const keys = await keyRingOf(config())();
  const [missing, needed] = [new Map<string, number>(), new Map<string, number>()];
  let [seen, done] = [0, 0];
  const soFar = (): string => `${seen} secrets examined, ${done} re-encrypted with ${keys[0].id}`;
  for await (const page of reEncryptSecrets(pool, keys)) {
    seen += page.seen;
    done += page.done;
    addTo(missing, page.unreadable);
    addTo(needed, page.needed);
    remark(soFar());
  }
  const unreadable = byId(missing).map(([keyId, secrets]) => ({
    keyId,
    secrets,
    problem: keys.some(({ id }) => id === keyId) ? 'they cannot be decrypted with' : 'there is no key',
  }));
  const unneeded = keys.slice(1).flatMap(({ id }) => (needed.has(id) ? [] : [id]));
  print(
    {
      secrets: seen,
      encrypted: done,
      withKey: keys[0].id,
      needed: Object.fromEntries(byId(needed)),
      unneeded,
      unreadable,
    },
    [
      soFar(),
      ...unreadable.map((one) => `${one.secrets} secrets are unchanged: ${one.problem} ${one.keyId}`),
      ...byId(needed).map(([id, count]) => `key ${id}: ${count} secrets`),
      ...unneeded.map((id) => `key ${id}: no secret needs it`),
    ].join('\n'),
  );
  if (missing.size > 0) fail();
};

const byId = (sums: ReadonlyMap<string, number>): readonly (readonly [string, number])[] =>
  [...sums].sort(([one], [other]) => (one < other ? -1 : 1));

const addTo = (sums: Map<string, number>, counts: Readonly<Record<string, number>>): void => {
  for (const [keyId, count] of Object.entries(counts)) sums.set(keyId, (sums.get(keyId) ?? 0) + count);
};
