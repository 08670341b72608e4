import { z } from 'zod';

/** What an asset is (decisions.md E8). */
export const MediaKind = z.enum(['image', 'video', 'audio', 'html', 'text', 'document', 'other']);

/** Where its bytes come from (decisions.md E8). */
export const AssetSource = z.enum(['uploaded', 'generated', 'connected']);
