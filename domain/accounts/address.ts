import { z } from 'zod';

const CHARACTERS_MAX = 254;
/** No quoted local parts and no separators: a mail program could read several recipients. */
const ADDRESS = /^[^\s\p{Cc}@<>()[\],;:"\\]{1,64}@[^\s\p{Cc}@<>()[\],;:"\\]+$/u;

/** Normalized (NFC), not trimmed. */
export const EmailAddress = z
  .string()
  .max(CHARACTERS_MAX)
  .normalize()
  .refine((text) => text.isWellFormed() && ADDRESS.test(text), 'must be an e-mail address')
  .meta({ format: 'email', maxLength: CHARACTERS_MAX });

/** Two addresses with the same key are the same. */
export const emailKeyOf = (email: string): string => email.normalize('NFC').toLowerCase();

const partsOf = (email: string): readonly [local: string, domain: string] => {
  const at = email.lastIndexOf('@');
  return [email.slice(0, at), email.slice(at + 1).toLowerCase()];
};

export const localPartOf = (email: string): string => partsOf(email)[0];

/** Domains whose addresses say nothing about the owner's company. */
const PUBLIC_DOMAINS: ReadonlySet<string> = new Set(
  `aol.com fastmail.com gmail.com gmx.com gmx.de gmx.net googlemail.com hey.com hotmail.com icloud.com live.com
   mac.com mail.com mail.ru me.com msn.com outlook.com pm.me proton.me protonmail.com qq.com web.de yahoo.com
   yandex.ru ymail.com 126.com 163.com`.split(/\s+/),
);

/** @returns undefined for a provider of mailboxes to the public */
export const customerDomainOf = (email: string): string | undefined => {
  const [, domain] = partsOf(email);
  return PUBLIC_DOMAINS.has(domain) ? undefined : domain;
};
