import { readOutbox } from './read-mail.ts';
import type { RunningService } from './running-service.ts';
import { until } from './until.ts';

const mailsTo = async (
  { dataDir }: Pick<RunningService, 'dataDir'>,
  to: string,
  subject: string,
): Promise<readonly string[]> =>
  [...(await readOutbox(dataDir)).values()]
    .filter(({ headers }) => headers['to'] === to && headers['subject'] === subject)
    .map(({ text }) => text);

/** Waits for the nth mail with the subject. @returns its text */
export const mailTo = async (
  service: Pick<RunningService, 'dataDir'>,
  to: string,
  subject: string,
  count = 1,
): Promise<string> => {
  let texts: readonly string[] = [];
  await until(async () => {
    texts = await mailsTo(service, to, subject);
    return texts.length >= count;
  });
  if (texts.length > count) throw new Error(`${texts.length} mails "${subject}" to ${to}`);
  return texts.at(-1) ?? '';
};

/** @returns page and token of the only link in the mail */
export const linkIn = (
  text: string,
): { readonly url: string; readonly page: string; readonly token: string } => {
  const [[url = '', page = '', token = ''] = []] = [
    ...text.matchAll(/https?:\/\/\S+\/console\/([\w-]+)#token=([\w-]{43})/g),
  ];
  if (url === '') throw new Error(`no link in the mail: ${text}`);
  return { url, page, token };
};
