import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import helmet from 'helmet';

export type HeaderLines = readonly (readonly [name: string, value: string])[];

/**
 * Helmet runs once, because the headers never change. `no-store` is the default of every answer: without it caches
 * may keep an API key, one tenant's data for another, or a 404 from before a write (RFC 9111, 4.2.2). A route that
 * may be cached sends its own `Cache-Control`.
 */
export const securityHeaders = (isHttps: boolean): HeaderLines => {
  const headers = new ServerResponse(new IncomingMessage(new Socket()));
  const write = helmet({
    contentSecurityPolicy: {
      useDefaults: false,
      directives: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] },
    },
    strictTransportSecurity: isHttps,
    crossOriginOpenerPolicy: false,
    crossOriginResourcePolicy: false,
    originAgentCluster: false,
    referrerPolicy: false,
    xDnsPrefetchControl: false,
    xDownloadOptions: false,
    xFrameOptions: false,
    xPermittedCrossDomainPolicies: false,
    xXssProtection: false,
  });
  write(headers.req, headers, (error?: unknown) => {
    if (error !== undefined) throw new Error('helmet failed', { cause: error });
  });
  headers.setHeader('Cache-Control', 'no-store');
  return headers.getHeaderNames().map((name) => [properCase(name), String(headers.getHeader(name))]);
};

/** For the console. @param nonce of this answer: its kit puts style elements into the page */
export const consoleHeaders = (nonce: string): Readonly<Record<string, string>> => ({
  'Content-Security-Policy': consolePolicy(nonce),
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
});

const consolePolicy = (nonce: string): string =>
  [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "connect-src 'self'",
    "img-src 'self' data: blob:",
    "font-src 'self'",
    "base-uri 'none'",
    // Forms are requests of the script: this directive would also stop the redirect to an OAuth client.
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join(';');

/** For the page of the API document. @param nonce of this answer */
export const referenceHeaders = (nonce: string): Readonly<Record<string, string>> => ({
  'Content-Security-Policy': referencePolicy(nonce),
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
});

const referencePolicy = (nonce: string): string =>
  [
    "default-src 'none'",
    `script-src 'self' 'nonce-${nonce}'`,
    // Its script sets styles of elements, which a nonce cannot allow.
    "style-src 'self' 'unsafe-inline'",
    "connect-src 'self'",
    "img-src 'self' data:",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join(';');

const properCase = (name: string): string =>
  name.replaceAll(/(?:^|-)[a-z]/g, (letter) => letter.toUpperCase());
