import { Readable } from 'node:stream';
import { z } from 'zod';

/** What a route of files takes. */
export const fileInput = {
  params: z.object({ file: z.string().meta({ description: 'Name of the file.' }) }),
  headers: z.object({
    'accept-encoding': z.string().optional().meta({ description: 'With `gzip`: compressed.' }),
  }),
};

interface ImmutableFile {
  readonly contentType: string;
  readonly plain: () => Promise<Buffer>;
  readonly compressed: () => Promise<Buffer>;
}

/**
 * An answer with a file whose name changes with its content.
 * @param accepted the header `Accept-Encoding`
 */
export const immutableFile = async (
  { contentType, plain, compressed }: ImmutableFile,
  { 'accept-encoding': accepted = '' }: z.infer<typeof fileInput.headers>,
) => {
  const isCompressed = /\bgzip\b/.test(accepted);
  const bytes = await (isCompressed ? compressed() : plain());
  return {
    status: 200 as const,
    bytes: { contentType, length: bytes.length, open: async () => Readable.from([bytes]) },
    headers: {
      'Cache-Control': 'public, max-age=31536000, immutable',
      Vary: 'Accept-Encoding',
      ...(isCompressed ? { 'Content-Encoding': 'gzip' } : {}),
    },
  };
};
