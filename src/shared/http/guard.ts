import type { IncomingMessage } from 'node:http';
import { ApiError } from './errors.ts';
import { headerValues } from './headers.ts';

/**
 * Refuses what Node's parser lets through although two readers of it may disagree on where a request ends or
 * for whom it is (RFC 9112, 3.2 and 6.1). HTTP/1.0 has no Host.
 * @throws ApiError BAD_REQUEST, and the connection is closed; requests behind it do not run
 */
export const refuseAmbiguous = (request: IncomingMessage): void => {
  const coding = request.headers['transfer-encoding'];
  if (coding !== undefined && coding.toLowerCase() !== 'chunked') {
    throw ambiguous('Use no transfer encoding but chunked.');
  }
  const hosts = headerValues(request, 'host').length;
  if (hosts > 1 || (hosts === 0 && request.httpVersion !== '1.0')) throw ambiguous('Send one Host header.');
};

const ambiguous = (message: string): ApiError =>
  new ApiError({ code: 'BAD_REQUEST', message }, { Connection: 'close' });
