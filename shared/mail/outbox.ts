import { mkdir, open, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { createTransport } from 'nodemailer';
import type { Logger } from 'pino';
import { syncFolder } from '../storage/sync-folder.ts';
import type { Sender } from './mail-address.ts';
import { mailMessage } from './mail-message.ts';
import { MailError, type Mailer } from './mailer.ts';

/** Mails as files `<id>.eml`, readable by their owner only, because they contain links that sign in. */
export const createOutbox = (folder: string, from: Sender, log: Pick<Logger, 'info'>): Mailer => {
  const transport = createTransport({ streamTransport: true, buffer: true, newline: 'windows' });
  return {
    kind: 'outbox',
    send: async (id, mail) => {
      const { message } = await transport.sendMail(mailMessage(from, id, mail));
      const file = `${id}.eml`;
      await writeWhole(folder, file, message as Buffer).catch((error: NodeJS.ErrnoException) => {
        throw new MailError(`The outbox cannot be written (${error.code ?? error.name}).`, {
          isFinal: false,
        });
      });
      log.info({ mailId: id, file: join(folder, file) }, 'a mail is in the outbox');
    },
    close: async () => undefined,
  };
};

/** The rename publishes the file. After a crash the next try uses the same draft again. */
const writeWhole = async (folder: string, name: string, bytes: Buffer): Promise<void> => {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const draft = join(folder, `.${name}.draft`);
  const file = await open(draft, 'w', 0o600);
  try {
    await file.writeFile(bytes);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(draft, join(folder, name));
  await syncFolder(folder);
};
