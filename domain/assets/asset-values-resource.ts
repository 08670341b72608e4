import { z } from 'zod';

/** Media types of assets (decisions.md E8). */
export const MediaKind = z.enum(['image', 'video', 'audio', 'html', 'text', 'document', 'other']);

/** Origins of assets' bytes (decisions.md E8). */
export const AssetSource = z.enum(['uploaded', 'generated', 'connected']);
