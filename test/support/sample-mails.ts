import { z } from 'zod';
import { createLinkTokenOf } from '../../command/workers/mail/link-token.ts';
import type { ComposeMail } from '../../command/workers/mail/send-mails.ts';
import { parseKeyRing } from '../../shared/secrets/key-ring.ts';

export const sampleKeys = `test:${'A'.repeat(43)}`;
const keys = async () => parseKeyRing(sampleKeys);

export const sampleLink = async (mailId: string): Promise<string> =>
  `https://exchange.example/console/set-up#token=${await createLinkTokenOf(keys)(mailId)}`;

/** A mail with a link, to the address and the name in the request. */
export const composeSample: ComposeMail = async (_customerId, mailId, { to, name }) => {
  if (name === null) throw new TypeError(`no name for ${JSON.stringify(to)}`);
  return {
    to: z.string().parse(to),
    subject: `Hello ${z.string().parse(name)}`,
    text: `Set up your account:\n\n${await sampleLink(mailId)}`,
  };
};
