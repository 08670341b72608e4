import type { IncomingMessage } from 'node:http';
import { ApiError } from './errors.ts';

/** RFC 9112, 3.2 and 6.1: servers may disagree on the request's end or host. @throws ApiError BAD_REQUEST */
export const refuseAmbiguous = (request: IncomingMessage): void => {
  const coding = request.headers['transfer-encoding'];
  if (coding !== undefined && (coding.toLowerCase() !== 'chunked' || request.httpVersion === '1.0')) {
    throw ambiguous('Use no transfer encoding but chunked, and none in HTTP/1.0.');
  }
  const hosts = request.headersDistinct['host'] ?? [];
  const [host] = hosts;
  if (hosts.length > 1 || (host === undefined && request.httpVersion !== '1.0')) {
    throw ambiguous('Send one Host header.');
  }
  if (host !== undefined && !HOST.test(host)) throw ambiguous('Send a Host header that names a host.');
  const absolute = ABSOLUTE_FORM.exec(request.url ?? '')?.[1];
  if (absolute !== undefined && host !== undefined && absolute.toLowerCase() !== host.toLowerCase()) {
    throw ambiguous('Send the host of the request line as Host header.');
  }
};

/** RFC 9110, 7.2. Stricter than a URI: only characters of real host names. */
const HOST = /^(?:[A-Za-z0-9._-]*|\[[0-9A-Fa-f:.]+\])(?::\d{0,5})?$/;

/** RFC 9112, 3.2.2: its host must be that of the Host header. */
const ABSOLUTE_FORM = /^[A-Za-z][A-Za-z0-9+.-]*:\/\/([^/?#]*)/;

const ambiguous = (message: string): ApiError =>
  new ApiError({ code: 'BAD_REQUEST', message }, { Connection: 'close' });
