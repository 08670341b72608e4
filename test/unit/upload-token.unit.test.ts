import { describe, expect, it } from '@jest/globals';
import { grantOfToken } from '../../command/assets/admit-upload.ts';
import { createUploadTokens } from '../../command/assets/upload-token.ts';
import { parseKeyRing } from '../../shared/secrets/key-ring.ts';

const [old, current] = [`old:${'A'.repeat(43)}`, `new:${'B'.repeat(42)}A`];
const tokensOf = (keys: string) => createUploadTokens(async () => parseKeyRing(keys));
const grant = {
  uploadId: 'upl_1',
  customerId: 1,
  advertiserId: 2,
  maxBytes: 3,
  mimeType: 'image/png',
  exp: 4,
};

describe('upload tokens', () => {
  it('contain the grant that they were issued for', async () => {
    const tokens = tokensOf(old);
    expect(await tokens.verify(await tokens.issue(grant))).toEqual(grant);
    expect(await tokens.issue(grant)).toBe(await tokens.issue({ ...grant }));
  });

  it('remain valid after a key rotation while the old key is kept', async () => {
    const token = await tokensOf(old).issue(grant);
    expect(await tokensOf(`${current},${old}`).verify(token)).toEqual(grant);
    expect(await tokensOf(current).verify(token)).toBeUndefined();
    expect(await tokensOf(`${current},${old}`).issue(grant)).not.toBe(token);
  });

  it('are invalid if any one character is changed, removed or added', async () => {
    const tokens = tokensOf(old);
    const token = await tokens.issue(grant);
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.=+/ \0';
    let tried = 0;
    for (let at = 0; at < token.length; at++) {
      for (const letter of alphabet) {
        if (letter === token[at]) continue;
        tried += 1;
        if ((await tokens.verify(token.slice(0, at) + letter + token.slice(at + 1))) !== undefined)
          throw new Error(`accepted with ${JSON.stringify(letter)} at ${at}`);
      }
      expect(await tokens.verify(token.slice(0, at))).toBeUndefined();
    }
    for (const more of [`${token}A`, `A${token}`, `${token}.`, `${token}.${token}`, ''])
      expect(await tokens.verify(more)).toBeUndefined();
    console.log(`${tried} changes of one character, none accepted`);
  });

  it('identify their account for a day after they expire, and not later', async () => {
    const tokens = tokensOf(old);
    const token = await tokens.issue(grant);
    const at = (seconds: number) =>
      grantOfToken({ tokens, clock: { now: () => (grant.exp + seconds) * 1_000 } }, grant.uploadId, token);
    expect(await at(86_400)).toEqual(grant);
    await expect(at(86_401)).rejects.toMatchObject({ body: { code: 'UNAUTHORIZED' } });
  });

  it('are signed with a derived key, not with the key of the secrets', async () => {
    const { createHmac } = await import('node:crypto');
    const token = await tokensOf(old).issue(grant);
    const [payload = '', signature] = token.split('.');
    const [{ bytes }] = parseKeyRing(old);
    expect(createHmac('sha256', bytes).update(payload).digest('base64url')).not.toBe(signature);
  });
});
