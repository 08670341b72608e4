import { expect, it } from '@jest/globals';
import { pageHeaders } from '../../shared/http/security-headers.ts';

it('a page may load and call only its own origin, is not framed, not stored and names itself nowhere', () =>
  expect(pageHeaders()).toEqual({
    'Content-Security-Policy':
      "default-src 'none';script-src 'self';style-src 'self';img-src 'self';connect-src 'self';" +
      "base-uri 'none';form-action 'none';frame-ancestors 'none'",
    'Referrer-Policy': 'no-referrer',
    'Cache-Control': 'no-store',
  }));
