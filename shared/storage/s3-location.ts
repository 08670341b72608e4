import { isHttpUrl } from '../outbound/outbound-url.ts';

/** Where objects are in an S3-compatible store. */
export interface S3Location {
  readonly bucket: string;
  /** Before every key; empty, or ends with `/`. */
  readonly prefix: string;
  readonly region: string;
  /** Of a store that is not Amazon's; buckets are then part of the path. */
  readonly endpoint?: string;
  /** Absent: what the environment of the process gives, as for every program that uses the SDK. */
  readonly credentials?: { readonly accessKeyId: string; readonly secretAccessKey: string };
}

const BUCKET = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/;
const PREFIX = /^(?:[A-Za-z0-9_.-]+\/)*$/;
const REGION = /^[a-z0-9-]{1,40}$/;

/**
 * Reads `s3://[key:secret@]bucket[/prefix]?region=R[&endpoint=URL]`; key and secret are percent-encoded.
 * @throws RangeError for anything else; it never shows the text
 */
export const parseS3Location = (text: string): S3Location => {
  if (!URL.canParse(text)) throw wrong();
  const { protocol, hostname, username, password, pathname, searchParams, hash, port } = new URL(text);
  const prefix = pathname.replace(/^\//, '').replace(/([^/])$/, '$1/');
  const region = searchParams.get('region') ?? 'us-east-1';
  const endpoint = searchParams.get('endpoint');
  const isKnown = [...searchParams.keys()].every((name) => name === 'region' || name === 'endpoint');
  const isWhole = (username === '') === (password === '');
  if (protocol !== 's3:' || hash !== '' || port !== '' || !isKnown || !isWhole) throw wrong();
  if (!BUCKET.test(hostname) || !PREFIX.test(prefix) || !REGION.test(region)) throw wrong();
  if (endpoint !== null && !isHttpUrl(endpoint)) throw wrong();
  return {
    bucket: hostname,
    prefix,
    region,
    ...(endpoint === null ? {} : { endpoint }),
    ...(username === ''
      ? {}
      : {
          credentials: {
            accessKeyId: decode(username),
            secretAccessKey: decode(password),
          },
        }),
  };
};

const decode = (text: string): string => {
  try {
    return decodeURIComponent(text);
  } catch {
    throw wrong();
  }
};

const wrong = (): RangeError =>
  new RangeError(
    's3://[key:secret@]bucket[/prefix]?region=REGION[&endpoint=URL], key and secret percent-encoded',
  );
