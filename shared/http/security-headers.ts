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

const properCase = (name: string): string =>
  name.replaceAll(/(?:^|-)[a-z]/g, (letter) => letter.toUpperCase());
