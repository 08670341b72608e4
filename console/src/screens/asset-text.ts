import type { Asset } from '../api/types.ts';

export const bytesText = (bytes: number): string =>
  bytes < 1_000
    ? `${bytes} B`
    : bytes < 1_000_000
      ? `${(bytes / 1_000).toFixed(1)} kB`
      : `${(bytes / 1_000_000).toFixed(1)} MB`;

export const pixelsText = ({ width, height }: Asset): string =>
  width === undefined ? '' : `${width} × ${height ?? '?'}`;
