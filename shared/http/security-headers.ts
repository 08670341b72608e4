import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import helmet from 'helmet';

export type HeaderLines = readonly (readonly [name: string, value: string])[];

/** Helmet runs once, because the headers never change. */
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
  return headers.getHeaderNames().map((name) => [properCase(name), String(headers.getHeader(name))]);
};

/** For pages with a script, in place of the headers of the API. */
export const pageHeaders = (): Readonly<Record<string, string>> => ({
  'Content-Security-Policy': PAGE_POLICY,
  'Referrer-Policy': 'no-referrer',
  'Cache-Control': 'no-store',
});

const PAGE_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  // The script sends forms as JSON: this directive would also stop the redirect to an OAuth client.
  "form-action 'none'",
  "frame-ancestors 'none'",
].join(';');

const properCase = (name: string): string =>
  name.replaceAll(/(?:^|-)[a-z]/g, (letter) => letter.toUpperCase());
