import type { ErrorBody } from './errors.ts';
import type { Pagination } from './route.ts';

/** Specification, Response envelope. */
export const successEnvelope = (dataJson: string, pagination?: Pagination): string =>
  pagination === undefined
    ? `{"data":${dataJson},"error":null}`
    : `{"data":${dataJson},"error":null,"meta":{"pagination":${JSON.stringify(pagination)}}}`;

export const errorEnvelope = ({ code, message, field, details }: ErrorBody): string =>
  JSON.stringify({
    data: null,
    error: {
      code,
      message,
      ...(field === undefined ? {} : { field }),
      ...(details === undefined ? {} : { details }),
    },
  });
