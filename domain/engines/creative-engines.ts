import { z } from 'zod';
import { FormatKind } from '../creatives/format-kinds.ts';

export const CreativeEngineResource = z
  .strictObject({
    id: z.int().min(1).max(2_147_483_647),
    name: z.string(),
    formatKinds: z.array(FormatKind),
    requiresAdvertiserMapping: z.boolean().meta({
      description: 'Whether every account of a connection must be mapped to an advertiser.',
    }),
    standIn: z.boolean().meta({
      description:
        'True: there is no such engine behind it yet. Any key is accepted, nothing is sent anywhere, and the variants of its sessions are made by the engine that is built in.',
    }),
  })
  .meta({ id: 'CreativeEngine' });

export type CreativeEngine = z.infer<typeof CreativeEngineResource>;

/** The engine that is part of the service; accepts every key that begins with `sbx_`. */
export const SANDBOX_ENGINE = 1;

/** An engine that was ever connected stays, because connections name it. */
export const creativeEngines: readonly CreativeEngine[] = [
  {
    id: SANDBOX_ENGINE,
    name: 'Sandbox Engine',
    formatKinds: ['image', 'html5', 'image_carousel', 'native_in_feed', 'video_hosted', 'audio_hosted'],
    requiresAdvertiserMapping: true,
    standIn: false,
  },
  {
    id: 2,
    name: 'Display Engine',
    formatKinds: ['image', 'html5', 'display_tag', 'image_carousel', 'responsive_creative'],
    requiresAdvertiserMapping: false,
    standIn: true,
  },
  {
    id: 3,
    name: 'Video and Audio Engine',
    formatKinds: ['video_hosted', 'video_vast', 'audio_hosted', 'audio_vast', 'audio_daast'],
    requiresAdvertiserMapping: false,
    standIn: true,
  },
];

export const creativeEngineOf = (engineId: number): CreativeEngine | undefined =>
  creativeEngines.find(({ id }) => id === engineId);
